#include "core/link/shm/mailbox.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <thread>
#include <vector>

using namespace rsock;
using namespace rsock::link::shm;

namespace {

std::set<std::uint32_t> collected(wire::Mailbox& mailbox) {
  std::set<std::uint32_t> all;
  collect(mailbox, [&](std::uint32_t index) { all.insert(index); });
  return all;
}

}  // namespace

TEST_CASE("what is announced is collected once") {
  const auto mailbox = std::make_unique<wire::Mailbox>();
  CHECK(collected(*mailbox).empty());
  const std::set<std::uint32_t> some = {0, 1, 63, 64, 4095, 4096, 65535};
  for (const std::uint32_t index : some) CHECK_FALSE(announce(*mailbox, index));
  CHECK_FALSE(announce(*mailbox, 64));
  CHECK(collected(*mailbox) == some);
  CHECK(collected(*mailbox).empty());
}

TEST_CASE("the bell is rung only for an owner that sleeps, and once") {
  const auto mailbox = std::make_unique<wire::Mailbox>();
  REQUIRE(may_sleep(*mailbox));
  CHECK(announce(*mailbox, 5));
  CHECK_FALSE(announce(*mailbox, 6));
  woke_up(*mailbox);
  CHECK(collected(*mailbox) == std::set<std::uint32_t>{5, 6});
}

TEST_CASE("an owner with news does not go to sleep") {
  const auto mailbox = std::make_unique<wire::Mailbox>();
  CHECK_FALSE(announce(*mailbox, 5));
  CHECK_FALSE(may_sleep(*mailbox));
  CHECK_FALSE(announce(*mailbox, 6));  // It is awake.
}

TEST_CASE("bits that nobody should have set do no harm") {
  const auto mailbox = std::make_unique<wire::Mailbox>();
  mailbox->top = UINT64_MAX;
  CHECK(collected(*mailbox).empty());
  mailbox->top = UINT64_MAX;
  for (auto& group : mailbox->groups) group = UINT64_MAX;
  for (auto& word : mailbox->words) word = UINT64_MAX;
  const std::set<std::uint32_t> all = collected(*mailbox);
  CHECK(all.size() == config::kStreamsPerLinkMax);
  CHECK(*all.rbegin() == config::kStreamsPerLinkMax - 1);
}

TEST_CASE("no announcement is lost between several announcers and a collector") {
  const auto mailbox = std::make_unique<wire::Mailbox>();
  constexpr std::uint32_t kThreads = 3;
  constexpr std::uint32_t kRounds = 20'000;
  // Each announcer counts up its stream's number first, as a sender its tail.
  std::vector<std::atomic<std::uint32_t>> said(kThreads);
  std::vector<std::thread> announcers;
  const auto index_of = [](std::uint32_t thread) { return thread * 4097; };
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    announcers.emplace_back([&, thread] {
      for (std::uint32_t round = 1; round <= kRounds; ++round) {
        said[thread].store(round);
        static_cast<void>(announce(*mailbox, index_of(thread)));
      }
    });
  }
  std::vector<std::uint32_t> heard(kThreads);
  bool all_heard = false;
  while (!all_heard) {
    collect(*mailbox, [&](std::uint32_t index) { heard.at(index / 4097) = said[index / 4097]; });
    all_heard = true;
    for (const std::uint32_t last : heard) all_heard = all_heard && last == kRounds;
  }
  for (std::thread& thread : announcers) thread.join();
}
