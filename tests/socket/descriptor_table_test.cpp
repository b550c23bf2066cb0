#include "core/socket/descriptor_table.h"

#include <catch2/catch.hpp>
#include <climits>
#include <memory>

#include "tests/os/failing_call.h"

namespace {

using namespace rsock;
using socket::DescriptorTable;
using socket::Handle;

constexpr Handle kOne(1, 7);
constexpr Handle kTwo(2, 9);

TEST_CASE("a handle keeps index and generation apart, and none is none") {
  STATIC_REQUIRE(kOne.index() == 1);
  STATIC_REQUIRE(kOne.generation() == 7);
  STATIC_REQUIRE(Handle(0, 0).index() == 0);
  STATIC_REQUIRE(static_cast<bool>(Handle(0, 0)));
  STATIC_REQUIRE_FALSE(static_cast<bool>(Handle()));
  STATIC_REQUIRE(Handle(kOne.word()) == kOne);
}

TEST_CASE("a table without entries finds nothing, whatever is asked") {
  const auto table = std::make_unique<DescriptorTable>();
  for (const int fd :
       {-1, INT_MIN, 0, 5, config::kTrackedFdsMax - 1, config::kTrackedFdsMax, INT_MAX}) {
    CHECK_FALSE(table->peek(fd));
    CHECK_FALSE(table->take(fd));
  }
  CHECK(table->next_used(0, UINT_MAX) == -1);
}

TEST_CASE("put, peek and take") {
  const auto table = std::make_unique<DescriptorTable>();
  Handle previous(3, 3);
  REQUIRE(table->put(5, kOne, previous));
  CHECK_FALSE(previous);
  CHECK(table->peek(5) == kOne);
  CHECK_FALSE(table->peek(4));
  REQUIRE(table->put(5, kTwo, previous));
  CHECK(previous == kOne);
  CHECK(table->take(5) == kTwo);
  CHECK_FALSE(table->take(5));
}

TEST_CASE("what was taken out goes back only where nothing has come meanwhile") {
  const auto table = std::make_unique<DescriptorTable>();
  CHECK(table->put_back(5, kOne));
  CHECK_FALSE(table->put_back(5, kTwo));
  CHECK(table->peek(5) == kOne);
}

TEST_CASE("the largest number has a place, and larger ones have none") {
  const auto table = std::make_unique<DescriptorTable>();
  Handle previous;
  CHECK(table->put(config::kTrackedFdsMax - 1, kOne, previous));
  CHECK(table->peek(config::kTrackedFdsMax - 1) == kOne);
  CHECK_FALSE(table->put(config::kTrackedFdsMax, kOne, previous));
  CHECK_FALSE(table->put(-1, kOne, previous));
  CHECK(table->next_used(0, UINT_MAX) == config::kTrackedFdsMax - 1);
}

TEST_CASE("next_used walks over leaves that were never made, and stays within its bounds") {
  const auto table = std::make_unique<DescriptorTable>();
  Handle previous;
  constexpr int kFar = 5 * config::kFdsPerLeaf;
  for (const int fd : {0, config::kFdsPerLeaf - 1, kFar}) REQUIRE(table->put(fd, kOne, previous));
  CHECK(table->next_used(0, UINT_MAX) == 0);
  CHECK(table->next_used(1, UINT_MAX) == config::kFdsPerLeaf - 1);
  CHECK(table->next_used(config::kFdsPerLeaf, UINT_MAX) == kFar);
  CHECK(table->next_used(config::kFdsPerLeaf, kFar - 1) == -1);
  CHECK(table->next_used(kFar + 1, UINT_MAX) == -1);
  CHECK(table->next_used(9, 3) == -1);
}

TEST_CASE("without memory for a leaf nothing is put") {
  const auto table = std::make_unique<DescriptorTable>();
  const testing::FailingCall<&os::Syscalls::mmap> failing(1, ENOMEM);
  Handle previous;
  CHECK_FALSE(table->put(5, kOne, previous));
  CHECK_FALSE(table->peek(5));
  CHECK_FALSE(table->put_back(5, kOne));
}

}  // namespace
