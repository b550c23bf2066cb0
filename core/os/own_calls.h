#pragma once

#include <sys/syscall.h>

#include <cstddef>

#include "core/os/syscalls.h"

namespace rsock::os {

// Calls that we make for ourselves, or with a lock held. libc's functions of these names are
// cancellation points; raw system calls are not, and a thread that the program cancels must not
// end in the middle of something that is none of its business. errno as the functions.

inline int close_own(int fd) noexcept { return static_cast<int>(sys().syscall(SYS_close, fd)); }

inline ssize_t write_own(int fd, const void* bytes, std::size_t count) noexcept {
  return sys().syscall(SYS_write, fd, bytes, count);
}

inline ssize_t send_own(int fd, const void* bytes, std::size_t count, int flags) noexcept {
  return sys().syscall(SYS_sendto, fd, bytes, count, flags, nullptr, 0);
}

inline ssize_t receive_own(int fd, void* bytes, std::size_t count, int flags) noexcept {
  return sys().syscall(SYS_recvfrom, fd, bytes, count, flags, nullptr, nullptr);
}

inline ssize_t send_message_own(int fd, const msghdr* message, int flags) noexcept {
  return sys().syscall(SYS_sendmsg, fd, message, flags);
}

inline ssize_t receive_message_own(int fd, msghdr* message, int flags) noexcept {
  return sys().syscall(SYS_recvmsg, fd, message, flags);
}

}  // namespace rsock::os
