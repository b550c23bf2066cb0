// connect() and what a socket says of its two ends.
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "integration/conformance/full_listener.h"
#include "integration/conformance/harness.h"
#include "integration/conformance/libc_aliases.h"

using namespace rsock::conformance;

namespace {

int socket_error(int fd) {
  int error = -1;
  socklen_t length = sizeof(error);
  REQUIRE(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0);
  return error;
}

// An address at which nobody listens: the port was in use a moment ago, by a bound socket that
// still holds it.
struct Refusing {
  explicit Refusing(int family) : holder(tcp_socket(family)) {
    const Address any = loopback(family, 0);
    REQUIRE(bind(holder, any.generic(), any.length) == 0);
    address = local_address(holder);
  }
  Fd holder;
  Address address;
};

}  // namespace

CONFORMANCE_CASE("connect: blocking, it returns a connection, and leaves errno alone") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd fd = tcp_socket(TestType::family);
  CHECK_RETURNS(connect(fd, address.generic(), address.length), 0);
  CHECK(wait_for(fd, POLLOUT) == POLLOUT);
  CHECK_FAILS(connect(fd, address.generic(), address.length), EISCONN);
}

CONFORMANCE_CASE("connect: by its other name too") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd fd(__socket(TestType::family, SOCK_STREAM, 0));
  REQUIRE(fd >= 0);
  CHECK_RETURNS(__connect(fd, address.generic(), address.length), 0);
  const Fd served(accept(listener, nullptr, nullptr));
  send_all(fd, "x");
  CHECK(receive_all(served, 1) == "x");
}

CONFORMANCE_CASE("connect: non-blocking, it goes on in the background and then is writable") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd fd = tcp_socket(TestType::family, SOCK_NONBLOCK);
  const int result = connect(fd, address.generic(), address.length);
  if (result != 0) CHECK(errno == EINPROGRESS);
  CHECK(wait_for(fd, POLLOUT) == POLLOUT);
  CHECK(socket_error(fd) == 0);
  const Fd served(accept(listener, nullptr, nullptr));
  send_all(fd, "hello");
  CHECK(receive_all(served, 5) == "hello");
}

CONFORMANCE_CASE("connect: refused, blocking") {
  const Refusing refusing(TestType::family);
  const Fd fd = tcp_socket(TestType::family);
  CHECK_FAILS(connect(fd, refusing.address.generic(), refusing.address.length), ECONNREFUSED);
}

CONFORMANCE_CASE("connect: refused, non-blocking: poll and SO_ERROR tell, once") {
  const Refusing refusing(TestType::family);
  const Fd fd = tcp_socket(TestType::family, SOCK_NONBLOCK);
  errno = 0;
  const int result = connect(fd, refusing.address.generic(), refusing.address.length);
  REQUIRE(result == -1);
  if (errno == EINPROGRESS) {
    const short events = wait_for(fd, POLLOUT);
    CHECK((events & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
    CHECK(socket_error(fd) == ECONNREFUSED);
    CHECK(socket_error(fd) == 0);
  } else {
    CHECK(errno == ECONNREFUSED);
  }
}

CONFORMANCE_CASE("connect: a socket that was refused can try again") {
  const Refusing refusing(TestType::family);
  const Fd fd = tcp_socket(TestType::family);
  CHECK_FAILS(connect(fd, refusing.address.generic(), refusing.address.length), ECONNREFUSED);
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  CHECK(connect(fd, address.generic(), address.length) == 0);
}

CONFORMANCE_CASE("connect: while it goes on, another try fails with EALREADY") {
  const FullListener full(TestType::family);
  const Fd fd = tcp_socket(TestType::family, SOCK_NONBLOCK);
  CHECK_FAILS(connect(fd, full.address.generic(), full.address.length), EINPROGRESS);
  CHECK_FAILS(connect(fd, full.address.generic(), full.address.length), EALREADY);
  CHECK(wait_for(fd, POLLOUT, kNotNowMs) == 0);
  CHECK(socket_error(fd) == 0);
}

CONFORMANCE_CASE("connect: SO_SNDTIMEO ends the wait with EINPROGRESS") {
  const FullListener full(TestType::family);
  const Fd fd = tcp_socket(TestType::family);
  const timeval soon{0, 30'000};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)) == 0);
  CHECK_FAILS(connect(fd, full.address.generic(), full.address.length), EINPROGRESS);
}

// With as few tries as there can be, which still takes the kernel some seconds.
CONFORMANCE_CASE("connect: nobody answers, and after the last try it is ETIMEDOUT") {
  const FullListener full(TestType::family);
  const Fd fd = tcp_socket(TestType::family);
  const int tries = 1;
  REQUIRE(setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries)) == 0);
  CHECK_FAILS(connect(fd, full.address.generic(), full.address.length), ETIMEDOUT);
  CHECK(socket_error(fd) == 0);
}

CONFORMANCE_CASE("connect: wrong arguments") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd fd = tcp_socket(TestType::family);
  CHECK_FAILS(connect(-1, address.generic(), address.length), EBADF);
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  CHECK_FAILS(connect(pipe_fds[0], address.generic(), address.length), ENOTSOCK);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  CHECK_FAILS(connect(fd, address.generic(), 3), EINVAL);
  CHECK_FAILS(syscall(SYS_connect, static_cast<int>(fd), 8L, address.length), EFAULT);
  Address strange = address;
  strange.storage.ss_family = AF_UNIX;
  CHECK_FAILS(connect(fd, strange.generic(), strange.length), EAFNOSUPPORT);
  CHECK_FAILS(connect(listener, address.generic(), address.length), EISCONN);
}

CONFORMANCE_CASE("connect: AF_UNSPEC ends a connection, and the socket can connect anew") {
  Connection connection(TestType::family);
  sockaddr_storage nothing{};
  nothing.ss_family = AF_UNSPEC;
  CHECK(connect(connection.fd(), reinterpret_cast<sockaddr*>(&nothing), sizeof(nothing)) == 0);
  CHECK(connection.peer().receive(connection.remote(), 1).error == ECONNRESET);
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  REQUIRE(connect(connection.fd(), address.generic(), address.length) == 0);
  const Fd served(accept(listener, nullptr, nullptr));
  send_all(connection.fd(), "anew");
  CHECK(receive_all(served, 4) == "anew");
}

CONFORMANCE_CASE("connect: a socket may connect to itself") {
  const Fd fd = tcp_socket(TestType::family);
  const Address any = loopback(TestType::family, 0);
  REQUIRE(bind(fd, any.generic(), any.length) == 0);
  const Address own = local_address(fd);
  REQUIRE(connect(fd, own.generic(), own.length) == 0);
  send_all(fd, "echo");
  CHECK(receive_all(fd, 4) == "echo");
}

CONFORMANCE_CASE("connect: both ends name each other's addresses") {
  const LocalPair pair = local_pair(TestType::family);
  CHECK(port_of(local_address(pair.client)) == port_of(peer_address(pair.server)));
  CHECK(port_of(peer_address(pair.client)) == port_of(local_address(pair.server)));
  CHECK(local_address(pair.client).storage.ss_family == TestType::family);
}

CONFORMANCE_CASE("connect: an address that does not fit is cut, and its length told") {
  const LocalPair pair = local_pair(TestType::family);
  char small[4] = {'-', '-', '-', '-'};
  socklen_t length = 2;
  CHECK_RETURNS(getpeername(pair.client, reinterpret_cast<sockaddr*>(small), &length), 0);
  CHECK(length == loopback(TestType::family, 0).length);
  CHECK(small[2] == '-');
}

CONFORMANCE_CASE("connect: names of sockets that have none") {
  const Fd fd = tcp_socket(TestType::family);
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  CHECK_FAILS(getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length), ENOTCONN);
  CHECK_RETURNS(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  CHECK(port_of(static_cast<int>(fd)) == 0);
  CHECK_FAILS(getsockname(-1, reinterpret_cast<sockaddr*>(&address), &length), EBADF);
}

CONFORMANCE_CASE("bind: a port in use is refused, and a port is kept") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd fd = tcp_socket(TestType::family);
  CHECK_FAILS(bind(fd, address.generic(), address.length), EADDRINUSE);
  const Address any = loopback(TestType::family, 0);
  CHECK_RETURNS(bind(fd, any.generic(), any.length), 0);
  CHECK_FAILS(bind(fd, any.generic(), any.length), EINVAL);
  const std::uint16_t port = port_of(static_cast<int>(fd));
  REQUIRE(connect(fd, address.generic(), address.length) == 0);
  CHECK(port_of(static_cast<int>(fd)) == port);
}

CONFORMANCE_CASE("socket: flags reach the descriptor, and wrong arguments fail") {
  const Fd plain(socket(TestType::family, SOCK_STREAM, 0));
  CHECK((fcntl(plain, F_GETFL) & O_NONBLOCK) == 0);
  CHECK(fcntl(plain, F_GETFD) == 0);
  const Fd flagged(
      socket(TestType::family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  CHECK((fcntl(flagged, F_GETFL) & O_NONBLOCK) != 0);
  CHECK(fcntl(flagged, F_GETFD) == FD_CLOEXEC);
  CHECK_FAILS(socket(TestType::family, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
  CHECK_FAILS(socket(-1, SOCK_STREAM, 0), EAFNOSUPPORT);
  CHECK_FAILS(socket(TestType::family, 77, 0), EINVAL);
}

CONFORMANCE_CASE("connect: TCP fast open by sendto connects and sends") {
  const Fd listener = listening_socket(TestType::family);
  const int queue = 5;
  if (setsockopt(listener, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue)) != 0) return;
  const Address address = local_address(listener);
  const Fd fd = tcp_socket(TestType::family);
  const ssize_t put = sendto(fd, "fast", 4, MSG_FASTOPEN, address.generic(), address.length);
  if (put < 0) {
    CHECK(errno == EOPNOTSUPP);  // switched off on this machine
    return;
  }
  CHECK(put == 4);
  const Fd served(accept(listener, nullptr, nullptr));
  CHECK(receive_all(served, 4) == "fast");
}
