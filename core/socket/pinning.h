#pragma once

#include "core/socket/socket_table.h"
#include "core/stats/reason.h"

namespace rsock::socket {

// A pinned socket stays on TCP (design.md section 5), for the first reason found. Thread-safe.

// Pins the socket for `reason`, counts it and shows it.
void pin(const SocketRef& socket, stats::Reason reason) noexcept;

// The reason to pin a socket on which setsockopt(level, name, value, length) has just succeeded,
// or Reason::none.
[[nodiscard]] stats::Reason reason_of_option(int level, int name, const void* value,
                                             unsigned int length) noexcept;

// The reason of every connection that has no reason of its own: what the configuration, the
// process or this version of the library says. Counted and shown, and replaced by a pin.
void settle_on_tcp(const SocketRef& socket) noexcept;

// The process has set up an io_uring: what it does on a socket through it is never seen.
void note_io_uring() noexcept;

}  // namespace rsock::socket
