#include "core/socket/lifecycle.h"

#include <sys/un.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "core/socket/pinning.h"
#include "tests/death.h"
#include "tests/socket/own_page.h"
#include "tests/socket/sockets.h"

namespace {

using namespace rsock;
using socket::table;
using stats::Counter;
using stats::Reason;
using stats::Role;
using testing::address_of;
using testing::connected_to;
using testing::counted;
using testing::listener;
using testing::row_of;
using testing::tcp_socket;
using testing::TestFd;

Role role_of(int fd) {
  const auto ref = table().acquire(table().peek(fd));
  REQUIRE(ref);
  return ref.row().role.load();
}

Reason reason_of(int fd) {
  const auto ref = table().acquire(table().peek(fd));
  REQUIRE(ref);
  return ref.row().reason.load();
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

TEST_CASE("socket() of TCP is followed and of anything else is not") {
  const struct {
    int domain, type, protocol;
    bool followed;
  } cases[] = {
      {AF_INET, SOCK_STREAM, 0, true},
      {AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP, true},
      {AF_INET, SOCK_DGRAM, 0, false},
      {AF_INET, SOCK_RAW, IPPROTO_TCP, false},
      {AF_INET, SOCK_STREAM, IPPROTO_SCTP, false},
      {AF_UNIX, SOCK_STREAM, 0, false},
  };
  const TestFd fd = tcp_socket();
  for (const auto& one : cases) {
    INFO("domain " << one.domain << " type " << one.type << " protocol " << one.protocol);
    socket::socket_made(fd, one.domain, one.type, one.protocol);
    CHECK(static_cast<bool>(table().peek(fd)) == one.followed);
  }
  table().forget(fd);
}

TEST_CASE("an MPTCP socket is pinned from the start") {
  const TestFd fd = tcp_socket();
  socket::socket_made(fd, AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
  CHECK(reason_of(fd) == Reason::mptcp);
  table().forget(fd);
}

TEST_CASE("connect() makes a client once, and AF_UNSPEC unmakes it") {
  const TestFd fd = tcp_socket();
  socket::socket_made(fd, AF_INET, SOCK_STREAM, 0);
  CHECK(reason_of(fd) == Reason::none);
  const auto before = counted(Counter::connections_connected);
  sockaddr_in address = testing::loopback();
  socket::connection_begun(fd, generic(address));
  socket::connection_begun(fd, generic(address));
  CHECK(role_of(fd) == Role::client);
  CHECK(reason_of(fd) == Reason::no_transport);
  CHECK(counted(Counter::connections_connected) == before + 1);
  address.sin_family = AF_UNSPEC;
  socket::connection_begun(fd, generic(address));
  CHECK(role_of(fd) == Role::fresh);
  table().forget(fd);
}

TEST_CASE("an accepted connection is a server's, with what pins its listener") {
  const TestFd listening = listener();
  socket::socket_made(listening, AF_INET, SOCK_STREAM, 0);
  socket::now_listening(listening);
  CHECK(role_of(listening) == Role::listener);
  const auto before = counted(Counter::connections_accepted);
  const TestFd client = connected_to(listening);
  const TestFd served(accept(listening, nullptr, nullptr));
  socket::connection_accepted(listening, served, AF_INET);
  CHECK(role_of(served) == Role::server);
  CHECK(reason_of(served) == Reason::no_transport);
  CHECK(counted(Counter::connections_accepted) == before + 1);

  socket::pin(table().acquire(table().peek(listening)), Reason::marked);
  socket::connection_accepted(listening, served, AF_INET);
  CHECK(reason_of(served) == Reason::marked);
  table().forget(served);
  table().forget(listening);
}

TEST_CASE("a listener from before our time is adopted at its first accept") {
  const TestFd listening = listener();
  const TestFd client = connected_to(listening);
  const TestFd served(accept(listening, nullptr, nullptr));
  const auto before = counted(Counter::sockets_adopted);
  socket::connection_accepted(listening, served, AF_INET);
  CHECK(role_of(listening) == Role::listener);
  CHECK(role_of(served) == Role::inherited);
  CHECK(counted(Counter::sockets_adopted) == before + 2);
  table().forget(served);
  table().forget(listening);
}

TEST_CASE("a listener of another kind is not asked about") {
  const TestFd listening = listener();
  const TestFd client = connected_to(listening);
  const TestFd served(accept(listening, nullptr, nullptr));
  const auto before = counted(Counter::sockets_adopted);
  socket::connection_accepted(listening, served, AF_UNIX);
  CHECK(counted(Counter::sockets_adopted) == before);
}

TEST_CASE("adopting tells TCP sockets from all else, and knows their roles") {
  const TestFd fresh = tcp_socket(AF_INET6);
  const TestFd udp(::socket(AF_INET, SOCK_DGRAM, 0));
  int unix_fds[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, unix_fds) == 0);
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  socket::adopt(fresh);
  CHECK(role_of(fresh) == Role::fresh);
  for (const int fd : {int{udp}, unix_fds[0], pipe_fds[0], -1, 5000}) {
    socket::adopt(fd);
    CHECK_FALSE(table().peek(fd));
  }
  table().forget(fresh);
  for (const int fd : {unix_fds[0], unix_fds[1], pipe_fds[0], pipe_fds[1]}) close(fd);
}

TEST_CASE("descriptors that come in a message are adopted") {
  const TestFd listening = listener();
  const TestFd client = connected_to(listening);
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int fds[2] = {STDIN_FILENO, client};
  std::memcpy(CMSG_DATA(header), fds, sizeof(fds));
  socket::descriptors_received(message);
  CHECK(role_of(client) == Role::inherited);
  CHECK_FALSE(table().peek(STDIN_FILENO));
  table().forget(client);

  header->cmsg_type = SCM_CREDENTIALS;
  socket::descriptors_received(message);
  CHECK_FALSE(table().peek(client));
}

TEST_CASE("inetd's and systemd's descriptors are adopted at start") {
  const testing::Death death = testing::run_in_child([] {
    const TestFd listening = listener();
    const TestFd client = connected_to(listening);
    if (dup2(client, STDIN_FILENO) != STDIN_FILENO) _exit(1);
    const TestFd high(fcntl(listening, F_DUPFD, 100));
    if (dup2(high, 3) != 3 || dup2(high, 4) != 4) _exit(2);
    setenv("LISTEN_FDS", "1", 1);
    socket::adopt_inherited();
    if (!table().peek(STDIN_FILENO)) _exit(3);
    if (!table().peek(3)) _exit(4);
    if (table().peek(4)) _exit(5);
    for (const char* broken : {"", "-1", "x", "99999999999999999999"}) {
      setenv("LISTEN_FDS", broken, 1);
      socket::adopt_inherited();  // Must come back.
    }
  });
  CHECK(death.signal == 0);
  CHECK(death.exit_code == 0);
}

}  // namespace
