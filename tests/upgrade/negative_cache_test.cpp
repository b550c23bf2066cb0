#include "core/upgrade/negative_cache.h"

#include <catch2/catch.hpp>

using namespace rsock;
using upgrade::Destination;
using upgrade::NegativeCache;

namespace {

Destination destination(std::uint16_t port) { return {.address = {1, 2, 3}, .port = port}; }

}  // namespace

TEST_CASE("who said no is asked again after a pause, which doubles up to a limit") {
  NegativeCache cache;
  CHECK(cache.may_ask(destination(1), 0));
  std::int64_t now_ns = 5'000;
  std::int64_t pause_ns = config::kFirstPauseNs;
  for (int round = 0; round < 20; ++round) {
    cache.said_no(destination(1), now_ns);
    CHECK_FALSE(cache.may_ask(destination(1), now_ns + pause_ns - 1));
    CHECK(cache.may_ask(destination(1), now_ns + pause_ns));
    CHECK(cache.may_ask(destination(2), now_ns));
    now_ns += pause_ns;
    pause_ns = std::min(pause_ns * 2, config::kPauseNsMax);
  }
}

TEST_CASE("a yes is the end of all pauses") {
  NegativeCache cache;
  cache.said_no(destination(1), 0);
  cache.said_no(destination(1), 0);
  cache.said_yes(destination(1));
  cache.said_yes(destination(7));
  CHECK(cache.may_ask(destination(1), 0));
  cache.said_no(destination(1), 0);
  CHECK(cache.may_ask(destination(1), config::kFirstPauseNs));
}

TEST_CASE("addresses and ports are told apart") {
  NegativeCache cache;
  cache.said_no(destination(1), 0);
  Destination other = destination(1);
  other.address[15] = 9;
  CHECK(cache.may_ask(other, 0));
}

TEST_CASE("in a full cache the pause that ends first makes room") {
  NegativeCache cache;
  for (std::uint16_t port = 0; port < config::kNegativeCacheEntries; ++port) {
    cache.said_no(destination(port), 100 + port);
  }
  cache.said_no(destination(9999), 500);
  CHECK_FALSE(cache.may_ask(destination(9999), 501));
  CHECK(cache.may_ask(destination(0), 501));
  CHECK_FALSE(cache.may_ask(destination(1), 501));
}
