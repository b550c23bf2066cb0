#pragma once

#include <cstdint>

#include "core/os/sandbox.h"
#include "core/os/syscalls.h"

namespace rsock::os {

// fstat(2), unless the program has sandboxed itself. Async-signal-safe; errno may change.
[[nodiscard]] inline bool status_of(int fd, struct stat& status) noexcept {
  return fd >= 0 && !is_sandboxed() && sys().fstat(fd, &status) == 0;
}

// The inode number of what `fd` names, by which /proc shows it; zero if there is nothing.
// Zero also in a sandbox, where it is not asked for. Async-signal-safe; errno may change.
[[nodiscard]] inline std::uint64_t inode_of(int fd) noexcept {
  struct stat status {};
  return status_of(fd, status) ? status.st_ino : 0;
}

// A number by which to tell whether a descriptor still names the file that it once named: inodes
// of different file systems may have one number. Zero if there is nothing.
[[nodiscard]] inline std::uint64_t file_identity(int fd) noexcept {
  constexpr int kDeviceShift = 48;
  struct stat status {};
  if (!status_of(fd, status)) return 0;
  return status.st_ino ^ (status.st_dev << kDeviceShift);
}

// Async-signal-safe; errno may change.
[[nodiscard]] inline bool is_socket(int fd) noexcept {
  struct stat status {};
  return status_of(fd, status) && S_ISSOCK(status.st_mode);
}

}  // namespace rsock::os
