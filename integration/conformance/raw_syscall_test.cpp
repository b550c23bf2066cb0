// syscall(): what libc's names do, done by number, alone and mixed with them.
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

// SYS_pselect6's last argument.
struct MaskAndSize {
  const sigset_t* mask;
  std::size_t bytes;
};

constexpr std::size_t kKernelMaskBytes = 8;

}  // namespace

CONFORMANCE_CASE("syscall: read and write, mixed with libc's") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const int fd = connection.fd();
  CHECK_RETURNS(syscall(SYS_write, fd, "one", 3), 3);
  CHECK_RETURNS(write(fd, "two", 3), 3);
  CHECK_RETURNS(syscall(SYS_sendto, fd, "three", 5, MSG_NOSIGNAL, nullptr, 0), 5);
  CHECK(connection.remote_receives(11) == "onetwothree");
  connection.remote_sends("abcdefgh");
  char bytes[8];
  CHECK_RETURNS(syscall(SYS_read, fd, bytes, 2), 2);
  CHECK_RETURNS(read(fd, bytes + 2, 2), 2);
  CHECK_RETURNS(syscall(SYS_recvfrom, fd, bytes + 4, 2, MSG_PEEK, nullptr, nullptr), 2);
  CHECK_RETURNS(syscall(SYS_recvfrom, fd, bytes + 4, 4, 0, nullptr, nullptr), 4);
  CHECK(std::string(bytes, 8) == "abcdefgh");
}

CONFORMANCE_CASE("syscall: readv, writev, sendmsg, recvmsg, sendmmsg and recvmmsg") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const int fd = connection.fd();
  char one[] = "abc";
  char two[] = "defg";
  iovec vectors[2] = {{one, 3}, {two, 4}};
  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = 2;
  mmsghdr several{message, 0};
  CHECK_RETURNS(syscall(SYS_writev, fd, vectors, 2), 7);
  CHECK_RETURNS(syscall(SYS_sendmsg, fd, &message, 0), 7);
  CHECK_RETURNS(syscall(SYS_sendmmsg, fd, &several, 1, 0), 1);
  CHECK(several.msg_len == 7);
  CHECK(connection.remote_receives(21) == "abcdefgabcdefgabcdefg");
  connection.remote_sends("1234567ABCDEFGhijklmn");
  CHECK_RETURNS(syscall(SYS_readv, fd, vectors, 2), 7);
  CHECK(std::string(one) + two == "1234567");
  CHECK_RETURNS(syscall(SYS_recvmsg, fd, &message, 0), 7);
  CHECK(std::string(one) + two == "ABCDEFG");
  CHECK_RETURNS(syscall(SYS_recvmmsg, fd, &several, 1, 0, nullptr), 1);
  CHECK(several.msg_len == 7);
  CHECK(std::string(one) + two == "hijklmn");
}

CONFORMANCE_CASE("syscall: a connection made by numbers alone is used by libc's functions") {
  const Fd listener(
      static_cast<int>(syscall(SYS_socket, TestType::family, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  const Address any = loopback(TestType::family, 0);
  CHECK_RETURNS(syscall(SYS_bind, static_cast<int>(listener), any.generic(), any.length), 0);
  CHECK_RETURNS(syscall(SYS_listen, static_cast<int>(listener), 8), 0);
  Address address{};
  address.length = sizeof(address.storage);
  CHECK_RETURNS(
      syscall(SYS_getsockname, static_cast<int>(listener), address.generic(), &address.length), 0);
  const int accept_number = GENERATE(SYS_accept, SYS_accept4);
  const Fd client(static_cast<int>(syscall(SYS_socket, TestType::family, SOCK_STREAM, 0)));
  CHECK_RETURNS(syscall(SYS_connect, static_cast<int>(client), address.generic(), address.length),
                0);
  const Fd server(static_cast<int>(
      syscall(accept_number, static_cast<int>(listener), nullptr, nullptr, SOCK_CLOEXEC)));
  REQUIRE(server >= 0);
  CHECK(fcntl(server, F_GETFD) == (accept_number == SYS_accept4 ? FD_CLOEXEC : 0));
  check_exchange(client, server);
}

CONFORMANCE_CASE("syscall: close ends the stream, and its number is used again") {
  for (int round = 0; round < 3; ++round) {
    Connection connection(TestType::family, GENERATE(Role::client, Role::server));
    const Fd listener = listening_socket(TestType::family);
    const Address address = local_address(listener);
    const int number = connection.local().release();
    CHECK_RETURNS(syscall(SYS_close, number), 0);
    CHECK_FAILS(syscall(SYS_close, number), EBADF);
    CHECK(remote_sees_end(connection));
    const Fd client = tcp_socket(TestType::family);
    CHECK(client == number);
    REQUIRE(connect(client, address.generic(), address.length) == 0);
    const Fd server(accept(listener, nullptr, nullptr));
    check_exchange(client, server);
  }
}

CONFORMANCE_CASE("syscall: dup, dup2, dup3 and fcntl duplicate a connection") {
  const int way = GENERATE(range(0, 5));
  Connection connection(TestType::family);
  const int fd = connection.fd();
  long made = -1;
  if (way == 0) made = syscall(SYS_dup, fd);
  if (way == 1) made = syscall(SYS_dup2, fd, 360);
  if (way == 2) made = syscall(SYS_dup3, fd, 360, O_CLOEXEC);
  if (way == 3) made = syscall(SYS_fcntl, fd, F_DUPFD, 360);
  if (way == 4) made = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
  Fd copy(static_cast<int>(made));
  REQUIRE(copy >= 0);
  connection.local().reset();
  check_exchange(connection, copy);
  CHECK_RETURNS(syscall(SYS_close, copy.release()), 0);
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("syscall: dup2 of a file onto a connection ends it") {
  Connection connection(TestType::family);
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const int number = connection.fd();
  CHECK_RETURNS(syscall(SYS_dup2, static_cast<int>(null), number), number);
  CHECK(remote_sees_end(connection));
  CHECK_RETURNS(write(number, "xyz", 3), 3);
  CHECK_FAILS(send(number, "xyz", 3, 0), ENOTSOCK);
}

CONFORMANCE_CASE("syscall: open and pipe2 at the number of a connection closed by number") {
  Connection connection(TestType::family);
  const int number = connection.local().release();
  CHECK_RETURNS(syscall(SYS_close, number), 0);
  int ends[2] = {-1, -1};
  CHECK_RETURNS(syscall(SYS_pipe2, ends, O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  const Fd file(static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0)));
  CHECK(write(write_end, "pipe", 4) == 4);
  char bytes[4];
  CHECK(read(read_end, bytes, 4) == 4);
  CHECK(write(file, bytes, 4) == 4);
  CHECK(read(file, bytes, 4) == 0);
}

CONFORMANCE_CASE("syscall: close_range ends the connections in its range") {
  Connection connection(TestType::family);
  const int number = connection.local().release();
  CHECK_RETURNS(syscall(SYS_close_range, number, number, 0), 0);
  CHECK(remote_sees_end(connection));
  CHECK_FAILS(syscall(SYS_close_range, 5, 4, 0), EINVAL);
  CHECK(in_child([] {
          CHILD_CHECK(syscall(SYS_close_range, 3, ~0u, 0) == 0);
          CHILD_CHECK(new_sockets_work(TestType::family));
          return 0;
        }) == 0);
}

CONFORMANCE_CASE("syscall: poll, ppoll, select and pselect6 see a connection become readable") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  pollfd entry{fd, POLLIN, 0};
  CHECK_RETURNS(syscall(SYS_poll, &entry, 1, 0), 0);
  connection.remote_sends("x");
  CHECK_RETURNS(syscall(SYS_poll, &entry, 1, kSoonMs), 1);
  CHECK(entry.revents == POLLIN);
  CHECK_RETURNS(syscall(SYS_ppoll, &entry, 1, nullptr, nullptr, kKernelMaskBytes), 1);
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(fd, &readable);
  CHECK_RETURNS(syscall(SYS_select, fd + 1, &readable, nullptr, nullptr, nullptr), 1);
  CHECK(FD_ISSET(fd, &readable));
  sigset_t mask;
  sigemptyset(&mask);
  const MaskAndSize last{&mask, kKernelMaskBytes};
  timespec zero{};
  // Six arguments.
  CHECK_RETURNS(syscall(SYS_pselect6, fd + 1, &readable, nullptr, nullptr, nullptr, &last), 1);
  CHECK(FD_ISSET(fd, &readable));
  CHECK(receive_all(fd, 1) == "x");
  CHECK_RETURNS(syscall(SYS_pselect6, fd + 1, &readable, nullptr, nullptr, &zero, &last), 0);
  CHECK(!FD_ISSET(fd, &readable));
}

CONFORMANCE_CASE("syscall: epoll by numbers") {
  Connection connection(TestType::family);
  const Fd epoll(static_cast<int>(syscall(SYS_epoll_create1, EPOLL_CLOEXEC)));
  const int set = epoll;
  epoll_event wanted{EPOLLIN, {.u64 = 0x1122334455667788}};
  CHECK_RETURNS(syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, connection.fd(), &wanted), 0);
  CHECK_FAILS(syscall(SYS_epoll_ctl, set, EPOLL_CTL_ADD, connection.fd(), &wanted), EEXIST);
  epoll_event got{};
  CHECK_RETURNS(syscall(SYS_epoll_wait, set, &got, 1, 0), 0);
  connection.remote_sends("x");
  CHECK_RETURNS(syscall(SYS_epoll_wait, set, &got, 1, kSoonMs), 1);
  CHECK(got.data.u64 == 0x1122334455667788);
  CHECK_RETURNS(syscall(SYS_epoll_pwait, set, &got, 1, 0, nullptr, kKernelMaskBytes), 1);
  CHECK(epoll_wait(epoll, &got, 1, 0) == 1);
}

CONFORMANCE_CASE("syscall: options, ioctl, shutdown and addresses by numbers") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  const int on = 1;
  CHECK_RETURNS(syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)), 0);
  int value = 0;
  socklen_t length = sizeof(value);
  CHECK_RETURNS(syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_KEEPALIVE, &value, &length), 0);
  CHECK(value == 1);
  connection.remote_sends("five!");
  CHECK((wait_for(fd, POLLIN) & POLLIN) != 0);
  CHECK_RETURNS(syscall(SYS_ioctl, fd, FIONREAD, &value), 0);
  CHECK(value == 5);
  Address address{};
  address.length = sizeof(address.storage);
  CHECK_RETURNS(syscall(SYS_getpeername, fd, address.generic(), &address.length), 0);
  CHECK(port_of(address) == port_of(peer_address(fd)));
  CHECK_RETURNS(syscall(SYS_shutdown, fd, SHUT_WR), 0);
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("syscall: errors are -1 and errno") {
  Connection connection(TestType::family);
  char byte = 0;
  CHECK_FAILS(syscall(SYS_read, -1, &byte, 1), EBADF);
  CHECK_FAILS(syscall(SYS_write, 360, &byte, 1), EBADF);
  CHECK_FAILS(syscall(SYS_close, -1), EBADF);
  CHECK_FAILS(syscall(SYS_socket, 9999, SOCK_STREAM, 0), EAFNOSUPPORT);
  CHECK_FAILS(syscall(SYS_accept4, connection.fd(), nullptr, nullptr, 0), EINVAL);
  CHECK_FAILS(syscall(SYS_dup3, connection.fd(), connection.fd(), 0), EINVAL);
  CHECK_FAILS(syscall(SYS_fcntl, connection.fd(), 9999), EINVAL);
  CHECK_FAILS(syscall(SYS_recvfrom, connection.fd(), &byte, 1, MSG_DONTWAIT, nullptr, nullptr),
              EAGAIN);
  CHECK_FAILS(syscall(100'000), ENOSYS);
  CHECK_FAILS(syscall(-1), ENOSYS);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("syscall: calls that are no business of sockets pass all six arguments") {
  CHECK_RETURNS(syscall(SYS_getpid), getpid());
  CHECK_RETURNS(syscall(SYS_gettid), gettid());
  const Fd file(memfd_create("conformance", MFD_CLOEXEC));
  constexpr long kPage = 4096;
  REQUIRE(ftruncate(file, 2 * kPage) == 0);
  REQUIRE(pwrite(file, "second page", 11, kPage) == 11);
  const long address =
      syscall(SYS_mmap, nullptr, kPage, PROT_READ, MAP_SHARED, static_cast<int>(file), kPage);
  REQUIRE(address != -1);
  CHECK(std::string(reinterpret_cast<const char*>(address), 11) == "second page");
  CHECK_RETURNS(syscall(SYS_munmap, address, kPage), 0);
  int word = 1;
  CHECK_FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0), EAGAIN);
}

CONFORMANCE_CASE("syscall: a blocked read by number gets what comes") {
  Connection connection(TestType::family);
  connection.peer().start_send_later(connection.remote(), "late", kNotNowMs);
  char bytes[8];
  CHECK_RETURNS(syscall(SYS_read, connection.fd(), bytes, sizeof(bytes)), 4);
  connection.peer().finish();
}
