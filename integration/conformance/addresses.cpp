#include "integration/conformance/addresses.h"

#include <arpa/inet.h>

namespace rsock::conformance {

Address loopback(int family, std::uint16_t port) {
  Address address{};
  if (family == AF_INET) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
    v4->sin_family = AF_INET;
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4->sin_port = htons(port);
    address.length = sizeof(sockaddr_in);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_addr = in6addr_loopback;
    v6->sin6_port = htons(port);
    address.length = sizeof(sockaddr_in6);
  }
  return address;
}

Address local_address(int fd) {
  Address address{};
  address.length = sizeof(address.storage);
  if (getsockname(fd, address.generic(), &address.length) != 0) address.length = 0;
  return address;
}

Address peer_address(int fd) {
  Address address{};
  address.length = sizeof(address.storage);
  if (getpeername(fd, address.generic(), &address.length) != 0) address.length = 0;
  return address;
}

std::uint16_t port_of(const Address& address) {
  if (address.storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

std::uint16_t port_of(int fd) { return port_of(local_address(fd)); }

}  // namespace rsock::conformance
