#include "core/link/shm/index_pool.h"

#include <catch2/catch.hpp>
#include <memory>

using namespace rsock;
using link::shm::IndexPool;

TEST_CASE("indices are given out from the smallest on, each once") {
  const auto pool = std::make_unique<IndexPool>();
  for (std::uint32_t index = 0; index < config::kStreamsPerLinkMax; ++index) {
    REQUIRE(pool->take() == index);
  }
  CHECK(pool->take() == IndexPool::kNone);
}

TEST_CASE("an index is free again when both ends are through with it") {
  const auto pool = std::make_unique<IndexPool>();
  for (std::uint32_t index = 0; index < 200; ++index) static_cast<void>(pool->take());
  CHECK(pool->close_here(70));
  CHECK_FALSE(pool->close_here(70));
  CHECK(pool->is_used(70));
  CHECK(pool->take() == 200);
  CHECK(pool->close_there(70));
  CHECK_FALSE(pool->is_used(70));
  CHECK(pool->close_there(5));
  CHECK(pool->close_here(5));
  CHECK(pool->take() == 5);
  CHECK(pool->take() == 70);
  CHECK(pool->take() == 201);
}

TEST_CASE("what is not in use can't be closed") {
  const auto pool = std::make_unique<IndexPool>();
  CHECK_FALSE(pool->close_there(0));
  CHECK_FALSE(pool->close_here(config::kStreamsPerLinkMax - 1));
}
