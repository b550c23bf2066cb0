#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include "core/socket/pinning.h"
#include "core/socket/socket_table.h"

namespace rsock::socket {

// What the table learns from the calls that move bytes over the spine. `handle` was looked up
// before the call, so a number that another thread has closed and reused meanwhile is not
// mistaken for the same socket. Thread-safe and async-signal-safe; errno stays.

// Reads that look at data without consuming it, or fetch something that is not in the stream.
inline constexpr int kNotConsuming = MSG_PEEK | MSG_ERRQUEUE | MSG_OOB;

// `bytes` is what the call returned, -1 for an error.
inline void received(Handle handle, int flags, ssize_t bytes) noexcept {
  const SocketRef socket = table().acquire(handle);
  if (!socket) return;
  if ((flags & MSG_OOB) != 0) pin(socket, stats::Reason::out_of_band);
  if (bytes <= 0 || (flags & kNotConsuming) != 0) return;
  socket.row().rx_tcp_bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

inline void sent(Handle handle, int flags, ssize_t bytes) noexcept {
  const SocketRef socket = table().acquire(handle);
  if (!socket) return;
  if ((flags & MSG_OOB) != 0) pin(socket, stats::Reason::out_of_band);
  if (bytes <= 0) return;
  socket.row().tx_tcp_bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace rsock::socket
