#include "core/os/internal_fds.h"

#include <atomic>
#include <cerrno>
#include <climits>

#include "core/config/limits.h"
#include "core/os/address_space.h"
#include "core/os/errno_keeper.h"
#include "core/os/inode.h"
#include "core/os/own_calls.h"
#include "core/os/sandbox.h"
#include "core/os/syscalls.h"

namespace rsock::os {

namespace {

struct Kept {
  // Descriptor plus one, so that zero-initialised memory means "none".
  std::atomic<int> fd_plus_one;
  // Of the file; zero: not known yet. A program that closes ours by a raw system call, and then
  // gets the number for a file of its own, shows by another identity.
  std::atomic<std::uint64_t> identity;
};

constinit Kept kept[kInternalFdCount]{};

Kept& slot(InternalFd which) { return kept[static_cast<int>(which)]; }

// Whether `fd`, which is in `one`, still names our file. If not, it is forgotten: unless this is
// a child in its parent's memory, whose descriptors say nothing about the parent's.
bool is_still_ours(Kept& one, int fd) {
  if (is_sandboxed()) return true;
  const ErrnoKeeper keeper;
  const std::uint64_t identity = one.identity.load(std::memory_order_acquire);
  if (identity == 0 || file_identity(fd) == identity) return true;
  int expected = fd + 1;
  if (!address_space_is_borrowed()) {
    one.fd_plus_one.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
  }
  return false;
}

// High, but not so high that the kernel must grow the descriptor table (every fork copies it).
int lowest_internal_number() {
  rlimit limit{};
  if (sys().getrlimit(RLIMIT_NOFILE, &limit) != 0) return config::kInternalFdFloor;
  if (limit.rlim_cur > config::kInternalFdFloor + config::kInternalFdRoom) {
    return config::kInternalFdFloor;
  }
  return static_cast<int>(limit.rlim_cur - limit.rlim_cur / 8);
}

int move_high(int fd) { return sys().fcntl(fd, F_DUPFD_CLOEXEC, lowest_internal_number()); }

}  // namespace

constinit std::atomic<int> lowest_internal_fd{INT_MAX};

int internal_fd(InternalFd which) noexcept {
  return slot(which).fd_plus_one.load(std::memory_order_acquire) - 1;
}

int keep_internal_fd(InternalFd which, int fd) noexcept {
  const std::uint64_t identity = file_identity(fd);
  const int high = move_high(fd);
  const int error = errno;
  close_own(fd);
  if (high < 0) return -error;
  Kept& one = slot(which);
  int none = 0;
  if (!one.fd_plus_one.compare_exchange_strong(none, high + 1, std::memory_order_acq_rel)) {
    close_own(high);
    return none - 1;
  }
  one.identity.store(identity, std::memory_order_release);
  int lowest = lowest_internal_fd.load(std::memory_order_relaxed);
  while (high < lowest && !lowest_internal_fd.compare_exchange_weak(lowest, high)) {
  }
  return high;
}

void drop_internal_fd(InternalFd which) noexcept {
  Kept& one = slot(which);
  const int fd = internal_fd(which);
  if (fd < 0 || !is_still_ours(one, fd)) return;
  one.identity.store(0, std::memory_order_relaxed);
  one.fd_plus_one.store(0, std::memory_order_release);
  close_own(fd);
}

int first_internal_fd_in(unsigned int first, unsigned int last) noexcept {
  int found = -1;
  for (Kept& one : kept) {
    const int fd = one.fd_plus_one.load(std::memory_order_relaxed) - 1;
    if (fd < 0 || static_cast<unsigned int>(fd) < first || static_cast<unsigned int>(fd) > last) {
      continue;
    }
    if ((found < 0 || fd < found) && is_still_ours(one, fd)) found = fd;
  }
  return found;
}

int spare_internal_fd(int fd) noexcept {
  if (!is_internal_fd(fd) || address_space_is_borrowed()) return -1;
  return move_high(fd);
}

void settle_internal_fd(int fd, int spare, bool replaced) noexcept {
  if (!replaced) {
    if (spare >= 0) close_own(spare);
    return;
  }
  if (address_space_is_borrowed()) return;
  // Without a spare, ours is gone now.
  for (Kept& one : kept) {
    int expected = fd + 1;
    one.fd_plus_one.compare_exchange_strong(expected, spare < 0 ? 0 : spare + 1,
                                            std::memory_order_acq_rel);
  }
}

}  // namespace rsock::os
