#include "core/link/shm/control_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/os/or_error.h"

namespace rsock::link::shm {

namespace {

using os::or_error;
using os::sys;
using os::UniqueFd;

constexpr std::size_t kControlBytes = CMSG_SPACE(ControlChannel::kFdsMax * sizeof(int));

struct alignas(cmsghdr) ControlBuffer {
  std::byte bytes[kControlBytes];
};

// The descriptors that came with `message`; more than there may be are closed.
std::array<UniqueFd, ControlChannel::kFdsMax> take_fds(msghdr& message) {
  std::array<UniqueFd, ControlChannel::kFdsMax> taken;
  std::size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN((at + 1) * sizeof(int)) <= part->cmsg_len; ++at) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at * sizeof(int), sizeof(fd));
      UniqueFd owned(fd);
      if (count < taken.size()) taken[count++] = std::move(owned);
    }
  }
  return taken;
}

}  // namespace

Result<void> ControlChannel::send_bytes(std::span<const std::byte> bytes,
                                        std::span<const int> fds) noexcept {
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  if (!fds.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  const ssize_t sent = or_error(sys().sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL));
  if (sent < 0) return Error(static_cast<int>(sent));
  return {};
}

Result<ControlChannel::Received> ControlChannel::receive() noexcept {
  // One byte more than any message has, so that a longer one is seen to be longer.
  std::byte bytes[wire::kMessageBytesMax + 1];
  iovec part{.iov_base = bytes, .iov_len = sizeof(bytes)};
  ControlBuffer control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  const ssize_t count = or_error(sys().recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (count < 0) return Error(static_cast<int>(count));
  std::array<UniqueFd, kFdsMax> fds = take_fds(message);
  if (count == 0) return Error(-ECONNRESET);
  const Result<wire::Message> decoded =
      wire::decode(std::span(bytes).first(static_cast<size_t>(count)));
  if (!decoded.ok()) return Error(decoded.error());
  return Received{decoded.value(), std::move(fds)};
}

}  // namespace rsock::link::shm
