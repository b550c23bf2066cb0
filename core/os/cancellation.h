#pragma once

#include <pthread.h>

#include "core/os/syscalls.h"

namespace rsock::os {

// While it exists, the calling thread can be cancelled at any instruction, as libc does it around
// the system calls that are cancellation points: for one system call, with no lock held and
// nothing to clean up.
class CancellationPoint {
 public:
  CancellationPoint() noexcept {
    sys().pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before_);
  }
  CancellationPoint(const CancellationPoint&) = delete;
  CancellationPoint& operator=(const CancellationPoint&) = delete;
  ~CancellationPoint() { sys().pthread_setcanceltype(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace rsock::os
