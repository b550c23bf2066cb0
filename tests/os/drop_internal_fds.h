#pragma once

#include "core/os/internal_fds.h"

namespace rsock::testing {

// Closes the library's own descriptors, which an earlier case of the same process may have left.
inline void drop_internal_fds() {
  for (const os::InternalFd which : {os::InternalFd::stats_page, os::InternalFd::log_file}) {
    os::drop_internal_fd(which);
  }
}

}  // namespace rsock::testing
