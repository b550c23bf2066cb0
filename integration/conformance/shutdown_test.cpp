// The end of connections: half-close, FIN, RST, linger, death.
#include <poll.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

// Whether the kernel has put a thread of ours to sleep.
bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.substr(name_end + 2, 1) == "S";
}

}  // namespace

CONFORMANCE_CASE("shutdown: we end first, the peer goes on") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  send_all(connection.fd(), "last");
  CHECK_RETURNS(shutdown(connection.fd(), SHUT_WR), 0);
  CHECK(connection.remote_receives(10) == "last");
  connection.remote_sends("answer");
  CHECK(receive_all(connection.fd(), 6) == "answer");
  connection.remote_closes();
  CHECK(receive_all(connection.fd(), 1).empty());
}

CONFORMANCE_CASE("shutdown: the peer ends first, we go on") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  connection.remote_sends("last");
  connection.remote_shuts_down_writing();
  CHECK(receive_all(connection.fd(), 10) == "last");
  send_all(connection.fd(), "answer");
  CHECK(connection.remote_receives(6) == "answer");
  connection.local().reset();
  CHECK(connection.remote_receives(1).empty());
}

CONFORMANCE_CASE("shutdown: both ends at once") {
  Connection connection(TestType::family);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  connection.remote_shuts_down_writing();
  CHECK(receive_all(connection.fd(), 1).empty());
  CHECK(connection.remote_receives(1).empty());
  CHECK((wait_for(connection.fd(), POLLIN) & POLLHUP) != 0);
}

CONFORMANCE_CASE("shutdown: SHUT_RD ends our reads and lets the peer send") {
  Connection connection(TestType::family);
  CHECK_RETURNS(shutdown(connection.fd(), SHUT_RD), 0);
  char byte;
  CHECK_RETURNS(recv(connection.fd(), &byte, 1, 0), 0);
  CHECK(connection.peer().send(connection.remote(), "x").error == 0);
  send_all(connection.fd(), "y");
  CHECK(connection.remote_receives(1) == "y");
}

CONFORMANCE_CASE("shutdown: SHUT_RDWR ends both") {
  Connection connection(TestType::family);
  connection.remote_sends("there");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  CHECK_RETURNS(shutdown(connection.fd(), SHUT_RDWR), 0);
  CHECK(receive_all(connection.fd(), 10) == "there");
  CHECK_FAILS(send(connection.fd(), "x", 1, MSG_NOSIGNAL), EPIPE);
  CHECK(connection.remote_receives(1).empty());
}

CONFORMANCE_CASE("shutdown: wrong arguments and sockets") {
  const Fd fd = tcp_socket(TestType::family);
  CHECK_FAILS(shutdown(fd, SHUT_WR), ENOTCONN);
  CHECK_FAILS(shutdown(-1, SHUT_WR), EBADF);
  CHECK_FAILS(shutdown(STDIN_FILENO, SHUT_WR), ENOTSOCK);
  Connection connection(TestType::family);
  CHECK_FAILS(shutdown(connection.fd(), 7), EINVAL);
  CHECK_RETURNS(shutdown(connection.fd(), SHUT_WR), 0);
  CHECK_RETURNS(shutdown(connection.fd(), SHUT_WR), 0);
}

CONFORMANCE_CASE("shutdown: bytes that come after SHUT_RD are still read") {
  Connection connection(TestType::family);
  REQUIRE(shutdown(connection.fd(), SHUT_RD) == 0);
  connection.remote_sends("late");
  // Nothing tells when they come: readable it was before.
  std::string got;
  for (int waited = 0; got.empty() && waited < kSoonMs; ++waited) {
    got = receive_all(connection.fd(), 4);
    if (got.empty()) usleep(1'000);
  }
  CHECK(got == "late");
}

CONFORMANCE_CASE("shutdown: what poll says of our own ends") {
  constexpr short kAll = POLLIN | POLLOUT | POLLRDHUP;
  Connection connection(TestType::family);
  CHECK(wait_for(connection.fd(), kAll) == POLLOUT);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  CHECK(wait_for(connection.fd(), kAll) == POLLOUT);
  Connection other(TestType::family);
  REQUIRE(shutdown(other.fd(), SHUT_RD) == 0);
  CHECK(wait_for(other.fd(), kAll) == (POLLIN | POLLOUT | POLLRDHUP));
  REQUIRE(shutdown(other.fd(), SHUT_WR) == 0);
  CHECK(wait_for(other.fd(), kAll) == (POLLIN | POLLOUT | POLLRDHUP | POLLHUP));
}

CONFORMANCE_CASE("shutdown: of a full socket: all that was sent arrives, then the end") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  const std::uint64_t filled = fill(connection.fd(), 13);
  CHECK_RETURNS(shutdown(connection.fd(), SHUT_WR), 0);
  const Outcome got = connection.peer().receive_pattern_to_end(connection.remote(), 13);
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("shutdown: after the end of one direction much goes the other way") {
  const bool we_end = GENERATE(true, false);
  Connection connection(TestType::family);
  constexpr std::uint64_t kBytes = 2'000'000;
  if (we_end) {
    REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
    connection.wait_until_remote_sees_end();
    connection.peer().start_send_pattern(connection.remote(), 14, 0, kBytes);
    CHECK(receive_all(connection.fd(), kBytes) == pattern(14, 0, kBytes));
    CHECK(connection.peer().finish().error == 0);
  } else {
    connection.remote_shuts_down_writing();
    REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLRDHUP) != 0);
    connection.peer().start_receive_pattern_to_end(connection.remote(), 14);
    send_all(connection.fd(), pattern(14, 0, kBytes));
    REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
    CHECK(connection.peer().finish().result == static_cast<std::int64_t>(kBytes));
  }
}

CONFORMANCE_CASE("shutdown: wakes a thread that is blocked in recv") {
  Connection connection(TestType::family);
  std::atomic<long> result{99};
  std::thread reader([&] {
    char byte;
    result = recv(connection.fd(), &byte, 1, 0);
  });
  while (result == 99) {
    usleep(5'000);
    shutdown(connection.fd(), SHUT_RD);
  }
  reader.join();
  CHECK(result == 0);
}

CONFORMANCE_CASE("shutdown: wakes a thread that is blocked in send") {
  Connection connection(TestType::family);
  static_cast<void>(fill(connection.fd(), 1));
  std::atomic<int> error{0};
  const std::string more(8 * 1024 * 1024, 'x');
  std::thread writer([&] {
    while (error == 0) {
      if (send(connection.fd(), more.data(), more.size(), MSG_NOSIGNAL) < 0) error = errno;
    }
  });
  while (error == 0) {
    usleep(5'000);
    shutdown(connection.fd(), SHUT_WR);
  }
  writer.join();
  CHECK(error == EPIPE);
}

CONFORMANCE_CASE("close: what is under way arrives") {
  Connection connection(TestType::family);
  constexpr std::size_t kBytes = 300'000;
  connection.peer().start_receive_pattern_to_end(connection.remote(), 2);
  send_all(connection.fd(), pattern(2, 0, kBytes));
  connection.local().reset();
  const Outcome got = connection.peer().finish();
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(kBytes));
}

CONFORMANCE_CASE("close: with bytes unread the peer gets a reset") {
  Connection connection(TestType::family);
  connection.remote_sends("unread");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  connection.local().reset();
  CHECK(connection.peer().receive(connection.remote(), 1).error == ECONNRESET);
}

CONFORMANCE_CASE("close: in one thread leaves a blocked reader in another until data comes") {
  Connection connection(TestType::family);
  const int fd = connection.local().release();
  std::atomic<pid_t> reader_id{0};
  std::string got;
  std::thread reader([&] {
    char buffer[4];
    reader_id = gettid();
    const ssize_t count = recv(fd, buffer, sizeof(buffer), 0);
    got.assign(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
  });
  while (reader_id == 0 || !is_asleep(reader_id)) usleep(1'000);
  const int closed = close(fd);
  const Outcome sent = connection.peer().send(connection.remote(), "woke");
  reader.join();
  CHECK(closed == 0);
  CHECK(sent.error == 0);
  CHECK(got == "woke");
}

CONFORMANCE_CASE("close: in one thread leaves a blocked reader in another until the end comes") {
  Connection connection(TestType::family);
  const int fd = connection.local().release();
  std::atomic<pid_t> reader_id{0};
  ssize_t result = -1;
  std::thread reader([&] {
    char byte;
    reader_id = gettid();
    result = recv(fd, &byte, 1, 0);
  });
  while (reader_id == 0 || !is_asleep(reader_id)) usleep(1'000);
  const int closed = close(fd);
  connection.peer().shutdown(connection.remote(), SHUT_WR);
  reader.join();
  CHECK(closed == 0);
  CHECK(result == 0);
}

CONFORMANCE_CASE("close: what the buffers hold arrives when the peer reads later") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  const std::uint64_t filled = fill(connection.fd(), 12);
  CHECK_RETURNS(close(connection.local().release()), 0);
  const Outcome got = connection.peer().receive_pattern_to_end(connection.remote(), 12);
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("close: the peer's close meets ours, and both have all") {
  Connection connection(TestType::family);
  send_all(connection.fd(), "ours");
  connection.remote_sends("theirs");
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  connection.remote_shuts_down_writing();
  CHECK(receive_all(connection.fd(), 7) == "theirs");
  CHECK(connection.remote_receives(5) == "ours");
  CHECK_RETURNS(close(connection.local().release()), 0);
  connection.remote_closes();
}

CONFORMANCE_CASE("linger: zero seconds make close a reset") {
  Connection connection(TestType::family);
  const linger now{1, 0};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
  send_all(connection.fd(), "gone");
  connection.local().reset();
  const Outcome first = connection.peer().receive(connection.remote(), 10);
  const Outcome second = connection.peer().receive(connection.remote(), 10);
  CHECK((first.error == ECONNRESET || second.error == ECONNRESET));
}

CONFORMANCE_CASE("linger: close waits until the peer's kernel has everything") {
  Connection connection(TestType::family);
  const linger patient{1, 10};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_LINGER, &patient, sizeof(patient)) == 0);
  const std::uint64_t filled = fill(connection.fd(), 3);
  connection.peer().start_receive_pattern_to_end(connection.remote(), 3);
  const int fd = connection.local().release();
  CHECK_RETURNS(close(fd), 0);
  const Outcome got = connection.peer().finish();
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("linger: after the time close returns, delivered or not") {
  Connection connection(TestType::family);
  const linger short_time{1, 1};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_LINGER, &short_time, sizeof(short_time)) == 0);
  static_cast<void>(fill(connection.fd(), 3));
  CHECK(close(connection.local().release()) == 0);
}

CONFORMANCE_CASE("exit: a peer that exits has sent all that it wrote") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  constexpr std::uint64_t kBytes = 100'000;
  REQUIRE(connection.peer().send_pattern(connection.remote(), 8, 0, kBytes).error == 0);
  connection.peer().exit_now();
  CHECK(receive_all(connection.fd(), kBytes + 1) == pattern(8, 0, kBytes));
}

CONFORMANCE_CASE("exit: a peer that is killed has sent all that it wrote, and its end is seen") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  constexpr std::uint64_t kBytes = 100'000;
  REQUIRE(connection.peer().send_pattern(connection.remote(), 9, 0, kBytes).error == 0);
  connection.peer().kill_now();
  CHECK((wait_for(connection.fd(), POLLRDHUP) & POLLRDHUP) != 0);
  CHECK(receive_all(connection.fd(), kBytes + 1) == pattern(9, 0, kBytes));
}

CONFORMANCE_CASE("exit: a peer that is killed with bytes unread resets") {
  Connection connection(TestType::family);
  send_all(connection.fd(), "unread");
  REQUIRE((connection.peer().poll(connection.remote(), POLLIN, kSoonMs).result & POLLIN) != 0);
  connection.peer().kill_now();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLRDHUP) != 0);
  char byte;
  CHECK_FAILS(recv(connection.fd(), &byte, 1, 0), ECONNRESET);
}

CONFORMANCE_CASE("exit: a peer that is killed amid sending leaves a whole beginning") {
  Connection connection(TestType::family);
  constexpr std::uint64_t kNeverAll = 1'000'000'000;
  connection.peer().start_send_pattern(connection.remote(), 15, 0, kNeverAll);
  std::string got = receive_all(connection.fd(), 100'000);
  connection.peer().kill_now();
  char buffer[65536];
  ssize_t count = 0;
  while ((count = recv(connection.fd(), buffer, sizeof(buffer), 0)) > 0) {
    got.append(buffer, static_cast<std::size_t>(count));
  }
  CHECK(count == 0);
  CHECK(got.size() < kNeverAll);
  CHECK(got == pattern(15, 0, got.size()));
}
