#pragma once

#include <atomic>
#include <cstdint>

namespace rsock::os {

// The library's own descriptors. They are close-on-exec, numbered high so that the program gets
// the numbers that it would have had, and hidden from its close(), close_range() and
// closefrom(): programs close "everything above 2" at start, and do not mean ours.
enum class InternalFd : std::uint8_t {
  stats_page,
  log_file,
};
inline constexpr int kInternalFdCount = 2;

// The descriptor, or -1. Thread-safe and async-signal-safe, as everything here.
[[nodiscard]] int internal_fd(InternalFd which) noexcept;

// Moves `fd` to a high number and remembers it as `which`. Takes over `fd` in any case. Returns
// the descriptor that is `which` from now on: another one when a second thread was faster, or a
// negative errno when there is no room, and then there is none.
[[nodiscard]] int keep_internal_fd(InternalFd which, int fd) noexcept;

// Closes the descriptor, if it still is ours, and forgets it. Not while other threads use it.
void drop_internal_fd(InternalFd which) noexcept;

// The smallest of our descriptors in [first, last], or -1. A number that the program has closed by
// a raw system call and uses for a file of its own is not ours any more.
[[nodiscard]] int first_internal_fd_in(unsigned int first, unsigned int last) noexcept;

// No internal descriptor has ever had a smaller number.
extern constinit std::atomic<int> lowest_internal_fd;

[[nodiscard]] inline bool is_internal_fd(int fd) noexcept {
  if (fd < lowest_internal_fd.load(std::memory_order_relaxed)) [[likely]]
    return false;
  const auto number = static_cast<unsigned int>(fd);
  return first_internal_fd_in(number, number) == fd;
}

// The program is about to put a file of its own at number `fd` (dup2). If ours is there, gives
// back a second descriptor for it, else -1. settle_internal_fd() is told whether the program's
// call succeeded: ours then is the second, or else stays and the second is closed.
[[nodiscard]] int spare_internal_fd(int fd) noexcept;
void settle_internal_fd(int fd, int spare, bool replaced) noexcept;

}  // namespace rsock::os
