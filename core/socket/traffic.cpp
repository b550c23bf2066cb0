#include "core/socket/traffic.h"

#include "core/socket/pinning.h"

namespace rsock::socket {

namespace {

// Reads that look at data without consuming it, or fetch something that is not in the stream.
constexpr int kNotConsuming = MSG_PEEK | MSG_ERRQUEUE | MSG_OOB;

// Most calls that move nothing (EAGAIN) teach nothing either.
bool teaches(int flags, ssize_t bytes) { return bytes > 0 || (flags & MSG_OOB) != 0; }

}  // namespace

void received(Handle handle, int flags, ssize_t bytes) noexcept {
  if (!teaches(flags, bytes)) return;
  const SocketRef socket = table().acquire(handle);
  if (!socket) return;
  if ((flags & MSG_OOB) != 0) pin(socket, stats::Reason::out_of_band);
  if (bytes <= 0 || (flags & kNotConsuming) != 0) return;
  socket.row().rx_tcp_bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

void sent(Handle handle, int flags, ssize_t bytes) noexcept {
  if (!teaches(flags, bytes)) return;
  const SocketRef socket = table().acquire(handle);
  if (!socket) return;
  if ((flags & MSG_OOB) != 0) pin(socket, stats::Reason::out_of_band);
  if (bytes <= 0) return;
  socket.row().tx_tcp_bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace rsock::socket
