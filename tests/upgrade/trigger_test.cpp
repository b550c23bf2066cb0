#include "core/upgrade/trigger.h"

#include <catch2/catch.hpp>

using namespace rsock;
using config::UpgradePolicy;
using upgrade::is_worth_upgrading;
using upgrade::Traffic;

TEST_CASE("a connection that was not seen both ways is never upgraded") {
  for (const UpgradePolicy policy :
       {UpgradePolicy::eager, UpgradePolicy::adaptive, UpgradePolicy::off}) {
    CHECK_FALSE(is_worth_upgrading(policy, {}));
    CHECK_FALSE(is_worth_upgrading(policy, {.tx_bytes = 1 << 30, .exchanges = 100}));
    CHECK_FALSE(is_worth_upgrading(policy, {.rx_bytes = 1 << 30, .exchanges = 100}));
  }
}

TEST_CASE("one request and its answer are not worth it, more are") {
  Traffic traffic{.tx_bytes = 100, .rx_bytes = 4000, .exchanges = 1};
  CHECK_FALSE(is_worth_upgrading(UpgradePolicy::adaptive, traffic));
  CHECK(is_worth_upgrading(UpgradePolicy::eager, traffic));
  CHECK_FALSE(is_worth_upgrading(UpgradePolicy::off, traffic));
  traffic.exchanges = config::kExchangesBeforeUpgrade;
  CHECK(is_worth_upgrading(UpgradePolicy::adaptive, traffic));
  CHECK_FALSE(is_worth_upgrading(UpgradePolicy::off, traffic));
}

TEST_CASE("many bytes are worth it at once") {
  const Traffic traffic{.tx_bytes = 1, .rx_bytes = config::kBytesBeforeUpgrade, .exchanges = 1};
  CHECK(is_worth_upgrading(UpgradePolicy::adaptive, traffic));
}
