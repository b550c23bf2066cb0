// Socket options, ioctl and fcntl.
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cstring>

#include "integration/conformance/harness.h"
#include "integration/conformance/libc_aliases.h"

using namespace rsock::conformance;

namespace {

int get(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof(value);
  REQUIRE(getsockopt(fd, level, name, &value, &length) == 0);
  REQUIRE(length == sizeof(value));
  return value;
}

int set(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof(value));
}

}  // namespace

CONFORMANCE_CASE("options: switches are set and read") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  const struct {
    int level, name;
  } switches[] = {{SOL_SOCKET, SO_REUSEADDR}, {SOL_SOCKET, SO_KEEPALIVE},
                  {IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_CORK},
                  {SOL_SOCKET, SO_OOBINLINE}, {SOL_SOCKET, SO_REUSEPORT}};
  for (const auto& one : switches) {
    INFO("level " << one.level << " name " << one.name);
    CHECK(get(fd, one.level, one.name) == 0);
    CHECK_RETURNS(set(fd, one.level, one.name, 1), 0);
    CHECK(get(fd, one.level, one.name) == 1);
    CHECK_RETURNS(set(fd, one.level, one.name, 0), 0);
    CHECK(get(fd, one.level, one.name) == 0);
  }
}

CONFORMANCE_CASE("options: what a socket is") {
  Connection connection(TestType::family);
  CHECK(get(connection.fd(), SOL_SOCKET, SO_TYPE) == SOCK_STREAM);
  CHECK(get(connection.fd(), SOL_SOCKET, SO_DOMAIN) == TestType::family);
  CHECK(get(connection.fd(), SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP);
  CHECK(get(connection.fd(), SOL_SOCKET, SO_ACCEPTCONN) == 0);
  CHECK_RETURNS(isfdtype(connection.fd(), S_IFSOCK), 1);
  CHECK_RETURNS(isfdtype(connection.fd(), S_IFREG), 0);
  struct stat status {};
  REQUIRE(fstat(connection.fd(), &status) == 0);
  CHECK(S_ISSOCK(status.st_mode));
}

CONFORMANCE_CASE("options: numbers are set and read") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  REQUIRE(set(fd, SOL_SOCKET, SO_RCVBUF, 20'000) == 0);
  CHECK(get(fd, SOL_SOCKET, SO_RCVBUF) == 40'000);
  REQUIRE(set(fd, SOL_SOCKET, SO_SNDBUF, 20'000) == 0);
  CHECK(get(fd, SOL_SOCKET, SO_SNDBUF) == 40'000);
  REQUIRE(set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 12'345) == 0);
  CHECK(get(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 12'345);
  REQUIRE(set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 77) == 0);
  CHECK(get(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 77);
  REQUIRE(set(fd, SOL_SOCKET, SO_RCVLOWAT, 3) == 0);
  CHECK(get(fd, SOL_SOCKET, SO_RCVLOWAT) == 3);
  linger value{1, 5};
  REQUIRE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof(value)) == 0);
  value = {};
  socklen_t length = sizeof(value);
  CHECK(getsockopt(fd, SOL_SOCKET, SO_LINGER, &value, &length) == 0);
  CHECK(value.l_onoff == 1);
  CHECK(value.l_linger == 5);
}

CONFORMANCE_CASE("options: a congestion control is a name") {
  Connection connection(TestType::family);
  char name[16] = {};
  socklen_t length = sizeof(name);
  CHECK_RETURNS(getsockopt(connection.fd(), IPPROTO_TCP, TCP_CONGESTION, name, &length), 0);
  CHECK(name[0] != '\0');
  CHECK(setsockopt(connection.fd(), IPPROTO_TCP, TCP_CONGESTION, name, length) == 0);
  CHECK_FAILS(setsockopt(connection.fd(), IPPROTO_TCP, TCP_CONGESTION, "no such", 7), ENOENT);
}

CONFORMANCE_CASE("options: TCP_INFO tells the state") {
  Connection connection(TestType::family);
  const auto state = [&] {
    tcp_info info{};
    socklen_t length = sizeof(info);
    REQUIRE(getsockopt(connection.fd(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0);
    return static_cast<int>(info.tcpi_state);
  };
  CHECK(state() == TCP_ESTABLISHED);
  connection.remote_shuts_down_writing();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLRDHUP) != 0);
  CHECK(state() == TCP_CLOSE_WAIT);
}

CONFORMANCE_CASE("options: TCP_INFO of sockets without a connection, and after our end") {
  const auto state = [](int fd) {
    tcp_info info{};
    socklen_t length = sizeof(info);
    REQUIRE(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0);
    return static_cast<int>(info.tcpi_state);
  };
  CHECK(state(tcp_socket(TestType::family)) == TCP_CLOSE);
  CHECK(state(listening_socket(TestType::family)) == TCP_LISTEN);
  Connection connection(TestType::family);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  connection.wait_until_remote_sees_end();
  // The peer's kernel acknowledges the end a moment after it has told the peer.
  for (int waited = 0; waited < kSoonMs && state(connection.fd()) == TCP_FIN_WAIT1; ++waited) {
    usleep(1'000);
  }
  CHECK(state(connection.fd()) == TCP_FIN_WAIT2);
  connection.remote_closes();
  REQUIRE((wait_for(connection.fd(), POLLIN) & POLLHUP) != 0);
  CHECK(state(connection.fd()) == TCP_CLOSE);
}

CONFORMANCE_CASE("options: SO_ERROR tells a reset once, and the stream has ended") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  CHECK(get(connection.fd(), SOL_SOCKET, SO_ERROR) == 0);
  connection.remote_resets();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLERR) != 0);
  CHECK(get(connection.fd(), SOL_SOCKET, SO_ERROR) == ECONNRESET);
  CHECK(get(connection.fd(), SOL_SOCKET, SO_ERROR) == 0);
  char byte;
  CHECK_RETURNS(recv(connection.fd(), &byte, 1, 0), 0);
  CHECK_FAILS(send(connection.fd(), "x", 1, MSG_NOSIGNAL), EPIPE);
  CHECK_FAILS(set(connection.fd(), SOL_SOCKET, SO_ERROR, 0), ENOPROTOOPT);
}

CONFORMANCE_CASE("options: those of one end are not the other's") {
  const LocalPair pair = local_pair(TestType::family);
  REQUIRE(set(pair.client, IPPROTO_TCP, TCP_NODELAY, 1) == 0);
  REQUIRE(set(pair.client, SOL_SOCKET, SO_KEEPALIVE, 1) == 0);
  CHECK(get(pair.server, IPPROTO_TCP, TCP_NODELAY) == 0);
  CHECK(get(pair.server, SOL_SOCKET, SO_KEEPALIVE) == 0);
  const Fd copy(dup(pair.client));
  CHECK(get(copy, IPPROTO_TCP, TCP_NODELAY) == 1);
  REQUIRE(set(copy, SOL_SOCKET, SO_KEEPALIVE, 0) == 0);
  CHECK(get(pair.client, SOL_SOCKET, SO_KEEPALIVE) == 0);
}

CONFORMANCE_CASE("options: SO_OOBINLINE leaves the urgent byte in the stream, at the mark") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  REQUIRE(set(fd, SOL_SOCKET, SO_OOBINLINE, 1) == 0);
  REQUIRE(connection.peer().send(connection.remote(), "ab!", MSG_OOB).result == 3);
  REQUIRE((wait_for(fd, POLLPRI) & POLLPRI) != 0);
  connection.remote_sends("cd");
  char buffer[8];
  // A read stops before the mark.
  REQUIRE(recv(fd, buffer, 2, MSG_WAITALL) == 2);
  CHECK_RETURNS(sockatmark(fd), 1);
  CHECK(receive_all(fd, 3) == "!cd");
  CHECK_RETURNS(sockatmark(fd), 0);
}

CONFORMANCE_CASE("options: TCP_CORK holds back until it is lifted") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  REQUIRE(set(fd, IPPROTO_TCP, TCP_CORK, 1) == 0);
  send_all(fd, "one ");
  send_all(fd, "piece");
  REQUIRE(set(fd, IPPROTO_TCP, TCP_CORK, 0) == 0);
  CHECK(connection.remote_receives(9) == "one piece");
}

CONFORMANCE_CASE("options: buffers of a size take that much, and all arrives") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  REQUIRE(set(fd, SOL_SOCKET, SO_SNDBUF, 1) == 0);
  CHECK(get(fd, SOL_SOCKET, SO_SNDBUF) > 2);  // There is a least size.
  connection.peer().set_option(connection.remote(), SOL_SOCKET, SO_RCVBUF, 1);
  constexpr std::uint64_t kBytes = 200'000;
  connection.peer().start_receive_pattern_to_end(connection.remote(), 10);
  send_all(fd, pattern(10, 0, kBytes));
  REQUIRE(shutdown(fd, SHUT_WR) == 0);
  const Outcome got = connection.peer().finish();
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(kBytes));
}

CONFORMANCE_CASE("options: keepalive and user timeout leave a connection alone that answers") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  const struct {
    int name, value;
  } numbers[] = {{TCP_KEEPIDLE, 1}, {TCP_KEEPINTVL, 1},         {TCP_KEEPCNT, 1},
                 {TCP_SYNCNT, 3},   {TCP_MAXSEG, 1000},         {TCP_QUICKACK, 1},
                 {TCP_LINGER2, 10}, {TCP_NOTSENT_LOWAT, 20'000}};
  for (const auto& one : numbers) {
    INFO("name " << one.name);
    CHECK_RETURNS(set(fd, IPPROTO_TCP, one.name, one.value), 0);
    // The kernel says what is agreed, not what was wished.
    if (one.name != TCP_MAXSEG) CHECK(get(fd, IPPROTO_TCP, one.name) == one.value);
  }
  REQUIRE(set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) == 0);
  send_all(fd, "x");
  CHECK(connection.remote_receives(1) == "x");
  connection.peer().start_send_later(connection.remote(), "y", 1'500);
  CHECK(receive_all(fd, 1) == "y");
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("options: wrong names, sizes, pointers and descriptors") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  int value = 0;
  socklen_t length = sizeof(value);
  CHECK_FAILS(getsockopt(fd, SOL_SOCKET, 9999, &value, &length), ENOPROTOOPT);
  CHECK_FAILS(setsockopt(fd, SOL_SOCKET, 9999, &value, sizeof(value)), ENOPROTOOPT);
  CHECK_FAILS(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, 1), EINVAL);
  CHECK_FAILS(setsockopt(fd, SOL_SOCKET, SO_TYPE, &value, sizeof(value)), ENOPROTOOPT);
  CHECK_FAILS(syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_KEEPALIVE, 8L, 4), EFAULT);
  CHECK_FAILS(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, 3), EINVAL);
  CHECK_FAILS(setsockopt(fd, 250, 1, &value, sizeof(value)), ENOPROTOOPT);
  CHECK_FAILS(getsockopt(fd, 250, 1, &value, &length),
              TestType::family == AF_INET ? EOPNOTSUPP : ENOPROTOOPT);
  length = static_cast<socklen_t>(-1);
  CHECK_FAILS(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length), EINVAL);
  length = sizeof(value);
  CHECK_FAILS(syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, 8L, &length), EFAULT);
  CHECK_FAILS(syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &value, 8L), EFAULT);
  CHECK_FAILS(setsockopt(-1, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value)), EBADF);
  CHECK_FAILS(setsockopt(STDIN_FILENO, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof(value)), ENOTSOCK);
  CHECK_FAILS(getsockopt(-1, SOL_SOCKET, SO_TYPE, &value, &length), EBADF);
  CHECK_FAILS(getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &value, &length), ENOTSOCK);
  CHECK_FAILS(set(fd, IPPROTO_TCP, TCP_KEEPIDLE, -1), EINVAL);
}

CONFORMANCE_CASE("options: a mark, and an upper layer protocol that is not there") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  if (set(fd, SOL_SOCKET, SO_MARK, 7) == 0) CHECK(get(fd, SOL_SOCKET, SO_MARK) == 7);
  CHECK_FAILS(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "no such", 7), ENOENT);
  // What a kernel without this protocol says, or one that has it.
  const Fd fresh = tcp_socket(TestType::family);
  errno = 0;
  CHECK(setsockopt(fresh, IPPROTO_TCP, TCP_ULP, "tls", 3) == -1);
  CHECK((errno == ENOENT || errno == ENOTCONN));
  send_all(fd, "x");
  CHECK(connection.remote_receives(1) == "x");
}

CONFORMANCE_CASE("options: SO_ZEROCOPY: the completion comes over the error queue") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  REQUIRE(set(fd, SOL_SOCKET, SO_ZEROCOPY, 1) == 0);
  const std::string data = pattern(1, 0, 20'000);
  std::size_t put = 0;
  while (put < data.size()) {
    const ssize_t now = send(fd, data.data() + put, data.size() - put, MSG_ZEROCOPY);
    REQUIRE(now > 0);
    put += static_cast<std::size_t>(now);
  }
  CHECK(connection.remote_receives(data.size()) == data);
  REQUIRE((wait_for(fd, 0) & POLLERR) != 0);
  char control[128];
  msghdr message{};
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  REQUIRE(recvmsg(fd, &message, MSG_ERRQUEUE) == 0);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  REQUIRE(header != nullptr);
  sock_extended_err error{};
  std::memcpy(&error, CMSG_DATA(header), sizeof(error));
  CHECK(error.ee_origin == SO_EE_ORIGIN_ZEROCOPY);
}

CONFORMANCE_CASE("options: FIONBIO and fcntl set the same flag") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  int on = 1;
  CHECK_RETURNS(ioctl(fd, FIONBIO, &on), 0);
  CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  char byte;
  CHECK_FAILS(read(fd, &byte, 1), EAGAIN);
  CHECK_RETURNS(fcntl(fd, F_SETFL, O_RDWR), 0);
  CHECK((__fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  CHECK(read(fd, &byte, 1) == 1);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("options: copies of a descriptor share O_NONBLOCK, and access stays as it is") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  CHECK_RETURNS(fcntl(fd, F_GETFL), O_RDWR);
  const Fd copy(dup(fd));
  CHECK_RETURNS(fcntl(copy, F_SETFL, O_RDWR | O_NONBLOCK), 0);
  CHECK_RETURNS(fcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
  char byte;
  CHECK_FAILS(recv(fd, &byte, 1, 0), EAGAIN);
  // The way of access can't be changed.
  CHECK_RETURNS(fcntl(fd, F_SETFL, O_RDONLY), 0);
  CHECK_RETURNS(fcntl(copy, F_GETFL), O_RDWR);
  CHECK_RETURNS(write(fd, "x", 1), 1);
  CHECK(connection.remote_receives(1) == "x");
}

CONFORMANCE_CASE("options: fcntl's flags of the descriptor, and wrong commands") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  CHECK_RETURNS(fcntl(fd, F_SETFD, 0), 0);
  CHECK_RETURNS(fcntl(fd, F_GETFD), 0);
  CHECK_RETURNS(fcntl(fd, F_SETFD, FD_CLOEXEC), 0);
  CHECK_RETURNS(fcntl64(fd, F_GETFD), FD_CLOEXEC);
  CHECK_RETURNS(fcntl(fd, F_SETOWN, getpid()), 0);
  CHECK_RETURNS(fcntl(fd, F_GETOWN), getpid());
  CHECK_FAILS(fcntl(fd, 9999), EINVAL);
  CHECK_FAILS(fcntl(-1, F_GETFD), EBADF);
  CHECK_FAILS(ioctl(fd, 0xdead), ENOTTY);
  CHECK_FAILS(ioctl(-1, FIONREAD, nullptr), EBADF);
}

CONFORMANCE_CASE("options: sockatmark on what is no TCP connection") {
  CHECK_FAILS(sockatmark(-1), EBADF);
  CHECK_FAILS(sockatmark(STDIN_FILENO), ENOTTY);
  Connection connection(TestType::family);
  CHECK_RETURNS(sockatmark(connection.fd()), 0);
}
