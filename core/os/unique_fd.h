#pragma once

#include <utility>

#include "core/os/errno_keeper.h"
#include "core/os/own_calls.h"

namespace rsock::os {

// Owns a descriptor and closes it. Thread safety: none. errno stays.
class UniqueFd {
 public:
  constexpr UniqueFd() noexcept = default;
  explicit constexpr UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  [[nodiscard]] constexpr int get() const noexcept { return fd_; }
  [[nodiscard]] explicit constexpr operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] constexpr int release() noexcept { return std::exchange(fd_, -1); }

  void reset() noexcept {
    if (fd_ < 0) return;
    const ErrnoKeeper keeper;
    close_own(release());
  }

 private:
  int fd_ = -1;
};

}  // namespace rsock::os
