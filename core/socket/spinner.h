#pragma once

#include <algorithm>
#include <cstdint>

#include "core/config/limits.h"

namespace rsock::socket {

// How long a wait spins before it sleeps. Spinning must pay for itself: it grows while what was
// waited for comes in time, shrinks while it does not, and is then tried again now and then.
//
// Thread safety: none; it belongs to whoever waits on one half of a connection. A lost update costs
// a little time and nothing else.
class Spinner {
 public:
  // For a process that may run on one processor only: whoever spins there waits for itself.
  explicit constexpr Spinner(bool alone = false) noexcept
      : budget_ns_(alone ? 0 : config::kSpinNsMax / 2), alone_(alone) {}

  // How long the next wait may spin; zero: not at all.
  [[nodiscard]] constexpr std::int64_t budget_ns() noexcept {
    if (budget_ns_ > 0 || alone_) return budget_ns_;
    if (++waits_without_ < config::kWaitsBetweenSpins) return 0;
    waits_without_ = 0;
    budget_ns_ = config::kSpinNsMin;
    return budget_ns_;
  }

  // What was waited for came after `waited_ns`, while spinning or asleep.
  constexpr void came_after(std::int64_t waited_ns) noexcept {
    if (alone_) return;
    if (waited_ns <= config::kSpinNsMax) {
      budget_ns_ =
          std::clamp(waited_ns * 2, std::max(budget_ns_, config::kSpinNsMin), config::kSpinNsMax);
    } else {
      budget_ns_ /= 2;
      if (budget_ns_ < config::kSpinNsMin) budget_ns_ = 0;
    }
  }

 private:
  std::int64_t budget_ns_;
  std::uint32_t waits_without_ = 0;
  bool alone_;
};

}  // namespace rsock::socket
