#pragma once

#include <atomic>

namespace rsock::os {

// Set when the program has put a seccomp filter on itself. What the filter allows is made for the
// program, not for us, and what it does not allow may end the process: from then on the library
// makes no system call besides those that the program asks for.
inline constinit std::atomic<bool> sandbox_entered{false};

inline void note_sandbox() noexcept { sandbox_entered.store(true, std::memory_order_relaxed); }

// Thread-safe and async-signal-safe.
[[nodiscard]] inline bool is_sandboxed() noexcept {
  return sandbox_entered.load(std::memory_order_relaxed);
}

}  // namespace rsock::os
