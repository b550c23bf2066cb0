#pragma once

#include <cstdint>

#include "core/os/syscalls.h"

namespace rsock::os {

// The inode number of what `fd` names, by which /proc shows it; zero if there is nothing.
[[nodiscard]] inline std::uint64_t inode_of(int fd) noexcept {
  struct stat status {};
  return fd >= 0 && sys().fstat(fd, &status) == 0 ? status.st_ino : 0;
}

}  // namespace rsock::os
