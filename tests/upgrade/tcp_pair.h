#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "core/os/unique_fd.h"

namespace rsock::testing {

// A TCP connection of this host with itself. `listen_family` and `connect_family` may differ: an
// IPv6 listener takes IPv4 connections.
struct TcpPair {
  explicit TcpPair(int listen_family = AF_INET, int connect_family = AF_INET) {
    listener = os::UniqueFd(::socket(listen_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 any{};
    any.sin6_family = static_cast<sa_family_t>(listen_family);
    // For IPv4 the same bytes mean any address and any port.
    REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&any),
                 listen_family == AF_INET ? sizeof(sockaddr_in) : sizeof(any)) == 0);
    REQUIRE(listen(listener.get(), 1) == 0);
    socklen_t length = sizeof(any);
    REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&any), &length) == 0);
    port = ntohs(any.sin6_port);  // in_port_t has its place in both kinds of address

    client = os::UniqueFd(::socket(connect_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect_family == AF_INET) {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(port);
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      REQUIRE(connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
    } else {
      sockaddr_in6 to{};
      to.sin6_family = AF_INET6;
      to.sin6_port = htons(port);
      to.sin6_addr = in6addr_loopback;
      REQUIRE(connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0);
    }
    server = os::UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(server);
  }

  os::UniqueFd listener;
  os::UniqueFd client;
  os::UniqueFd server;
  std::uint16_t port = 0;
};

}  // namespace rsock::testing
