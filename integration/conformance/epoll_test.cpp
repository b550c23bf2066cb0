// epoll, level-triggered, and what a set does with its members.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <csignal>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "integration/conformance/epoll_harness.h"

using namespace rsock::conformance;

CONFORMANCE_CASE("epoll: level-triggered, it tells until all is read") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  Epoll set;
  set.add(connection.fd(), EPOLLIN);
  CHECK(set.wait_one(0) == 0);
  connection.remote_sends("ab");
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(receive_all(connection.fd(), 1) == "a");
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(receive_all(connection.fd(), 1) == "b");
  CHECK(set.wait_one(0) == 0);
}

CONFORMANCE_CASE("epoll: a wait is woken by what comes later") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("epoll: cookies come back as they were given") {
  Connection connection(TestType::family);
  Epoll set;
  for (const std::uint64_t cookie :
       {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0xabcd} << 48, std::uint64_t{960}}) {
    set.add(connection.fd(), EPOLLOUT, cookie);
    const auto events = set.wait();
    REQUIRE(events.size() == 1);
    CHECK(events[0].data.u64 == cookie);
    set.remove(connection.fd());
  }
}

CONFORMANCE_CASE("epoll: the peer's end is EPOLLIN and EPOLLRDHUP") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLRDHUP);
  CHECK(set.wait_one(0) == 0);
  connection.remote_shuts_down_writing();
  CHECK(set.wait_one() == EPOLLRDHUP);
  set.modify(connection.fd(), EPOLLIN | EPOLLRDHUP);
  CHECK(set.wait_one() == (EPOLLIN | EPOLLRDHUP));
}

CONFORMANCE_CASE("epoll: both ends' end is EPOLLHUP, and a reset EPOLLERR, asked or not") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), 0);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  connection.remote_closes();
  CHECK(set.wait_one() == EPOLLHUP);
  Connection other(TestType::family);
  Epoll other_set;
  other_set.add(other.fd(), 0);
  other.remote_resets();
  CHECK((other_set.wait_one() & EPOLLERR) != 0);
}

CONFORMANCE_CASE("epoll: a full socket becomes writable when the peer reads") {
  Connection connection(TestType::family);
  const std::uint64_t filled = fill(connection.fd(), 1);
  Epoll set;
  set.add(connection.fd(), EPOLLOUT);
  CHECK(set.wait_one(0) == 0);
  connection.peer().start_receive(connection.remote(), filled, MSG_WAITALL);
  CHECK(set.wait_one() == EPOLLOUT);
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("epoll: a listener is readable when a connection waits") {
  const Fd listener = listening_socket(TestType::family);
  Epoll set;
  set.add(listener, EPOLLIN);
  CHECK(set.wait_one(0) == 0);
  const Fd client = tcp_socket(TestType::family);
  const Address address = local_address(listener);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  CHECK(set.wait_one() == EPOLLIN);
}

CONFORMANCE_CASE("epoll: removed is removed, and changed is changed") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLOUT, 1);
  set.modify(connection.fd(), EPOLLIN, 2);
  CHECK(set.wait_one(0) == 0);
  connection.remote_sends("x");
  const auto events = set.wait();
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.u64 == 2);
  set.remove(connection.fd());
  CHECK(set.wait_one(kNotNowMs) == 0);
}

CONFORMANCE_CASE("epoll: closing the last descriptor leaves the set, a dup keeps it in") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN, 7);
  Fd copy(dup(connection.fd()));
  connection.local().reset();
  connection.remote_sends("x");
  auto events = set.wait();
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.u64 == 7);
  copy.reset();
  CHECK(set.wait(0).empty());
}

CONFORMANCE_CASE("epoll: a reused number is not the old member") {
  Connection connection(TestType::family);
  Epoll set;
  const int number = connection.fd();
  set.add(number, EPOLLOUT);
  connection.local().reset();
  const Fd successor = tcp_socket(TestType::family);
  REQUIRE(successor == number);
  CHECK(set.wait(0).empty());
  errno = 0;
  CHECK(set.control(EPOLL_CTL_DEL, number, 0, 0) == -1);
  CHECK(errno == ENOENT);
}

CONFORMANCE_CASE("epoll: one socket in several sets") {
  Connection connection(TestType::family);
  Epoll first, second;
  first.add(connection.fd(), EPOLLIN);
  second.add(connection.fd(), EPOLLIN);
  connection.remote_sends("x");
  CHECK(first.wait_one() == EPOLLIN);
  CHECK(second.wait_one() == EPOLLIN);
}

CONFORMANCE_CASE("epoll: a set in a set, and a set in poll and select") {
  Connection connection(TestType::family);
  Epoll inner, outer;
  inner.add(connection.fd(), EPOLLIN);
  outer.add(inner.fd(), EPOLLIN, 5);
  CHECK(outer.wait_one(0) == 0);
  CHECK(wait_for(inner.fd(), POLLIN, 0) == 0);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  const auto events = outer.wait();
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.u64 == 5);
  CHECK(connection.peer().finish().error == 0);
  CHECK(wait_for(outer.fd(), POLLIN) == POLLIN);
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(inner.fd(), &readable);
  timeval no_time{0, 0};
  CHECK(select(inner.fd() + 1, &readable, nullptr, nullptr, &no_time) == 1);
  CHECK(inner.wait_one() == EPOLLIN);
  CHECK(receive_all(connection.fd(), 1) == "x");
  CHECK(outer.wait_one(0) == 0);
}

CONFORMANCE_CASE("epoll: descriptors of other kinds in one set") {
  Connection connection(TestType::family);
  const Fd event(eventfd(1, EFD_CLOEXEC));
  const Fd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec soon{{0, 0}, {0, 1}};
  REQUIRE(timerfd_settime(timer, 0, &soon, nullptr) == 0);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  const Fd signals(signalfd(-1, &mask, SFD_CLOEXEC));
  raise(SIGUSR2);
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  REQUIRE(write(pipe_fds[1], "x", 1) == 1);
  connection.remote_sends("x");
  Epoll set;
  const int members[] = {connection.fd(), event, timer, signals, pipe_fds[0]};
  for (const int fd : members) set.add(fd, EPOLLIN, static_cast<std::uint64_t>(fd));
  std::set<std::uint64_t> seen;
  while (seen.size() < std::size(members)) {
    for (const epoll_event& one : set.wait()) seen.insert(one.data.u64);
  }
  CHECK(seen.count(static_cast<std::uint64_t>(connection.fd())) == 1);
  signalfd_siginfo taken{};
  CHECK(read(signals, &taken, sizeof(taken)) == sizeof(taken));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

CONFORMANCE_CASE("epoll: a small buffer gets each ready member in turn") {
  std::vector<LocalPair> pairs;
  Epoll set;
  for (int count = 0; count < 5; ++count) {
    pairs.push_back(local_pair(TestType::family));
    send_all(pairs.back().client, "x");
    set.add(pairs.back().server, EPOLLIN, static_cast<std::uint64_t>(count));
    REQUIRE(wait_for(pairs.back().server, POLLIN) == POLLIN);
  }
  std::set<std::uint64_t> seen;
  for (int turn = 0; turn < 5; ++turn) {
    for (const epoll_event& one : set.wait(0, 1)) seen.insert(one.data.u64);
  }
  CHECK(seen.size() == 5);
}

CONFORMANCE_CASE("epoll: a member that another thread adds wakes a wait") {
  Connection connection(TestType::family);
  connection.remote_sends("x");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  Epoll set;
  std::thread adder([&] {
    usleep(20'000);
    set.control(EPOLL_CTL_ADD, connection.fd(), EPOLLIN, 3);
  });
  const auto events = set.wait();
  adder.join();
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.u64 == 3);
}

CONFORMANCE_CASE("epoll: many members, each with its cookie") {
  constexpr std::size_t kMany = 100;
  std::vector<LocalPair> pairs;
  Epoll set;
  for (std::size_t index = 0; index < kMany; ++index) {
    pairs.push_back(local_pair(TestType::family));
    set.add(pairs.back().server, EPOLLIN, ~std::uint64_t{index});
  }
  CHECK(set.wait(0).empty());
  for (const LocalPair& pair : pairs) {
    send_all(pair.client, "x");
    REQUIRE(wait_for(pair.server, POLLIN) == POLLIN);
  }
  std::set<std::uint64_t> seen;
  for (const epoll_event& one : set.wait(0, 2 * kMany)) seen.insert(one.data.u64);
  REQUIRE(seen.size() == kMany);
  CHECK(*seen.begin() == ~std::uint64_t{kMany - 1});
  CHECK(*seen.rbegin() == ~std::uint64_t{0});
}

CONFORMANCE_CASE("epoll: without a limit of time it waits for data, or for the end") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLRDHUP);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  CHECK(set.wait_one(-1) == EPOLLIN);
  CHECK(connection.peer().finish().error == 0);
  CHECK(receive_all(connection.fd(), 1) == "x");
  connection.peer().start_close_later(connection.remote(), 20);
  CHECK(set.wait_one(-1) == (EPOLLIN | EPOLLRDHUP));
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("epoll: what another thread changes wakes a wait") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN, 1);
  std::thread changer([&] {
    usleep(20'000);
    set.control(EPOLL_CTL_MOD, connection.fd(), EPOLLIN | EPOLLOUT, 2);
  });
  const auto events = set.wait(-1);
  changer.join();
  REQUIRE(events.size() == 1);
  CHECK(static_cast<std::uint32_t>(events[0].events) == EPOLLOUT);
  CHECK(events[0].data.u64 == 2);
}

CONFORMANCE_CASE("epoll: a member that another thread removes tells a wait of nothing") {
  Connection connection(TestType::family);
  const LocalPair other = local_pair(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN, 1);
  set.add(other.server, EPOLLIN, 2);
  std::vector<epoll_event> events;
  std::thread remover([&] {
    usleep(20'000);
    set.control(EPOLL_CTL_DEL, connection.fd(), 0, 0);
    static_cast<void>(!send(other.client, "x", 1, 0));
  });
  events = set.wait(-1);
  remover.join();
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.u64 == 2);
  connection.remote_sends("x");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  events = set.wait(0);
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.u64 == 2);
}

CONFORMANCE_CASE("epoll: files can't be members, sets can't be in themselves") {
  Epoll first, second;
  const auto fails = [](Epoll& set, int fd, int error) {
    errno = 0;
    CHECK(set.control(EPOLL_CTL_ADD, fd, EPOLLIN, 0) == -1);
    CHECK(errno == error);
  };
  const Fd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  fails(first, file, EPERM);
  first.add(second.fd(), EPOLLIN);
  fails(second, first.fd(), ELOOP);
  // Sets in sets in sets: to a depth of five.
  Epoll chain[6];
  for (int index = 0; index < 5; ++index) {
    CHECK(chain[index].control(EPOLL_CTL_ADD, chain[index + 1].fd(), EPOLLIN, 0) ==
          (index < 4 ? 0 : -1));
  }
}

CONFORMANCE_CASE("epoll: a wrong pointer is EFAULT, and the event stays") {
  Connection connection(TestType::family);
  Epoll set;
  // Not through libc's declarations, by which the compiler refuses such pointers.
  CHECK_FAILS(syscall(SYS_epoll_ctl, set.fd(), EPOLL_CTL_ADD, connection.fd(), 8L), EFAULT);
  set.add(connection.fd(), EPOLLIN | EPOLLET);
  connection.remote_sends("x");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  CHECK_FAILS(syscall(SYS_epoll_wait, set.fd(), 8L, 1L, 0L), EFAULT);
  CHECK(set.wait_one(0) == EPOLLIN);
}

CONFORMANCE_CASE("epoll: wrong arguments") {
  Connection connection(TestType::family);
  Epoll set;
  const int fd = connection.fd();
  const auto fails = [&](int operation, int which, int error) {
    errno = 0;
    CHECK(set.control(operation, which, EPOLLIN, 0) == -1);
    CHECK(errno == error);
  };
  fails(EPOLL_CTL_MOD, fd, ENOENT);
  fails(EPOLL_CTL_DEL, fd, ENOENT);
  set.add(fd, EPOLLIN);
  fails(EPOLL_CTL_ADD, fd, EEXIST);
  fails(EPOLL_CTL_ADD, -1, EBADF);
  fails(EPOLL_CTL_ADD, set.fd(), EINVAL);
  fails(77, fd, EINVAL);
  epoll_event event{};
  CHECK_FAILS(epoll_ctl(fd, EPOLL_CTL_ADD, set.fd(), &event), EINVAL);
  CHECK_FAILS(epoll_wait(set.fd(), &event, 0, 0), EINVAL);
  CHECK_FAILS(epoll_wait(set.fd(), &event, std::numeric_limits<int>::max(), 0), EINVAL);
  CHECK_FAILS(epoll_wait(fd, &event, 1, 0), EINVAL);
  CHECK_FAILS(epoll_wait(-1, &event, 1, 0), EBADF);
  CHECK_FAILS(epoll_create(0), EINVAL);
  CHECK_FAILS(epoll_create1(77), EINVAL);
}
