#include "core/os/internal_fds.h"

#include <atomic>
#include <cerrno>

#include "core/config/limits.h"
#include "core/os/syscalls.h"

namespace rsock::os {

namespace {

// Descriptor plus one, so that zero-initialised memory means "none".
constinit std::atomic<int> fds_plus_one[kInternalFdCount]{};

std::atomic<int>& slot(InternalFd which) { return fds_plus_one[static_cast<int>(which)]; }

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

int internal_fd(InternalFd which) noexcept {
  return slot(which).load(std::memory_order_acquire) - 1;
}

int keep_internal_fd(InternalFd which, int fd) noexcept {
  const int high = move_high(fd);
  const int error = errno;
  sys().close(fd);
  if (high < 0) return -error;
  int none = 0;
  if (slot(which).compare_exchange_strong(none, high + 1, std::memory_order_acq_rel)) return high;
  sys().close(high);
  return none - 1;
}

void drop_internal_fd(InternalFd which, std::uint64_t inode) noexcept {
  const int fd = slot(which).exchange(0, std::memory_order_acq_rel) - 1;
  struct stat status {};
  if (fd >= 0 && sys().fstat(fd, &status) == 0 && status.st_ino == inode) sys().close(fd);
}

int first_internal_fd_in(unsigned int first, unsigned int last) noexcept {
  int found = -1;
  for (const auto& fd_plus_one : fds_plus_one) {
    const int fd = fd_plus_one.load(std::memory_order_relaxed) - 1;
    if (fd < 0 || static_cast<unsigned int>(fd) < first || static_cast<unsigned int>(fd) > last) {
      continue;
    }
    if (found < 0 || fd < found) found = fd;
  }
  return found;
}

void make_way_for(int fd) noexcept {
  for (auto& fd_plus_one : fds_plus_one) {
    int expected = fd + 1;
    if (fd < 0 || fd_plus_one.load(std::memory_order_relaxed) != expected) continue;
    const int moved = move_high(fd);
    fd_plus_one.compare_exchange_strong(expected, moved < 0 ? 0 : moved + 1,
                                        std::memory_order_acq_rel);
  }
}

}  // namespace rsock::os
