// epoll's other ways: edges, one shot, exclusive; epoll_pwait and epoll_pwait2.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include <atomic>
#include <thread>

#include "integration/conformance/epoll_harness.h"

using namespace rsock::conformance;

CONFORMANCE_CASE("edges: each arrival is told once, also with data still unread") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLET);
  connection.remote_sends("a");
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(set.wait_one(0) == 0);
  connection.remote_sends("b");
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(set.wait_one(0) == 0);
  CHECK(receive_all(connection.fd(), 2) == "ab");
}

CONFORMANCE_CASE("edges: what is there when a member is added is an edge") {
  Connection connection(TestType::family);
  connection.remote_sends("a");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLOUT | EPOLLET);
  CHECK(set.wait_one() == (EPOLLIN | EPOLLOUT));
  CHECK(set.wait_one(0) == 0);
}

CONFORMANCE_CASE("edges: MOD reports readiness anew") {
  Connection connection(TestType::family);
  connection.remote_sends("a");
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLET);
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(set.wait_one(0) == 0);
  set.modify(connection.fd(), EPOLLIN | EPOLLET);
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(set.wait_one(0) == 0);
}

CONFORMANCE_CASE("edges: room for sending is an edge when the peer has read") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLOUT | EPOLLET);
  CHECK(set.wait_one() == EPOLLOUT);
  CHECK(set.wait_one(0) == 0);
  const std::uint64_t filled = fill(connection.fd(), 1);
  static_cast<void>(set.wait(0));
  connection.peer().start_receive(connection.remote(), filled, MSG_WAITALL);
  CHECK((set.wait_one() & EPOLLOUT) != 0);
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("edges: the end of the stream is an edge") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLRDHUP | EPOLLET);
  connection.remote_shuts_down_writing();
  CHECK(set.wait_one() == (EPOLLIN | EPOLLRDHUP));
  CHECK(set.wait_one(0) == 0);
}

CONFORMANCE_CASE("edges: arrivals before a wait are one, and reading a part makes none") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLET);
  connection.remote_sends("ab");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  connection.remote_sends("cd");
  // Both have come: four bytes are there.
  char buffer[4];
  REQUIRE(recv(connection.fd(), buffer, 4, MSG_PEEK | MSG_WAITALL) == 4);
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(set.wait_one(0) == 0);
  CHECK(receive_all(connection.fd(), 1) == "a");
  CHECK(set.wait_one(0) == 0);
  CHECK(receive_all(connection.fd(), 3) == "bcd");
  connection.remote_sends("e");
  CHECK(set.wait_one() == EPOLLIN);
}

CONFORMANCE_CASE("edges: an arrival tells of room for sending too") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLOUT | EPOLLET);
  CHECK(set.wait_one() == EPOLLOUT);
  CHECK(set.wait_one(0) == 0);
  connection.remote_sends("x");
  CHECK(set.wait_one() == (EPOLLIN | EPOLLOUT));
  CHECK(set.wait_one(0) == 0);
}

CONFORMANCE_CASE("edges: data and then the end are two, a reset is one more") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLRDHUP | EPOLLET);
  connection.remote_sends("x");
  CHECK(set.wait_one() == EPOLLIN);
  connection.remote_shuts_down_writing();
  CHECK(set.wait_one() == (EPOLLIN | EPOLLRDHUP));
  CHECK(set.wait_one(0) == 0);
  connection.remote_resets();
  CHECK((set.wait_one() & (EPOLLERR | EPOLLHUP)) == (EPOLLERR | EPOLLHUP));
}

CONFORMANCE_CASE("edges: a loop that reads until EAGAIN and then waits gets all") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  constexpr std::uint64_t kBytes = 2'000'000;
  set_nonblocking(connection.fd());
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLET);
  connection.peer().start_send_pattern(connection.remote(), 11, 0, kBytes);
  std::uint64_t got = 0;
  bool right = true;
  char buffer[7000];
  while (got < kBytes) {
    REQUIRE(set.wait_one() == EPOLLIN);
    ssize_t count = 0;
    while ((count = recv(connection.fd(), buffer, sizeof(buffer), 0)) > 0) {
      const auto bytes = static_cast<std::size_t>(count);
      right = right && matching(11, got, buffer, bytes) == bytes;
      got += bytes;
    }
    REQUIRE(count == -1);
    REQUIRE(errno == EAGAIN);
  }
  CHECK(right);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("edges: a loop that writes until EAGAIN and then waits sends all") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  constexpr std::size_t kBytes = 8'000'000;
  const std::string data = pattern(12, 0, kBytes);
  set_nonblocking(connection.fd());
  Epoll set;
  set.add(connection.fd(), EPOLLOUT | EPOLLET);
  connection.peer().start_receive_pattern_to_end(connection.remote(), 12);
  for (std::size_t sent = 0; sent < kBytes;) {
    REQUIRE((set.wait_one() & EPOLLOUT) != 0);
    while (sent < kBytes) {
      const ssize_t put = send(connection.fd(), data.data() + sent, kBytes - sent, MSG_NOSIGNAL);
      if (put < 0) break;
      sent += static_cast<std::size_t>(put);
    }
    if (sent < kBytes) REQUIRE(errno == EAGAIN);
  }
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(kBytes));
}

CONFORMANCE_CASE("one shot: told once, until MOD arms it again") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLONESHOT, 9);
  connection.remote_sends("a");
  CHECK(set.wait_one() == EPOLLIN);
  connection.remote_sends("b");
  CHECK(set.wait_one(kNotNowMs) == 0);
  set.modify(connection.fd(), EPOLLIN | EPOLLONESHOT, 9);
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(set.wait_one(0) == 0);
}

CONFORMANCE_CASE("one shot: a disarmed member tells of nothing, not even of the end") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLOUT | EPOLLONESHOT);
  CHECK(set.wait_one() == EPOLLOUT);
  connection.remote_resets();
  CHECK(set.wait_one(kNotNowMs) == 0);
}

CONFORMANCE_CASE("exclusive: one of the sets at least hears of it, and MOD is refused") {
  Connection connection(TestType::family);
  Epoll first, second;
  first.add(connection.fd(), EPOLLIN | EPOLLEXCLUSIVE);
  second.add(connection.fd(), EPOLLIN | EPOLLEXCLUSIVE);
  errno = 0;
  CHECK(first.control(EPOLL_CTL_MOD, connection.fd(), EPOLLIN, 0) == -1);
  CHECK(errno == EINVAL);
  Epoll third;
  errno = 0;
  CHECK(third.control(EPOLL_CTL_ADD, connection.fd(), EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT, 0) ==
        -1);
  CHECK(errno == EINVAL);
  connection.remote_sends("x");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  CHECK((first.wait_one(0) | second.wait_one(0)) == EPOLLIN);
}

CONFORMANCE_CASE("exclusive: threads that wait on sets of their own share the work") {
  constexpr int kThreads = 3;
  constexpr int kConnections = 12;
  const Fd listener = listening_socket(TestType::family, 64, SOCK_NONBLOCK);
  std::atomic<int> accepted{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      const int set = epoll_create1(EPOLL_CLOEXEC);
      epoll_event event{};
      event.events = EPOLLIN | EPOLLEXCLUSIVE;
      epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
      while (accepted < kConnections) {
        if (epoll_wait(set, &event, 1, 20) <= 0) continue;
        const int fd = accept(listener, nullptr, nullptr);
        if (fd < 0) continue;
        ++accepted;
        close(fd);
      }
      close(set);
    });
  }
  const Address address = local_address(listener);
  for (int count = 0; count < kConnections; ++count) {
    const Fd client = tcp_socket(TestType::family);
    REQUIRE(connect(client, address.generic(), address.length) == 0);
    char byte;
    CHECK(recv(client, &byte, 1, 0) == 0);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(accepted == kConnections);
}

CONFORMANCE_CASE("threads: an edge or a shot on a shared set wakes one of them") {
  const std::uint32_t once = GENERATE(std::uint32_t{EPOLLET}, std::uint32_t{EPOLLONESHOT});
  constexpr std::uint64_t kStop = 1;
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | once, 0);
  const Fd stop(eventfd(0, EFD_CLOEXEC));
  set.add(stop, EPOLLIN, kStop);
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      epoll_event event{};
      while (epoll_wait(set.fd(), &event, 1, -1) == 1 && event.data.u64 != kStop) ++woken;
    });
  }
  const Outcome sent = connection.peer().send(connection.remote(), "x");
  while (woken == 0) usleep(1'000);
  usleep(kNotNowMs * 1000);
  eventfd_write(stop, 1);
  for (std::thread& thread : threads) thread.join();
  CHECK(sent.error == 0);
  CHECK(woken == 1);
}

CONFORMANCE_CASE("epoll_pwait2: times of nanoseconds, and none") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN);
  epoll_event event{};
  const timespec short_time{0, 1'000};
  CHECK_RETURNS(epoll_pwait2(set.fd(), &event, 1, &short_time, nullptr), 0);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  CHECK(epoll_pwait2(set.fd(), &event, 1, nullptr, nullptr) == 1);
  CHECK(connection.peer().finish().error == 0);
  const timespec negative{0, -1};
  CHECK_FAILS(epoll_pwait2(set.fd(), &event, 1, &negative, nullptr), EINVAL);
}

CONFORMANCE_CASE("epoll_pwait: a mask is in force for the wait only") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN);
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &before);
  sigset_t blocked, mask_before, none;
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);
  raise(SIGUSR1);
  epoll_event event{};
  CHECK(epoll_wait(set.fd(), &event, 1, kNotNowMs) == 0);
  CHECK_FAILS(epoll_pwait(set.fd(), &event, 1, kSoonMs, &none), EINTR);
  raise(SIGUSR1);
  CHECK_FAILS(epoll_pwait2(set.fd(), &event, 1, nullptr, &none), EINTR);
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  sigaction(SIGUSR1, &before, nullptr);
}
