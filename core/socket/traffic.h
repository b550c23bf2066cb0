#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include "core/socket/socket_table.h"

namespace rsock::socket {

// What the table learns from the calls that move bytes over the spine. `handle` was looked up
// before the call, so a number that another thread has closed and reused meanwhile is not
// mistaken for the same socket. Thread-safe and async-signal-safe; errno stays.

// `flags` are those of the call, zero if it takes none; `bytes` is what it returned, -1 for an
// error.
void received(Handle handle, int flags, ssize_t bytes) noexcept;
void sent(Handle handle, int flags, ssize_t bytes) noexcept;

}  // namespace rsock::socket
