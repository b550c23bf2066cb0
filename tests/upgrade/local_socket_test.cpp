#include "core/upgrade/local_socket.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "core/os/inode.h"
#include "tests/os/failing_call.h"
#include "tests/upgrade/tcp_pair.h"

using namespace rsock;
using namespace rsock::upgrade;
using testing::TcpPair;

TEST_CASE("both ends of a connection of this host are found by its addresses") {
  int listen_family = AF_INET;
  int connect_family = AF_INET;
  SECTION("IPv4") {}
  SECTION("IPv6") { listen_family = connect_family = AF_INET6; }
  SECTION("IPv4 to an IPv6 listener") { listen_family = AF_INET6; }
  const TcpPair pair(listen_family, connect_family);
  const Result<wire::FourTuple> as_client = tuple_of_client(pair.client.get());
  const Result<wire::FourTuple> as_server = tuple_of_server(pair.server.get());
  REQUIRE(as_client.ok());
  REQUIRE(as_server.ok());
  CHECK(as_client.value() == as_server.value());
  CHECK(as_client.value().server_port == pair.port);

  const Result<LocalSocket> server = find_server_end(as_client.value());
  REQUIRE(server.ok());
  CHECK(server.value().inode == os::inode_of(pair.server.get()));
  CHECK(server.value().owner == getuid());
  const Result<LocalSocket> client = find_client_end(as_client.value());
  REQUIRE(client.ok());
  CHECK(client.value().inode == os::inode_of(pair.client.get()));
}

TEST_CASE("a connection that is not here is not found, though its port is listened on") {
  const TcpPair pair;
  wire::FourTuple connection = tuple_of_client(pair.client.get()).value();
  SECTION("another client port") { ++connection.client_port; }
  SECTION("another host") { connection.client_address[15] = 77; }
  SECTION("a remote server") { connection.server_address[15] = 78; }
  CHECK(find_server_end(connection).error() == -ENOENT);
}

TEST_CASE("a socket without a connection has no addresses to go by") {
  const TcpPair pair;
  CHECK(tuple_of_client(pair.listener.get()).error() == -ENOTCONN);
  int fds[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  CHECK(tuple_of_client(fds[0]).error() == -EAFNOSUPPORT);
  close(fds[0]);
  close(fds[1]);
}

TEST_CASE("a kernel that refuses to tell is an error") {
  const TcpPair pair;
  const wire::FourTuple connection = tuple_of_client(pair.client.get()).value();
  {
    const testing::FailingCall<&os::Syscalls::socket> failing(1, EPROTONOSUPPORT);
    CHECK(find_server_end(connection).error() == -EPROTONOSUPPORT);
  }
  {
    const testing::FailingCall<&os::Syscalls::send> failing(1, ENOBUFS);
    CHECK(find_server_end(connection).error() == -ENOBUFS);
  }
  const testing::FailingCall<&os::Syscalls::recv> failing(1, ENOBUFS);
  CHECK(find_server_end(connection).error() == -ENOBUFS);
}
