// Addresses other than one loopback address for each family, and addresses that are used again.
#include <netinet/in.h>

#include <cstring>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

Address wildcard(int family, std::uint16_t port) {
  Address address = loopback(family, port);
  if (family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_addr.s_addr = INADDR_ANY;
  } else {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_addr = in6addr_any;
  }
  return address;
}

// The IPv4 address 127.0.0.`host` as an address of IPv6.
Address mapped(std::uint8_t host, std::uint16_t port) {
  Address address = loopback(AF_INET6, port);
  const in6_addr value{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, host}}};
  reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_addr = value;
  return address;
}

void set(int fd, int level, int name, int value) {
  REQUIRE(setsockopt(fd, level, name, &value, sizeof(value)) == 0);
}

void bind_to(int fd, const Address& address) {
  REQUIRE(bind(fd, address.generic(), address.length) == 0);
}

[[nodiscard]] Fd listener_at(const Address& address) {
  Fd fd = tcp_socket(address.storage.ss_family);
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.storage.ss_family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  bind_to(fd, address);
  REQUIRE(listen(fd, 8) == 0);
  return fd;
}

[[nodiscard]] Fd connected_to(const Address& address) {
  Fd fd = tcp_socket(address.storage.ss_family);
  REQUIRE(connect(fd, address.generic(), address.length) == 0);
  return fd;
}

[[nodiscard]] Fd accepted_from(int listener) {
  Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(fd >= 0);
  return fd;
}

bool same(const Address& one, const Address& other) {
  return one.length == other.length && std::memcmp(&one.storage, &other.storage, one.length) == 0;
}

void close_by_reset(Fd& fd) {
  const linger now{1, 0};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
  fd.reset();
}

}  // namespace

CONFORMANCE_CASE(
    "addressing: a connection to a wildcard listener has the address that was called") {
  const Fd listener = listener_at(wildcard(TestType::family, 0));
  const Address called = loopback(TestType::family, port_of(listener));
  const Fd client = connected_to(called);
  const Fd server = accepted_from(listener);
  CHECK(same(local_address(listener), wildcard(TestType::family, port_of(listener))));
  CHECK(same(local_address(server), called));
  CHECK(same(peer_address(client), called));
  check_exchange(client, server);
}

CONFORMANCE_CASE("addressing: a call to the wildcard address reaches this host") {
  const Fd listener = listening_socket(TestType::family);
  const Fd client = connected_to(wildcard(TestType::family, port_of(listener)));
  const Fd server = accepted_from(listener);
  CHECK(same(peer_address(client), local_address(listener)));
  check_exchange(client, server);
}

CONFORMANCE_CASE("addressing: listen without bind takes a port of its own") {
  const Fd listener = tcp_socket(TestType::family);
  CHECK_RETURNS(listen(listener, 8), 0);
  REQUIRE(port_of(static_cast<int>(listener)) != 0);
  const Fd client = connected_to(loopback(TestType::family, port_of(listener)));
  const Fd server = accepted_from(listener);
  check_exchange(client, server);
}

CONFORMANCE_CASE("addressing: one listener of IPv6 serves callers of both families") {
  const Fd listener = listener_at(wildcard(AF_INET6, 0));
  const Fd client = connected_to(loopback(TestType::family, port_of(listener)));
  const Fd server = accepted_from(listener);
  const Address caller = TestType::family == AF_INET
                             ? mapped(1, port_of(static_cast<int>(client)))
                             : loopback(AF_INET6, port_of(static_cast<int>(client)));
  CHECK(same(peer_address(server), caller));
  check_exchange(client, server);
}

CONFORMANCE_CASE("addressing: a socket of IPv6 calls a listener at a mapped address") {
  // The listener is of either family; what is between them is IPv4.
  const Fd listener =
      listener_at(TestType::family == AF_INET ? loopback(AF_INET, 0) : mapped(1, 0));
  const Fd client = connected_to(mapped(1, port_of(listener)));
  const Fd server = accepted_from(listener);
  CHECK(same(peer_address(client), mapped(1, port_of(listener))));
  CHECK(same(local_address(client), mapped(1, port_of(peer_address(server)))));
  check_exchange(client, server);
}

CONFORMANCE_CASE("addressing: IPV6_V6ONLY keeps callers of IPv4 out") {
  const Fd listener = tcp_socket(AF_INET6);
  set(listener, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  bind_to(listener, wildcard(AF_INET6, 0));
  REQUIRE(listen(listener, 8) == 0);
  const Address called = loopback(TestType::family, port_of(listener));
  const Fd client = tcp_socket(TestType::family);
  if (TestType::family == AF_INET) {
    CHECK_FAILS(connect(client, called.generic(), called.length), ECONNREFUSED);
  } else {
    CHECK_RETURNS(connect(client, called.generic(), called.length), 0);
  }
}

CONFORMANCE_CASE("addressing: another loopback address, for the caller and for the called") {
  const auto other = [](std::uint8_t host) {
    Address address = loopback(AF_INET, 0);
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_addr.s_addr =
        htonl(INADDR_LOOPBACK - 1U + host);
    return TestType::family == AF_INET ? address : mapped(host, 0);
  };
  const Fd listener = listener_at(other(2));
  const Fd client = tcp_socket(TestType::family);
  bind_to(client, other(3));
  const Address called = local_address(listener);
  REQUIRE(connect(client, called.generic(), called.length) == 0);
  const Fd server = accepted_from(listener);
  CHECK(same(peer_address(server), local_address(client)));
  CHECK(same(local_address(server), called));
  check_exchange(client, server);
}

CONFORMANCE_CASE("addressing: the same two ports again are a new connection") {
  const Fd listener = listening_socket(TestType::family);
  const Address called = local_address(listener);
  // Holds the client's port between two connections.
  const Fd holder = tcp_socket(TestType::family);
  set(holder, SOL_SOCKET, SO_REUSEADDR, 1);
  bind_to(holder, loopback(TestType::family, 0));
  for (int turn = 0; turn < 5; ++turn) {
    Fd client = tcp_socket(TestType::family);
    set(client, SOL_SOCKET, SO_REUSEADDR, 1);
    bind_to(client, local_address(holder));
    REQUIRE(connect(client, called.generic(), called.length) == 0);
    Fd server = accepted_from(listener);
    CHECK(same(peer_address(server), local_address(holder)));
    check_exchange(client, server);
    // What is under way must not turn up in the next connection.
    send_all(client, "unread");
    send_all(server, "unread");
    close_by_reset(client);
  }
}

CONFORMANCE_CASE("addressing: one local port has connections to several listeners") {
  const Fd first = listening_socket(TestType::family);
  const Fd second = listening_socket(TestType::family);
  Fd clients[2];
  Fd servers[2];
  Address own = loopback(TestType::family, 0);
  for (const int index : {0, 1}) {
    const int listener = index == 0 ? first : second;
    const Address called = local_address(listener);
    clients[index] = tcp_socket(TestType::family);
    set(clients[index], SOL_SOCKET, SO_REUSEADDR, 1);
    bind_to(clients[index], own);
    own = local_address(clients[index]);
    REQUIRE(connect(clients[index], called.generic(), called.length) == 0);
    servers[index] = accepted_from(listener);
  }
  CHECK(same(peer_address(servers[0]), peer_address(servers[1])));
  send_all(clients[0], "to the first");
  send_all(clients[1], "to the second");
  CHECK(receive_all(servers[1], 13) == "to the second");
  CHECK(receive_all(servers[0], 12) == "to the first");
}

CONFORMANCE_CASE("addressing: a port is listened on anew while its old connections last") {
  Fd listener = listener_at(loopback(TestType::family, 0));
  const Address called = local_address(listener);
  const Fd client = connected_to(called);
  const Fd server = accepted_from(listener);
  listener.reset();
  const Fd anew = listener_at(called);
  const Fd other_client = connected_to(called);
  const Fd other_server = accepted_from(anew);
  send_all(client, "old");
  send_all(other_client, "new");
  CHECK(receive_all(other_server, 3) == "new");
  CHECK(receive_all(server, 3) == "old");
  check_exchange(client, server);
  check_exchange(other_client, other_server);
}

CONFORMANCE_CASE("addressing: SO_BINDTODEVICE to the loopback device") {
  const Fd listener = listening_socket(TestType::family);
  const Address called = local_address(listener);
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(setsockopt(client, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0);
  char name[16] = {};
  socklen_t length = sizeof(name);
  CHECK_RETURNS(getsockopt(client, SOL_SOCKET, SO_BINDTODEVICE, name, &length), 0);
  CHECK(std::string(name) == "lo");
  REQUIRE(connect(client, called.generic(), called.length) == 0);
  const Fd server = accepted_from(listener);
  check_exchange(client, server);
}
