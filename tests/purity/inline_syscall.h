#pragma once

#include <sys/syscall.h>

namespace rsock::purity {

// A system call that no library can see, as Go programs make them.
[[gnu::always_inline]] inline long inline_syscall(long number, long a = 0, long b = 0,
                                                  long c = 0) noexcept {
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

inline long close_unseen(int fd) noexcept { return inline_syscall(SYS_close, fd); }

}  // namespace rsock::purity
