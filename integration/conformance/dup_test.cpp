// Duplicates of a connection: one stream, one set of status flags, several numbers.
#include <fcntl.h>
#include <sys/epoll.h>

#include <thread>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

extern "C" int __dup2(int from, int to) noexcept;

using namespace rsock::conformance;

namespace {

// Numbers that nothing else uses.
constexpr int kFarNumber = 300;

struct Duplicator {
  const char* name;
  int (*make)(int fd);
  bool closes_on_exec;
};

const Duplicator kDuplicators[] = {
    {"dup", [](int fd) { return dup(fd); }, false},
    {"dup2", [](int fd) { return dup2(fd, kFarNumber); }, false},
    {"__dup2", [](int fd) { return __dup2(fd, kFarNumber); }, false},
    {"dup3", [](int fd) { return dup3(fd, kFarNumber, 0); }, false},
    {"dup3 O_CLOEXEC", [](int fd) { return dup3(fd, kFarNumber, O_CLOEXEC); }, true},
    {"F_DUPFD", [](int fd) { return fcntl(fd, F_DUPFD, 0); }, false},
    {"F_DUPFD far", [](int fd) { return fcntl(fd, F_DUPFD, kFarNumber); }, false},
    {"F_DUPFD_CLOEXEC", [](int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }, true},
};

const Duplicator& any_duplicator() {
  return kDuplicators[GENERATE(range(0, static_cast<int>(std::size(kDuplicators))))];
}

}  // namespace

CONFORMANCE_CASE("dup: every way to duplicate gives a descriptor of the same stream") {
  const Duplicator& duplicator = any_duplicator();
  INFO(duplicator.name);
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  errno = kUntouched;
  const Fd copy(duplicator.make(connection.fd()));
  CHECK(errno == kUntouched);
  REQUIRE(copy >= 0);
  CHECK(copy != connection.fd());
  check_exchange(connection, copy);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("dup: two descriptors read and write alternating parts of one stream") {
  Connection connection(TestType::family);
  const Fd copy(dup(connection.fd()));
  connection.remote_sends("abcdef");
  CHECK(receive_all(connection.fd(), 2) == "ab");
  CHECK(receive_all(copy, 2) == "cd");
  CHECK(receive_all(connection.fd(), 2) == "ef");
  send_all(copy, "uv");
  send_all(connection.fd(), "wx");
  send_all(copy, "yz");
  CHECK(connection.remote_receives(6) == "uvwxyz");
}

CONFORMANCE_CASE("dup: the peer sees the end only when the last descriptor is closed") {
  const Duplicator& duplicator = any_duplicator();
  INFO(duplicator.name);
  const bool original_first = GENERATE(true, false);
  Connection connection(TestType::family);
  const int original = connection.local().release();
  const int copy = duplicator.make(original);
  CHECK_RETURNS(close(original_first ? original : copy), 0);
  CHECK(remote_sees_no_end(connection));
  const int rest = original_first ? copy : original;
  check_exchange(connection, rest);
  CHECK_RETURNS(close(rest), 0);
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("dup: a chain of twenty copies lives as long as its last member") {
  Connection connection(TestType::family);
  constexpr int kCopies = 20;
  int last = connection.local().release();
  for (int copies = 0; copies < kCopies; ++copies) {
    const int next = dup(last);
    REQUIRE(next >= 0);
    CHECK(close(last) == 0);
    last = next;
  }
  check_exchange(connection, last);
  CHECK(close(last) == 0);
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("dup: shutdown through one descriptor ends the stream for the others") {
  Connection connection(TestType::family);
  const Fd copy(dup(connection.fd()));
  CHECK_RETURNS(shutdown(copy, SHUT_WR), 0);
  CHECK(remote_sees_end(connection));
  CHECK_FAILS(send(connection.fd(), "x", 1, MSG_NOSIGNAL), EPIPE);
  connection.remote_sends("still");
  CHECK(receive_all(connection.fd(), 5) == "still");
}

CONFORMANCE_CASE("dup: O_NONBLOCK is shared by the copies") {
  const Duplicator& duplicator = any_duplicator();
  INFO(duplicator.name);
  Connection connection(TestType::family);
  const Fd copy(duplicator.make(connection.fd()));
  char byte = 0;
  set_nonblocking(copy);
  CHECK((fcntl(connection.fd(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK_FAILS(recv(connection.fd(), &byte, 1, 0), EAGAIN);
  set_nonblocking(connection.fd(), false);
  CHECK((fcntl(copy, F_GETFL) & O_NONBLOCK) == 0);
  connection.peer().start_send_later(connection.remote(), "z", kNotNowMs);
  CHECK(recv(copy, &byte, 1, 0) == 1);
  connection.peer().finish();
}

CONFORMANCE_CASE("dup: FD_CLOEXEC belongs to the number, not to the stream") {
  const Duplicator& duplicator = any_duplicator();
  INFO(duplicator.name);
  Connection connection(TestType::family);  // with SOCK_CLOEXEC
  const Fd copy(duplicator.make(connection.fd()));
  CHECK(fcntl(copy, F_GETFD) == (duplicator.closes_on_exec ? FD_CLOEXEC : 0));
  CHECK(fcntl(connection.fd(), F_GETFD) == FD_CLOEXEC);
  CHECK_RETURNS(fcntl(copy, F_SETFD, 0), 0);
  CHECK(fcntl(connection.fd(), F_GETFD) == FD_CLOEXEC);
}

CONFORMANCE_CASE("dup: F_DUPFD takes the lowest free number from its argument on") {
  Connection connection(TestType::family);
  const Fd first(fcntl(connection.fd(), F_DUPFD, kFarNumber));
  const Fd second(fcntl(connection.fd(), F_DUPFD, kFarNumber));
  const Fd third(fcntl(connection.fd(), F_DUPFD_CLOEXEC, kFarNumber));
  CHECK(first == kFarNumber);
  CHECK(second == kFarNumber + 1);
  CHECK(third == kFarNumber + 2);
}

CONFORMANCE_CASE("dup: bad arguments fail and leave the connection alone") {
  Connection connection(TestType::family);
  CHECK_FAILS(dup(-1), EBADF);
  CHECK_FAILS(dup(kFarNumber), EBADF);
  CHECK_FAILS(fcntl(kFarNumber, F_DUPFD, 0), EBADF);
  CHECK_FAILS(fcntl(connection.fd(), F_DUPFD, -1), EINVAL);
  CHECK_FAILS(fcntl(connection.fd(), F_DUPFD, 1 << 30), EINVAL);
  CHECK_FAILS(fcntl(connection.fd(), F_DUPFD_CLOEXEC, -1), EINVAL);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("dup: addresses and options are those of the socket") {
  Connection connection(TestType::family);
  const Fd copy(dup(connection.fd()));
  CHECK(port_of(copy) == port_of(connection.fd()));
  CHECK(port_of(peer_address(copy)) == port_of(peer_address(connection.fd())));
  const int on = 1;
  CHECK(setsockopt(copy, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0);
  int value = 0;
  socklen_t length = sizeof(value);
  CHECK(getsockopt(connection.fd(), SOL_SOCKET, SO_KEEPALIVE, &value, &length) == 0);
  CHECK(value == 1);
}

CONFORMANCE_CASE("dup: a copy made before connect is connected with it") {
  const Fd listener = listening_socket(TestType::family);
  Fd client = tcp_socket(TestType::family);
  const Fd copy(dup(client));
  const Address address = local_address(listener);
  REQUIRE(connect(copy, address.generic(), address.length) == 0);
  const Fd server(accept(listener, nullptr, nullptr));
  client.reset();
  check_exchange(copy, server);
}

CONFORMANCE_CASE("dup: a copy of a listener accepts after the original is closed") {
  Fd listener = listening_socket(TestType::family);
  const Fd copy(dup(listener));
  const Address address = local_address(listener);
  listener.reset();
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  const Fd server(accept(copy, nullptr, nullptr));
  REQUIRE(server >= 0);
  check_exchange(client, server);
}

CONFORMANCE_CASE("dup: an epoll set keeps a socket whose copy is still open") {
  Connection connection(TestType::family);
  const Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{EPOLLIN, {.u64 = 77}};
  REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, connection.fd(), &event) == 0);
  Fd copy(dup(connection.fd()));
  connection.local().reset();
  connection.remote_sends("x");
  epoll_event got{};
  CHECK(epoll_wait(epoll, &got, 1, kSoonMs) == 1);
  CHECK(got.data.u64 == 77);
  copy.reset();
  CHECK(epoll_wait(epoll, &got, 1, 0) == 0);
}

CONFORMANCE_CASE("dup: closing a copy does not wake a reader of the original") {
  Connection connection(TestType::family);
  Fd copy(dup(connection.fd()));
  std::string received;
  std::thread reader([&] { received = receive_all(connection.fd(), 4); });
  copy.reset();
  CHECK(remote_sees_no_end(connection));
  connection.remote_sends("four");
  reader.join();
  CHECK(received == "four");
}
