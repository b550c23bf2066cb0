#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/base/result.h"
#include "core/wire/handshake.h"

namespace rsock::upgrade {

// A TCP socket of this host, in this network namespace.
struct LocalSocket {
  std::uint64_t inode = 0;
  uid_t owner = 0;  // of the process that made it; for an accepted one, that accepted it
};

// The server's end of `connection`, if it is here (sock_diag(7)). -ENOENT: it is on another host,
// or in another network namespace; or errno as socket(2), sendto(2) and recv(2).
[[nodiscard]] Result<LocalSocket> find_server_end(const wire::FourTuple& connection) noexcept;

// The same for the client's end.
[[nodiscard]] Result<LocalSocket> find_client_end(const wire::FourTuple& connection) noexcept;

// The addresses of the connected socket `fd`, as a connection that it is the client of, or the
// server. -EAFNOSUPPORT: neither IPv4 nor IPv6; or errno as getpeername(2).
[[nodiscard]] Result<wire::FourTuple> tuple_of_client(int fd) noexcept;
[[nodiscard]] Result<wire::FourTuple> tuple_of_server(int fd) noexcept;

}  // namespace rsock::upgrade
