#include "core/upgrade/rendezvous.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "core/base/text_buffer.h"
#include "core/config/limits.h"
#include "core/os/or_error.h"
#include "core/os/syscalls.h"

namespace rsock::upgrade {

namespace {

using os::or_error;
using os::sys;
using os::UniqueFd;

constexpr int kType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};

// An abstract name begins with a NUL and has no end of its own. The number in it is that of the
// way in which link and protocol begin: processes that differ in it do not meet.
Name name_of(std::uint16_t port) {
  TextBuffer<sizeof(sockaddr_un::sun_path)> text;
  text.append("rsock/1/").append_decimal(port);
  Name name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.view().data(), text.view().size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.view().size());
  return name;
}

Result<UniqueFd> unix_socket() {
  UniqueFd fd(or_error(sys().socket(AF_UNIX, kType, 0)));
  if (!fd) return Error(fd.get());
  return fd;
}

}  // namespace

Result<UniqueFd> listen_at_rendezvous(std::uint16_t port) noexcept {
  Result<UniqueFd> socket = unix_socket();
  if (!socket.ok()) return socket;
  const int fd = socket.value().get();
  const Name name = name_of(port);
  int error =
      or_error(sys().bind(fd, reinterpret_cast<const sockaddr*>(&name.address), name.length));
  if (error == 0) error = or_error(sys().listen(fd, config::kRendezvousBacklog));
  if (error < 0) return Error(error);
  return socket;
}

Result<UniqueFd> connect_at_rendezvous(std::uint16_t port) noexcept {
  Result<UniqueFd> socket = unix_socket();
  if (!socket.ok()) return socket;
  const Name name = name_of(port);
  const int error = or_error(sys().connect(
      socket.value().get(), reinterpret_cast<const sockaddr*>(&name.address), name.length));
  if (error < 0) return Error(error);
  return socket;
}

Result<UniqueFd> accept_at_rendezvous(int listener) noexcept {
  UniqueFd fd(or_error(sys().accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
  if (!fd) return Error(fd.get());
  return fd;
}

Result<uid_t> owner_of_peer(int fd) noexcept {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  const int error = or_error(sys().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length));
  if (error < 0) return Error(error);
  return credentials.uid;
}

}  // namespace rsock::upgrade
