#pragma once

#include <cstdint>

#include "core/config/config.h"
#include "core/config/limits.h"

namespace rsock::upgrade {

// What a program has been seen to do on a connection.
struct Traffic {
  std::uint64_t tx_bytes = 0;
  std::uint64_t rx_bytes = 0;
  std::uint32_t exchanges = 0;  // how often sending turned into receiving
};

// Whether a connection has proved to be worth an upgrade. Not before the program has been seen both
// sending and receiving: whoever reads or writes it otherwise is never seen.
[[nodiscard]] constexpr bool is_worth_upgrading(config::UpgradePolicy policy,
                                                const Traffic& traffic) noexcept {
  if (traffic.tx_bytes == 0 || traffic.rx_bytes == 0) return false;
  switch (policy) {
    case config::UpgradePolicy::off:
      return false;
    case config::UpgradePolicy::eager:
      return true;
    case config::UpgradePolicy::adaptive:
      return traffic.exchanges >= config::kExchangesBeforeUpgrade ||
             traffic.tx_bytes + traffic.rx_bytes >= config::kBytesBeforeUpgrade;
  }
  return false;
}

}  // namespace rsock::upgrade
