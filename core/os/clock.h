#pragma once

#include <cstdint>

#include "core/os/syscalls.h"

namespace rsock::os {

inline constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

// Nanoseconds since the Unix epoch. Async-signal-safe.
[[nodiscard]] inline std::uint64_t realtime_ns() noexcept {
  timespec now{};
  sys().clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNanosecondsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace rsock::os
