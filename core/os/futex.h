#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <cstdint>

#include "core/base/deadline.h"
#include "core/os/syscalls.h"

namespace rsock::os {

// Sleeps while the 32-bit word at `word` is `value`, in memory that several processes may share.
// Zero when woken, for whatever reason; -EAGAIN if it was another value, -ETIMEDOUT, or -EINTR
// after a signal handler. Without a deadline the kernel goes on waiting after a handler that was
// installed with SA_RESTART, as it does in recv(2) (signal(7)). Not noexcept, since a thread may be
// cancelled in it.
[[nodiscard]] inline int futex_wait(const void* word, std::uint32_t value, Deadline deadline) {
  const timespec left = deadline.remaining(deadline.is_never() ? 0 : monotonic_now_ns());
  return sys().syscall(SYS_futex, word, FUTEX_WAIT, value, deadline.is_never() ? nullptr : &left,
                       nullptr, 0) == 0
             ? 0
             : -errno;
}

// Wakes up to `count` of those who sleep on `word`. errno may change.
inline void futex_wake(const void* word, int count = INT_MAX) noexcept {
  sys().syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace rsock::os
