#include "core/socket/lifecycle.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/config/limits.h"
#include "core/os/inode.h"
#include "core/os/syscalls.h"
#include "core/socket/pinning.h"
#include "core/stats/publisher.h"

namespace rsock::socket {

namespace {

using stats::Counter;
using stats::Reason;
using stats::Role;

constexpr int kSocketTypeMask = ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
constexpr int kFirstListenFd = 3;  // sd_listen_fds(3)

bool is_tcp_request(int domain, int type, int protocol) {
  return (domain == AF_INET || domain == AF_INET6) && (type & kSocketTypeMask) == SOCK_STREAM &&
         (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP);
}

int option_of(int fd, int name) {
  int value = -1;
  socklen_t length = sizeof(value);
  return os::sys().getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

bool is_connected(int fd) {
  sockaddr_storage address;
  socklen_t length = sizeof(address);
  return os::sys().getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
}

Role role_found(int fd) {
  if (option_of(fd, SO_ACCEPTCONN) == 1) return Role::listener;
  return is_connected(fd) ? Role::inherited : Role::fresh;
}

void pin_by_protocol(const SocketRef& socket, int protocol) {
  if (protocol == IPPROTO_MPTCP) pin(socket, Reason::mptcp);
}

// Changes the role from one of those before a connection. False when it already had another.
bool begin_role(const SocketRef& socket, Role role) {
  Role fresh = Role::fresh;
  return socket.row().role.compare_exchange_strong(fresh, role, std::memory_order_relaxed);
}

// A connection that accept() made inherits the options of the listener, so what pins the
// listener pins it.
void inherit_pin(const SocketRef& connection, Handle listener) {
  const SocketRef ref = table().acquire(listener);
  if (!ref) return;
  const Reason reason = ref.row().reason.load(std::memory_order_relaxed);
  if (reason != Reason::none) pin(connection, reason);
}

}  // namespace

void socket_made(int fd, int domain, int type, int protocol) noexcept {
  if (!is_tcp_request(domain, type, protocol)) {
    table().purge_stale(fd);
    return;
  }
  const SocketRef socket = table().track(fd, Role::fresh);
  if (socket) pin_by_protocol(socket, protocol);
}

void now_listening(int fd) noexcept {
  const SocketRef socket = table().acquire(table().peek(fd));
  if (socket) begin_role(socket, Role::listener);
}

void connection_accepted(int listener, int fd, sa_family_t family) noexcept {
  const Handle listening = table().peek(listener);
  if (!listening) {
    table().purge_stale(fd);
    // Not TCP at all, or a listener from before our time.
    if (family != AF_INET && family != AF_INET6) return;
    adopt(listener);
    adopt(fd);
    return;
  }
  const SocketRef connection = table().track(fd, Role::server);
  if (!connection) return;
  stats::publisher().count(Counter::connections_accepted);
  inherit_pin(connection, listening);
  settle_on_tcp(connection);
}

void connection_begun(int fd, const sockaddr* address) noexcept {
  const SocketRef socket = table().acquire(table().peek(fd));
  if (!socket) return;
  if (address != nullptr && address->sa_family == AF_UNSPEC) {
    socket.row().role.store(Role::fresh, std::memory_order_relaxed);
    return;
  }
  if (!begin_role(socket, Role::client)) return;
  stats::publisher().count(Counter::connections_connected);
  settle_on_tcp(socket);
}

void adopt(int fd) noexcept {
  table().purge_stale(fd);
  if (!os::is_socket(fd)) return;
  const int protocol = option_of(fd, SO_PROTOCOL);
  if (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP) return;
  if (!is_tcp_request(option_of(fd, SO_DOMAIN), option_of(fd, SO_TYPE), protocol)) return;
  const Role role = role_found(fd);
  const SocketRef socket = table().track(fd, role);
  if (!socket) return;
  stats::publisher().count(Counter::sockets_adopted);
  pin_by_protocol(socket, protocol);
  if (role == Role::inherited) settle_on_tcp(socket);
}

void adopt_inherited() noexcept {
  for (int fd = 0; fd < kFirstListenFd; ++fd) adopt(fd);
  // Called while the library starts, before the program could change the environment.
  const char* count = std::getenv("LISTEN_FDS");  // NOLINT(concurrency-mt-unsafe)
  if (count == nullptr) return;
  const long fds = std::min<long>(std::strtol(count, nullptr, 10), config::kListenFdsMax);
  for (int fd = kFirstListenFd; fd < kFirstListenFd + fds; ++fd) adopt(fd);
}

void descriptors_received(const msghdr& message) noexcept {
  auto* writable = const_cast<msghdr*>(&message);  // The macros take no pointer to const.
  for (cmsghdr* control = CMSG_FIRSTHDR(writable); control != nullptr;
       control = CMSG_NXTHDR(writable, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t index = 0; index < count; ++index) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + index * sizeof(int), sizeof(fd));
      adopt(fd);
    }
  }
}

}  // namespace rsock::socket
