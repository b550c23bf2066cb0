// close_range and closefrom, in children: they close what the tests need.
#include <fcntl.h>
#include <linux/close_range.h>

#include <climits>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

// Numbers of a connection's copies in a range of their own.
constexpr int kFirst = 320;
constexpr int kLast = 329;
constexpr auto kFirstNumber = static_cast<unsigned>(kFirst);
constexpr auto kLastNumber = static_cast<unsigned>(kLast);

}  // namespace

CONFORMANCE_CASE("close_range: closes the sockets in its range and no others") {
  const LocalPair pair = local_pair(TestType::family);
  CHECK(in_child([&] {
          for (int fd = kFirst - 1; fd <= kLast + 1; ++fd) CHILD_CHECK(dup2(pair.client, fd) == fd);
          errno = kUntouched;
          CHILD_CHECK(close_range(kFirstNumber, kLastNumber, 0) == 0);
          CHILD_CHECK(errno == kUntouched);
          for (int fd = kFirst; fd <= kLast; ++fd) CHILD_CHECK(!is_open(fd));
          CHILD_CHECK(exchange(kFirst - 1, pair.server));
          CHILD_CHECK(exchange(kLast + 1, pair.server));
          return 0;
        }) == 0);
  check_exchange(pair.client, pair.server);
}

CONFORMANCE_CASE("close_range: ends a connection whose only descriptor is in the range") {
  Connection connection(TestType::family);
  const int number = connection.local().release();
  const auto unsigned_number = static_cast<unsigned>(number);
  CHECK_RETURNS(close_range(unsigned_number, unsigned_number, 0), 0);
  CHECK(remote_sees_end(connection));
  CHECK_FAILS(close(number), EBADF);
}

CONFORMANCE_CASE("close_range: leaves a connection open that has a copy outside") {
  Connection connection(TestType::family);
  REQUIRE(dup2(connection.fd(), kFirst) == kFirst);
  CHECK_RETURNS(close_range(kFirstNumber, kLastNumber, 0), 0);
  CHECK(remote_sees_no_end(connection));
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("close_range: from 3 on, then new sockets work") {
  Connection connection(TestType::family);
  CHECK(in_child([] {
          CHILD_CHECK(close_range(3, UINT_MAX, 0) == 0);
          for (int fd = 3; fd < 1024; ++fd) {
            if (is_open(fd)) {
              CHILD_CHECK(fd >= 900);  // the library's own
            }
          }
          CHILD_CHECK(new_sockets_work(TestType::family));
          CHILD_CHECK(close_range(3, UINT_MAX, 0) == 0);
          CHILD_CHECK(new_sockets_work(TestType::family));
          return 0;
        }) == 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("closefrom: closes all from its argument on, then new sockets work") {
  const LocalPair pair = local_pair(TestType::family);
  CHECK(in_child([&] {
          CHILD_CHECK(dup2(pair.client, kFirst - 1) == kFirst - 1);
          CHILD_CHECK(dup2(pair.client, kFirst) == kFirst);
          CHILD_CHECK(dup2(pair.client, kLast) == kLast);
          closefrom(kFirst);
          CHILD_CHECK(!is_open(kFirst));
          CHILD_CHECK(!is_open(kLast));
          CHILD_CHECK(exchange(kFirst - 1, pair.server));
          closefrom(3);
          CHILD_CHECK(!is_open(kFirst - 1));
          CHILD_CHECK(!is_open(pair.client));
          CHILD_CHECK(new_sockets_work(TestType::family));
          return 0;
        }) == 0);
  check_exchange(pair.client, pair.server);
}

CONFORMANCE_CASE("close_range: CLOSE_RANGE_CLOEXEC marks the sockets and closes none") {
  Connection connection(TestType::family);
  const Fd copy(dup2(connection.fd(), kFirst));
  CHECK(fcntl(copy, F_GETFD) == 0);
  const auto flags = static_cast<int>(CLOSE_RANGE_CLOEXEC);
  CHECK_RETURNS(close_range(kFirstNumber, kLastNumber, flags), 0);
  CHECK(fcntl(copy, F_GETFD) == FD_CLOEXEC);
  check_exchange(connection, copy);
}

CONFORMANCE_CASE("close_range: CLOSE_RANGE_UNSHARE closes as well") {
  const LocalPair pair = local_pair(TestType::family);
  CHECK(in_child([&] {
          CHILD_CHECK(dup2(pair.client, kFirst) == kFirst);
          const auto flags = static_cast<int>(CLOSE_RANGE_UNSHARE);
          CHILD_CHECK(close_range(kFirstNumber, kLastNumber, flags) == 0);
          CHILD_CHECK(!is_open(kFirst));
          CHILD_CHECK(exchange(pair.client, pair.server));
          return 0;
        }) == 0);
}

CONFORMANCE_CASE("close_range: bad arguments are EINVAL and close nothing") {
  Connection connection(TestType::family);
  const auto number = static_cast<unsigned>(connection.fd());
  CHECK_FAILS(close_range(number + 1, number, 0), EINVAL);
  CHECK_FAILS(close_range(number, number, 1), EINVAL);
  CHECK_FAILS(close_range(number, number, 1 << 20), EINVAL);
  CHECK(remote_sees_no_end(connection));
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("close_range: an empty range is no error") {
  Connection connection(TestType::family);
  CHECK_RETURNS(close_range(kFirstNumber, kLastNumber, 0), 0);
  CHECK_RETURNS(close_range(UINT_MAX, UINT_MAX, 0), 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("close_range: a new connection works at a number that it closed") {
  Connection connection(TestType::family);
  for (int round = 0; round < 3; ++round) {
    LocalPair pair = local_pair(TestType::family);
    check_exchange(pair.client, pair.server);
    const auto first = static_cast<unsigned>(static_cast<int>(pair.client));
    const auto last = static_cast<unsigned>(static_cast<int>(pair.server));
    REQUIRE(last - first < 3);
    CHECK_RETURNS(close_range(first, last, 0), 0);
    static_cast<void>(pair.client.release());
    static_cast<void>(pair.server.release());
  }
  check_exchange(connection, connection.fd());
}
