// Members of epoll sets over time: before they are connected, duplicated, inherited.
#include <poll.h>

#include <vector>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/epoll_harness.h"

using namespace rsock::conformance;

CONFORMANCE_CASE("epoll members: a socket that joins before connect tells when it is connected") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd fd = tcp_socket(TestType::family, SOCK_NONBLOCK);
  Epoll set;
  set.add(fd, EPOLLIN | EPOLLOUT | EPOLLET);
  CHECK(set.wait_one() == (EPOLLOUT | EPOLLHUP));
  static_cast<void>(connect(fd, address.generic(), address.length));
  CHECK(set.wait_one() == EPOLLOUT);
  const Fd served(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  send_all(served, "x");
  CHECK((set.wait_one() & EPOLLIN) != 0);
}

CONFORMANCE_CASE("epoll members: a connect that is refused is EPOLLERR and EPOLLHUP") {
  const Fd holder = tcp_socket(TestType::family);
  const Address any = loopback(TestType::family, 0);
  REQUIRE(bind(holder, any.generic(), any.length) == 0);
  const Address address = local_address(holder);
  const Fd fd = tcp_socket(TestType::family, SOCK_NONBLOCK);
  REQUIRE(connect(fd, address.generic(), address.length) == -1);
  Epoll set;
  set.add(fd, EPOLLOUT);
  CHECK((set.wait_one() & EPOLLHUP) != 0);
  int error = 0;
  socklen_t length = sizeof(error);
  REQUIRE(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0);
  CHECK(error == ECONNREFUSED);
}

CONFORMANCE_CASE("epoll members: a descriptor and its copy are two members") {
  Connection connection(TestType::family);
  const Fd copy(dup(connection.fd()));
  Epoll set;
  set.add(connection.fd(), EPOLLIN, 1);
  set.add(copy, EPOLLIN, 2);
  connection.remote_sends("x");
  const auto events = set.wait();
  REQUIRE(events.size() == 2);
  CHECK(events[0].data.u64 + events[1].data.u64 == 3);
  set.remove(connection.fd());
  const auto left = set.wait();
  REQUIRE(left.size() == 1);
  CHECK(left[0].data.u64 == 2);
}

CONFORMANCE_CASE("epoll members: a copy of the set is the set") {
  Connection connection(TestType::family);
  Epoll set;
  const Fd copy(dup(set.fd()));
  set.add(connection.fd(), EPOLLIN, 4);
  connection.remote_sends("x");
  epoll_event event{};
  REQUIRE(epoll_wait(copy, &event, 1, kSoonMs) == 1);
  CHECK(event.data.u64 == 4);
  CHECK_RETURNS(epoll_ctl(copy, EPOLL_CTL_DEL, connection.fd(), nullptr), 0);
  CHECK(set.wait_one(0) == 0);
}

CONFORMANCE_CASE("epoll members: a forked child waits on the set of its parent") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  Epoll set;
  set.add(connection.fd(), EPOLLIN, 6);
  const pid_t child = start_child([&] {
    epoll_event event{};
    CHILD_CHECK(epoll_wait(set.fd(), &event, 1, kSoonMs) == 1);
    CHILD_CHECK(event.data.u64 == 6);
    CHILD_CHECK(receives(connection.fd(), "to the child"));
    return 0;
  });
  connection.remote_sends("to the child");
  CHECK(wait_for_child(child) == 0);
  connection.remote_sends("x");
  CHECK(set.wait_one() == EPOLLIN);
}

CONFORMANCE_CASE("epoll members: a child that closes its copies takes no member away") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN);
  CHECK(in_child([&] {
          CHILD_CHECK(close(connection.fd()) == 0);
          CHILD_CHECK(close(set.fd()) == 0);
          return 0;
        }) == 0);
  connection.remote_sends("x");
  CHECK(set.wait_one() == EPOLLIN);
}

CONFORMANCE_CASE("epoll members: what is there when a member comes again is told again") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLET, 1);
  connection.remote_sends("x");
  CHECK(set.wait_one() == EPOLLIN);
  CHECK(set.wait_one(0) == 0);
  set.remove(connection.fd());
  set.add(connection.fd(), EPOLLIN | EPOLLET, 2);
  const auto events = set.wait();
  REQUIRE(events.size() == 1);
  CHECK(events[0].data.u64 == 2);
}

CONFORMANCE_CASE("epoll members: an edge-triggered listener tells once of what waits") {
  const Fd listener = listening_socket(TestType::family, 8, SOCK_NONBLOCK);
  const Address address = local_address(listener);
  std::vector<Fd> clients;
  for (int count = 0; count < 2; ++count) {
    clients.push_back(tcp_socket(TestType::family));
    REQUIRE(connect(clients.back(), address.generic(), address.length) == 0);
  }
  Epoll set;
  set.add(listener, EPOLLIN | EPOLLET);
  CHECK(set.wait_one() == EPOLLIN);
  const Fd first(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(first >= 0);
  CHECK(set.wait_one(0) == 0);
  set.modify(listener, EPOLLIN | EPOLLET);
  CHECK(set.wait_one() == EPOLLIN);
  const Fd second(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(second >= 0);
  CHECK_FAILS(accept(listener, nullptr, nullptr), EAGAIN);
}

CONFORMANCE_CASE("epoll members: urgent data is EPOLLPRI") {
  Connection connection(TestType::family);
  Epoll set;
  set.add(connection.fd(), EPOLLPRI);
  CHECK(set.wait_one(0) == 0);
  REQUIRE(connection.peer().send(connection.remote(), "!", MSG_OOB).result == 1);
  CHECK(set.wait_one() == EPOLLPRI);
}

CONFORMANCE_CASE("epoll members: members outlive their set") {
  Connection connection(TestType::family);
  {
    Epoll set;
    set.add(connection.fd(), EPOLLIN | EPOLLOUT | EPOLLET);
    CHECK(set.wait_one() == EPOLLOUT);
  }
  check_exchange(connection, connection.fd());
}
