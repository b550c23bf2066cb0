#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "core/base/deadline.h"
#include "core/os/syscalls.h"

namespace rsock::os {

// Sleeps while `word` is `value`, in memory that several processes may share. Zero when woken, for
// whatever reason; -EAGAIN if `word` was another value, -ETIMEDOUT, or -EINTR after a signal
// handler. Without a deadline the kernel goes on waiting after a handler that was installed with
// SA_RESTART, as it does in recv(2) (signal(7)).
[[nodiscard]] inline int futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                                    Deadline deadline) noexcept {
  const timespec left = deadline.remaining(deadline.is_never() ? 0 : monotonic_now_ns());
  return sys().syscall(SYS_futex, &word, FUTEX_WAIT, value, deadline.is_never() ? nullptr : &left,
                       nullptr, 0) == 0
             ? 0
             : -errno;
}

// Wakes all who sleep on `word`.
inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  sys().syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rsock::os
