// accept() and listeners.
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <atomic>
#include <thread>
#include <vector>

#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

Fd connected_to(const Fd& listener, int family) {
  Fd fd = tcp_socket(family);
  const Address address = local_address(listener);
  REQUIRE(connect(fd, address.generic(), address.length) == 0);
  return fd;
}

int int_option(int fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof(value);
  REQUIRE(getsockopt(fd, level, name, &value, &length) == 0);
  return value;
}

}  // namespace

CONFORMANCE_CASE("accept: the address of the peer comes along") {
  const Fd listener = listening_socket(TestType::family);
  const Fd client = connected_to(listener, TestType::family);
  Address address{};
  address.length = sizeof(address.storage);
  errno = kUntouched;
  const Fd served(accept(listener, address.generic(), &address.length));
  CHECK(errno == kUntouched);
  REQUIRE(served >= 0);
  CHECK(address.length == loopback(TestType::family, 0).length);
  CHECK(port_of(address) == port_of(static_cast<int>(client)));
}

CONFORMANCE_CASE("accept: an address that does not fit is cut, and its length told") {
  const Fd listener = listening_socket(TestType::family);
  const Fd client = connected_to(listener, TestType::family);
  char small[4] = {'-', '-', '-', '-'};
  socklen_t length = 2;
  const Fd served(accept(listener, reinterpret_cast<sockaddr*>(small), &length));
  REQUIRE(served >= 0);
  CHECK(length == loopback(TestType::family, 0).length);
  CHECK(small[2] == '-');
}

CONFORMANCE_CASE("accept: flags of accept4 reach the descriptor, those of the listener do not") {
  const Fd listener = listening_socket(TestType::family, 8, SOCK_NONBLOCK);
  std::vector<Fd> clients;
  for (int count = 0; count < 4; ++count) {
    clients.push_back(connected_to(listener, TestType::family));
  }
  const Fd plain(accept(listener, nullptr, nullptr));
  CHECK((fcntl(plain, F_GETFL) & O_NONBLOCK) == 0);
  CHECK(fcntl(plain, F_GETFD) == 0);
  const Fd none(accept4(listener, nullptr, nullptr, 0));
  CHECK((fcntl(none, F_GETFL) & O_NONBLOCK) == 0);
  CHECK(fcntl(none, F_GETFD) == 0);
  const Fd nonblocking(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
  CHECK((fcntl(nonblocking, F_GETFL) & O_NONBLOCK) != 0);
  CHECK(fcntl(nonblocking, F_GETFD) == 0);
  const Fd closing(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  CHECK((fcntl(closing, F_GETFL) & O_NONBLOCK) == 0);
  CHECK(fcntl(closing, F_GETFD) == FD_CLOEXEC);
}

CONFORMANCE_CASE("accept: wrong arguments and sockets") {
  const Fd listener = listening_socket(TestType::family, 8, SOCK_NONBLOCK);
  CHECK_FAILS(accept(listener, nullptr, nullptr), EAGAIN);
  CHECK_FAILS(accept4(listener, nullptr, nullptr, 0x7fff), EINVAL);
  CHECK_FAILS(accept(-1, nullptr, nullptr), EBADF);
  const Fd fresh = tcp_socket(TestType::family);
  CHECK_FAILS(accept(fresh, nullptr, nullptr), EINVAL);
  const Fd udp(socket(TestType::family, SOCK_DGRAM, 0));
  CHECK_FAILS(accept(udp, nullptr, nullptr), EOPNOTSUPP);
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  CHECK_FAILS(accept(pipe_fds[0], nullptr, nullptr), ENOTSOCK);
  CHECK_FAILS(listen(pipe_fds[0], 1), ENOTSOCK);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  CHECK_FAILS(listen(-1, 1), EBADF);
  CHECK_FAILS(listen(udp, 1), EOPNOTSUPP);
}

CONFORMANCE_CASE("accept: SO_RCVTIMEO ends a wait with EAGAIN") {
  const Fd listener = listening_socket(TestType::family);
  const timeval soon{0, 20'000};
  REQUIRE(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) == 0);
  CHECK_FAILS(accept(listener, nullptr, nullptr), EAGAIN);
}

CONFORMANCE_CASE("accept: options of the listener are the connection's") {
  const Fd listener = listening_socket(TestType::family);
  const int on = 1;
  REQUIRE(setsockopt(listener, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0);
  REQUIRE(setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
  const Fd client = connected_to(listener, TestType::family);
  const Fd served(accept(listener, nullptr, nullptr));
  CHECK(int_option(served, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(int_option(served, IPPROTO_TCP, TCP_NODELAY) == 1);
  CHECK(int_option(served, SOL_SOCKET, SO_ACCEPTCONN) == 0);
  CHECK(int_option(listener, SOL_SOCKET, SO_ACCEPTCONN) == 1);
}

CONFORMANCE_CASE("accept: what was sent before it is there") {
  const Fd listener = listening_socket(TestType::family);
  const Fd client = connected_to(listener, TestType::family);
  send_all(client, "early");
  REQUIRE(shutdown(client, SHUT_WR) == 0);
  const Fd served(accept(listener, nullptr, nullptr));
  CHECK(receive_all(served, 10) == "early");
}

CONFORMANCE_CASE("accept: connections come in order") {
  const Fd listener = listening_socket(TestType::family);
  std::vector<Fd> clients;
  for (int count = 0; count < 5; ++count) {
    clients.push_back(connected_to(listener, TestType::family));
  }
  for (const Fd& client : clients) {
    const Fd served(accept(listener, nullptr, nullptr));
    CHECK(port_of(peer_address(served)) == port_of(static_cast<int>(client)));
  }
}

CONFORMANCE_CASE("accept: a listener is readable while connections wait") {
  const Fd listener = listening_socket(TestType::family);
  CHECK(wait_for(listener, POLLIN, 0) == 0);
  const Fd client = connected_to(listener, TestType::family);
  CHECK(wait_for(listener, POLLIN) == POLLIN);
  const Fd served(accept(listener, nullptr, nullptr));
  CHECK(wait_for(listener, POLLIN, 0) == 0);
}

CONFORMANCE_CASE("accept: shutdown of the listener wakes a blocked accept with EINVAL") {
  const Fd listener = listening_socket(TestType::family);
  std::atomic<int> error{0};
  std::thread acceptor([&] { error = accept(listener, nullptr, nullptr) < 0 ? errno : -1; });
  while (error == 0) {
    usleep(5'000);
    shutdown(listener, SHUT_RDWR);
  }
  acceptor.join();
  CHECK(error == EINVAL);
}

CONFORMANCE_CASE("accept: closing the listener resets what waits in its queue") {
  Fd listener = listening_socket(TestType::family);
  const Fd client = connected_to(listener, TestType::family);
  listener.reset();
  char byte;
  CHECK_FAILS(recv(client, &byte, 1, 0), ECONNRESET);
}

CONFORMANCE_CASE("accept: threads share a listener, each connection once") {
  constexpr int kConnections = 20;
  const Fd listener = listening_socket(TestType::family);
  std::atomic<int> accepted{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (;;) {
        const int fd = accept(listener, nullptr, nullptr);
        if (fd < 0) return;
        ++accepted;
        close(fd);
      }
    });
  }
  for (int count = 0; count < kConnections; ++count) {
    const Fd client = connected_to(listener, TestType::family);
    char byte;
    CHECK(recv(client, &byte, 1, 0) == 0);
  }
  shutdown(listener, SHUT_RDWR);
  for (std::thread& thread : threads) thread.join();
  CHECK(accepted == kConnections);
}

CONFORMANCE_CASE(
    "accept: SO_REUSEPORT lets listeners share a port, and each connection is served") {
  const int on = 1;
  Fd first = tcp_socket(TestType::family);
  REQUIRE(setsockopt(first, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0);
  const Address any = loopback(TestType::family, 0);
  REQUIRE(bind(first, any.generic(), any.length) == 0);
  REQUIRE(listen(first, 16) == 0);
  const Address address = local_address(first);
  Fd second = tcp_socket(TestType::family);
  REQUIRE(setsockopt(second, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0);
  REQUIRE(bind(second, address.generic(), address.length) == 0);
  REQUIRE(listen(second, 16) == 0);
  for (int count = 0; count < 10; ++count) {
    const Fd client = connected_to(first, TestType::family);
    pollfd entries[2] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
    REQUIRE(poll(entries, 2, kSoonMs) >= 1);
    const Fd served(accept(entries[0].revents != 0 ? first : second, nullptr, nullptr));
    send_all(served, "x");
    CHECK(receive_all(client, 1) == "x");
  }
}

CONFORMANCE_CASE("accept: a connection that was reset while it waited is accepted and then tells") {
  const Fd listener = listening_socket(TestType::family);
  {
    const Fd client = connected_to(listener, TestType::family);
    const linger now{1, 0};
    REQUIRE(setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
  }
  const Fd served(accept(listener, nullptr, nullptr));
  REQUIRE(served >= 0);
  char byte;
  CHECK_FAILS(recv(served, &byte, 1, 0), ECONNRESET);
}
