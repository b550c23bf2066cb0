// Options whose values come back in a form of their own, or that change how a connection begins.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/time.h>

#include <cstring>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

std::uint64_t cookie_of(int fd) {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  REQUIRE(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0);
  return cookie;
}

int get(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof(value);
  REQUIRE(getsockopt(fd, level, name, &value, &length) == 0);
  return value;
}

int set(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof(value));
}

}  // namespace

CONFORMANCE_CASE("option values: time limits come back as they were set") {
  Connection connection(TestType::family);
  for (const int name : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    const timeval wanted{3, 500'000};
    CHECK_RETURNS(setsockopt(connection.fd(), SOL_SOCKET, name, &wanted, sizeof(wanted)), 0);
    timeval got{};
    socklen_t length = sizeof(got);
    CHECK_RETURNS(getsockopt(connection.fd(), SOL_SOCKET, name, &got, &length), 0);
    CHECK(got.tv_sec == wanted.tv_sec);
    CHECK(got.tv_usec == wanted.tv_usec);
    const timeval odd{0, 1'000'000};
    CHECK_FAILS(setsockopt(connection.fd(), SOL_SOCKET, name, &odd, sizeof(odd)), EDOM);
    CHECK_FAILS(setsockopt(connection.fd(), SOL_SOCKET, name, &wanted, 4), EINVAL);
  }
}

CONFORMANCE_CASE("option values: a time limit of zero is none") {
  Connection connection(TestType::family);
  const timeval soon{0, 1'000};
  const timeval none{0, 0};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) == 0);
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)) == 0);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  char byte;
  CHECK(recv(connection.fd(), &byte, 1, 0) == 1);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("option values: the class of traffic and the number of hops") {
  Connection connection(TestType::family);
  const bool v4 = TestType::family == AF_INET;
  const int level = v4 ? int{IPPROTO_IP} : int{IPPROTO_IPV6};
  const int traffic = v4 ? IP_TOS : IPV6_TCLASS;
  const int hops = v4 ? IP_TTL : IPV6_UNICAST_HOPS;
  CHECK_RETURNS(set(connection.fd(), level, traffic, 0x10), 0);
  CHECK(get(connection.fd(), level, traffic) == 0x10);
  CHECK_RETURNS(set(connection.fd(), level, hops, 33), 0);
  CHECK(get(connection.fd(), level, hops) == 33);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("option values: the cookie belongs to the socket, not to the number") {
  const LocalPair pair = local_pair(TestType::family);
  const Fd copy(dup(pair.client));
  CHECK(cookie_of(pair.client) == cookie_of(copy));
  CHECK(cookie_of(pair.client) != cookie_of(pair.server));
}

CONFORMANCE_CASE("option values: a value is cut to the room for it") {
  Connection connection(TestType::family);
  unsigned char room[4] = {0xee, 0xee, 0xee, 0xee};
  socklen_t length = 1;
  CHECK_RETURNS(getsockopt(connection.fd(), SOL_SOCKET, SO_TYPE, room, &length), 0);
  CHECK(length == 1);
  CHECK(room[0] == SOCK_STREAM);
  CHECK(room[1] == 0xee);
  length = static_cast<socklen_t>(-1);
  CHECK_FAILS(getsockopt(connection.fd(), SOL_SOCKET, SO_TYPE, room, &length), EINVAL);
  tcp_info info{};
  length = 1;
  CHECK_RETURNS(getsockopt(connection.fd(), IPPROTO_TCP, TCP_INFO, &info, &length), 0);
  CHECK(length == 1);
  CHECK(info.tcpi_state == TCP_ESTABLISHED);
}

CONFORMANCE_CASE("option values: SO_PEERNAME is getpeername") {
  Connection connection(TestType::family);
  const Address expected = peer_address(connection.fd());
  Address got{};
  socklen_t length = expected.length;
  CHECK_RETURNS(getsockopt(connection.fd(), SOL_SOCKET, SO_PEERNAME, got.generic(), &length), 0);
  CHECK(std::memcmp(&got.storage, &expected.storage, expected.length) == 0);
}

CONFORMANCE_CASE("option values: TCP_DEFER_ACCEPT shows a connection when its data comes") {
  const Fd listener = listening_socket(TestType::family);
  REQUIRE(set(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 60) == 0);
  const Address address = local_address(listener);
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  CHECK(wait_for(listener, POLLIN, 0) == 0);
  send_all(client, "first");
  REQUIRE(wait_for(listener, POLLIN) == POLLIN);
  const Fd served(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  REQUIRE(served >= 0);
  CHECK(receive_all(served, 5) == "first");
}

CONFORMANCE_CASE("option values: TCP_FASTOPEN_CONNECT leaves the bytes as they are") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd client = tcp_socket(TestType::family);
  if (set(client, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1) != 0) {
    CHECK(errno == EOPNOTSUPP);  // switched off on this machine
    return;
  }
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  send_all(client, "question");
  const Fd served(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  CHECK(receive_all(served, 8) == "question");
  check_exchange(client, served);
}
