#pragma once

#include <cerrno>

namespace rsock::os {

// Keeps errno over work of our own, which the program must not see.
class ErrnoKeeper {
 public:
  ErrnoKeeper() = default;
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;
  ~ErrnoKeeper() { errno = saved_; }

  [[nodiscard]] int saved() const { return saved_; }

 private:
  int saved_ = errno;
};

}  // namespace rsock::os
