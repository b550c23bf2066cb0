#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/base/result.h"
#include "core/os/unique_fd.h"
#include "core/wire/handshake.h"

namespace rsock::link::shm {

// The Unix SOCK_SEQPACKET by which two processes of one host make a link and open streams on it.
// It never blocks, and never raises a signal.
//
// Thread safety: none; it belongs to whoever drives the link.
class ControlChannel {
 public:
  static constexpr std::size_t kFdsMax = 2;

  // A message with the descriptors that came with it. Those that were not asked for are closed.
  struct Received {
    wire::Message message;
    std::array<os::UniqueFd, kFdsMax> fds;
  };

  ControlChannel() noexcept = default;
  explicit ControlChannel(os::UniqueFd socket) noexcept : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

  // Sends a message, and copies of up to kFdsMax descriptors with it. -EAGAIN: the other side does
  // not read; -EPIPE and -ECONNRESET: it is gone; or errno as sendmsg(2).
  template <typename Part>
  [[nodiscard]] Result<void> send(const Part& message, std::span<const int> fds = {}) noexcept {
    return send_bytes(wire::bytes_of(message), fds);
  }

  // The next message. -EAGAIN: none has come; -ECONNRESET: the other side is gone; -EPROTO: what
  // came is no message; or errno as recvmsg(2).
  [[nodiscard]] Result<Received> receive() noexcept;

 private:
  [[nodiscard]] Result<void> send_bytes(std::span<const std::byte> bytes,
                                        std::span<const int> fds) noexcept;

  os::UniqueFd socket_;
};

}  // namespace rsock::link::shm
