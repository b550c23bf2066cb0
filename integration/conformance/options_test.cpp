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
  CHECK_FAILS(getsockopt(-1, SOL_SOCKET, SO_TYPE, &value, &length), EBADF);
  CHECK_FAILS(getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &value, &length), ENOTSOCK);
  CHECK_FAILS(set(fd, IPPROTO_TCP, TCP_KEEPIDLE, -1), EINVAL);
}

CONFORMANCE_CASE("options: a mark, and an upper layer protocol that is not there") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  if (set(fd, SOL_SOCKET, SO_MARK, 7) == 0) CHECK(get(fd, SOL_SOCKET, SO_MARK) == 7);
  CHECK_FAILS(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "no such", 7), ENOENT);
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
