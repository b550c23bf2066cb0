// select and pselect.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "integration/conformance/harness.h"
#include "integration/conformance/libc_aliases.h"

using namespace rsock::conformance;

CONFORMANCE_CASE("select: readable, writable, exceptional") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  fd_set readable, writable, exceptional;
  const auto ask = [&] {
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    FD_ZERO(&exceptional);
    FD_SET(fd, &readable);
    FD_SET(fd, &writable);
    FD_SET(fd, &exceptional);
    timeval no_time{0, 0};
    return select(fd + 1, &readable, &writable, &exceptional, &no_time);
  };
  CHECK_RETURNS(ask(), 1);
  CHECK(FD_ISSET(fd, &writable));
  CHECK_FALSE(FD_ISSET(fd, &readable));
  REQUIRE(connection.peer().send(connection.remote(), "a!", MSG_OOB).result == 2);
  REQUIRE(wait_for(fd, POLLPRI) == POLLPRI);
  CHECK(ask() == 3);
  CHECK(FD_ISSET(fd, &exceptional));
}

CONFORMANCE_CASE("select: waits, and tells the time that is left") {
  Connection connection(TestType::family);
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(connection.fd(), &readable);
  timeval short_time{0, 20'000};
  CHECK_RETURNS(__select(connection.fd() + 1, &readable, nullptr, nullptr, &short_time), 0);
  CHECK(short_time.tv_sec == 0);
  CHECK(short_time.tv_usec == 0);
  CHECK_FALSE(FD_ISSET(connection.fd(), &readable));
  FD_SET(connection.fd(), &readable);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  timeval long_time{100, 0};
  CHECK(select(connection.fd() + 1, &readable, nullptr, nullptr, &long_time) == 1);
  CHECK(long_time.tv_sec < 100);
  CHECK(long_time.tv_sec > 50);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("select: a closed descriptor in a set fails with EBADF") {
  int closed = 0;
  {
    const Fd fd = tcp_socket(TestType::family);
    closed = fd;
  }
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(closed, &readable);
  timeval no_time{0, 0};
  CHECK_FAILS(select(closed + 1, &readable, nullptr, nullptr, &no_time), EBADF);
  CHECK_FAILS(select(-1, &readable, nullptr, nullptr, &no_time), EINVAL);
}

CONFORMANCE_CASE("select: the end, a reset and a waiting connection make readable") {
  const auto readable_soon = [](int fd) {
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(fd, &readable);
    timeval time{kSoonMs / 1000, 0};
    return select(fd + 1, &readable, nullptr, nullptr, &time) == 1 && FD_ISSET(fd, &readable);
  };
  Connection ended(TestType::family);
  ended.remote_shuts_down_writing();
  CHECK(readable_soon(ended.fd()));
  Connection reset(TestType::family);
  reset.remote_resets();
  CHECK(readable_soon(reset.fd()));
  const Fd listener = listening_socket(TestType::family);
  const Fd client = tcp_socket(TestType::family);
  const Address address = local_address(listener);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  CHECK(readable_soon(listener));
}

CONFORMANCE_CASE("select: descriptors from the given number on are not asked about") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  connection.remote_sends("x");
  REQUIRE(wait_for(fd, POLLIN) == POLLIN);
  constexpr int kFar = FD_SETSIZE - 1;
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(fd, &readable);
  FD_SET(kFar, &readable);
  timeval no_time{0, 0};
  CHECK_RETURNS(select(fd, &readable, nullptr, nullptr, &no_time), 0);
  FD_SET(fd, &readable);
  CHECK_RETURNS(select(fd + 1, &readable, nullptr, nullptr, &no_time), 1);
  CHECK(FD_ISSET(fd, &readable));
  CHECK(FD_ISSET(kFar, &readable));
}

CONFORMANCE_CASE("select: a set that is larger than fd_set") {
  constexpr int kHigh = FD_SETSIZE + 100;
  Connection connection(TestType::family);
  // The usual limit is just below.
  rlimit usual{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &usual) == 0);
  rlimit enough = usual;
  enough.rlim_cur = std::max<rlim_t>(usual.rlim_cur, kHigh + 100);
  enough.rlim_max = std::max(usual.rlim_max, enough.rlim_cur);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &enough) == 0);
  const Fd high(fcntl(connection.fd(), F_DUPFD_CLOEXEC, kHigh));
  REQUIRE(high >= kHigh);
  std::vector<fd_set> sets(2);
  const auto put_in = [&] {
    std::memset(sets.data(), 0, sets.size() * sizeof(fd_set));
    const auto bit = static_cast<std::size_t>(high);
    reinterpret_cast<unsigned char*>(sets.data())[bit / 8] =
        static_cast<unsigned char>(1U << (bit % 8));
  };
  timeval no_time{0, 0};
  put_in();
  CHECK_RETURNS(select(high + 1, sets.data(), nullptr, nullptr, &no_time), 0);
  connection.remote_sends("x");
  put_in();
  CHECK_RETURNS(select(high + 1, sets.data(), nullptr, nullptr, nullptr), 1);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &usual) == 0);
}

CONFORMANCE_CASE(
    "select: without sets it sleeps; pselect leaves the time, a negative one is EINVAL") {
  timeval short_time{0, 1'000};
  CHECK_RETURNS(select(0, nullptr, nullptr, nullptr, &short_time), 0);
  CHECK(short_time.tv_usec == 0);
  const timespec kept{0, 1'000};
  CHECK_RETURNS(pselect(0, nullptr, nullptr, nullptr, &kept, nullptr), 0);
  timeval negative{-1, 0};
  CHECK_FAILS(select(0, nullptr, nullptr, nullptr, &negative), EINVAL);
}

CONFORMANCE_CASE("select: one descriptor in three sets counts once for each") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  connection.remote_sends("x");
  REQUIRE(wait_for(fd, POLLIN) == POLLIN);
  fd_set readable, writable, exceptional;
  for (fd_set* set : {&readable, &writable, &exceptional}) {
    FD_ZERO(set);
    FD_SET(fd, set);
  }
  CHECK_RETURNS(select(fd + 1, &readable, &writable, &exceptional, nullptr), 2);
  CHECK(FD_ISSET(fd, &readable));
  CHECK(FD_ISSET(fd, &writable));
  CHECK_FALSE(FD_ISSET(fd, &exceptional));
}
