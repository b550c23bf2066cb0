#include "core/base/mark.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using rsock::marks::hit_count;
using rsock::marks::Mark;

}  // namespace

TEST_CASE("a mark counts how often it is passed") {
  const std::uint64_t before = hit_count(Mark::text_truncated);
  const std::uint64_t other = hit_count(Mark::config_value_broken);
  RSOCK_MARK(text_truncated);
  RSOCK_MARK(text_truncated);
  CHECK(hit_count(Mark::text_truncated) == before + 2);
  CHECK(hit_count(Mark::config_value_broken) == other);
}

TEST_CASE("a mark counts every thread") {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kTimes = 1000;
  const std::uint64_t before = hit_count(Mark::text_truncated);
  std::vector<std::thread> threads;
  for (std::uint64_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([] {
      for (std::uint64_t time = 0; time < kTimes; ++time) RSOCK_MARK(text_truncated);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(hit_count(Mark::text_truncated) == before + kThreads * kTimes);
}

TEST_CASE("every mark can be listed with its count") {
  RSOCK_MARK(text_truncated);
  std::set<std::string> names;
  rsock::marks::for_each([&names](std::string_view name, std::uint64_t count) {
    names.emplace(name);
    if (name == "text_truncated") CHECK(count == hit_count(Mark::text_truncated));
  });
  CHECK(names.size() == rsock::marks::kCount);
  CHECK(names.contains("text_truncated"));
}
