#include "core/upgrade/local_socket.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/os/or_error.h"
#include "core/os/syscalls.h"
#include "core/os/unique_fd.h"

namespace rsock::upgrade {

namespace {

using os::or_error;
using os::sys;

using Address = std::array<std::uint8_t, 16>;

struct End {
  Address address{};
  std::uint16_t port = 0;
};

constexpr std::size_t kIpv4At = 12;  // in a mapped address

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

bool is_mapped(const Address& address) {
  return IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(address.data()));
}

// Puts an address where inet_diag wants it.
void put_address(const Address& from, bool mapped, __be32 (&to)[4]) {
  const std::size_t at = mapped ? kIpv4At : 0;
  std::memcpy(to, from.data() + at, from.size() - at);
}

Request request_for(const End& local, const End& remote) {
  const bool mapped = is_mapped(local.address) && is_mapped(remote.address);
  Request request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = mapped ? AF_INET : AF_INET6;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  request.body.id.idiag_sport = htons(local.port);
  request.body.id.idiag_dport = htons(remote.port);
  request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  put_address(local.address, mapped, request.body.id.idiag_src);
  put_address(remote.address, mapped, request.body.id.idiag_dst);
  return request;
}

Result<LocalSocket> read_answer(const std::byte* bytes, std::size_t count) {
  nlmsghdr header;
  if (count < sizeof(header)) return Error(-EPROTO);
  std::memcpy(&header, bytes, sizeof(header));
  if (header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error;
    if (count < NLMSG_HDRLEN + sizeof(error)) return Error(-EPROTO);
    std::memcpy(&error, bytes + NLMSG_HDRLEN, sizeof(error));
    return Error(error.error < 0 ? error.error : -EPROTO);
  }
  inet_diag_msg found;
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || count < NLMSG_HDRLEN + sizeof(found)) {
    return Error(-EPROTO);
  }
  std::memcpy(&found, bytes + NLMSG_HDRLEN, sizeof(found));
  // Where there is no such connection, the kernel may answer with a listener on its port.
  if (found.id.idiag_dport == 0) return Error(-ENOENT);
  return LocalSocket{.inode = found.idiag_inode, .owner = found.idiag_uid};
}

Result<LocalSocket> find(const End& local, const End& remote) {
  const os::UniqueFd netlink(
      or_error(sys().socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)));
  if (!netlink) return Error(netlink.get());
  const Request request = request_for(local, remote);
  const ssize_t sent = or_error(sys().send(netlink.get(), &request, sizeof(request), 0));
  if (sent < 0) return Error(static_cast<int>(sent));
  alignas(nlmsghdr) std::byte answer[1024];
  const ssize_t count = or_error(sys().recv(netlink.get(), answer, sizeof(answer), MSG_DONTWAIT));
  if (count < 0) return Error(static_cast<int>(count));
  return read_answer(answer, static_cast<std::size_t>(count));
}

Result<End> end_of(const sockaddr_storage& address) {
  End end;
  if (address.ss_family == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    std::memcpy(end.address.data(), &ipv6.sin6_addr, end.address.size());
    end.port = ntohs(ipv6.sin6_port);
    return end;
  }
  if (address.ss_family != AF_INET) return Error(-EAFNOSUPPORT);
  const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
  end.address[kIpv4At - 2] = 0xff;
  end.address[kIpv4At - 1] = 0xff;
  std::memcpy(end.address.data() + kIpv4At, &ipv4.sin_addr, sizeof(ipv4.sin_addr));
  end.port = ntohs(ipv4.sin_port);
  return end;
}

template <typename Call>
Result<End> end_by(Call call, int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  const int error = or_error(call(fd, reinterpret_cast<sockaddr*>(&address), &length));
  if (error < 0) return Error(error);
  return end_of(address);
}

End client_of(const wire::FourTuple& connection) {
  return {connection.client_address, connection.client_port};
}
End server_of(const wire::FourTuple& connection) {
  return {connection.server_address, connection.server_port};
}

// Both ends of `fd`: ours, then the other.
struct Ends {
  End local;
  End remote;
};
Result<Ends> ends_of(int fd) {
  const Result<End> remote = end_by([](auto... rest) { return sys().getpeername(rest...); }, fd);
  if (!remote.ok()) return Error(remote.error());
  const Result<End> local = end_by([](auto... rest) { return sys().getsockname(rest...); }, fd);
  if (!local.ok()) return Error(local.error());
  return Ends{local.value(), remote.value()};
}

wire::FourTuple tuple(const End& client, const End& server) {
  return {.client_address = client.address,
          .server_address = server.address,
          .client_port = client.port,
          .server_port = server.port};
}

}  // namespace

Result<LocalSocket> find_server_end(const wire::FourTuple& connection) noexcept {
  return find(server_of(connection), client_of(connection));
}

Result<LocalSocket> find_client_end(const wire::FourTuple& connection) noexcept {
  return find(client_of(connection), server_of(connection));
}

Result<wire::FourTuple> tuple_of_client(int fd) noexcept {
  const Result<Ends> ends = ends_of(fd);
  if (!ends.ok()) return Error(ends.error());
  return tuple(ends.value().local, ends.value().remote);
}

Result<wire::FourTuple> tuple_of_server(int fd) noexcept {
  const Result<Ends> ends = ends_of(fd);
  if (!ends.ok()) return Error(ends.error());
  return tuple(ends.value().remote, ends.value().local);
}

}  // namespace rsock::upgrade
