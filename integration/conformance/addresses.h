#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace rsock::conformance {

struct Address {
  sockaddr_storage storage;
  socklen_t length;

  [[nodiscard]] const sockaddr* generic() const {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  [[nodiscard]] sockaddr* generic() { return reinterpret_cast<sockaddr*>(&storage); }
};

// The loopback address of AF_INET or AF_INET6, with a port (zero: any).
[[nodiscard]] Address loopback(int family, std::uint16_t port);

[[nodiscard]] Address local_address(int fd);
[[nodiscard]] Address peer_address(int fd);
[[nodiscard]] std::uint16_t port_of(const Address& address);
// The local port of a socket.
[[nodiscard]] std::uint16_t port_of(int fd);

}  // namespace rsock::conformance
