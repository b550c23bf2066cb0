// pthread_cancel of threads in socket calls.
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/select.h>
#include <sys/uio.h>

#include <thread>

#include "integration/conformance/ends.h"
#include "integration/conformance/epoll_harness.h"
#include "integration/conformance/full_listener.h"

using namespace rsock::conformance;

namespace {

constexpr int kMomentMs = 20;
constexpr std::size_t kMuchMoreThanRoom = 16 * 1024 * 1024;

// Runs `call` in a thread, cancels it after a moment, and tells whether that ended the thread. A
// cancellation that comes before the call is right as well: the call then acts on it.
template <typename Call>
bool is_cancelled(Call call) {
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, nullptr,
              [](void* argument) -> void* {
                (*static_cast<Call*>(argument))();
                return nullptr;
              },
              &call) == 0);
  usleep(kMomentMs * 1000);
  REQUIRE(pthread_cancel(thread) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  return result == PTHREAD_CANCELED;
}

// Runs `call` in a thread that has been cancelled before and has not noticed yet.
template <typename Call>
bool acts_on_pending_cancellation(Call call) {
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, nullptr,
              [](void* argument) -> void* {
                pthread_cancel(pthread_self());
                (*static_cast<Call*>(argument))();
                return nullptr;
              },
              &call) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  return result == PTHREAD_CANCELED;
}

// What cancelled calls work with: it outlives the stacks of their threads.
struct Buffers {
  explicit Buffers(int fd) : entry{fd, POLLIN, 0} {
    FD_ZERO(&readable);
    FD_SET(fd, &readable);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    several.msg_hdr = message;
  }
  char byte = 'x';
  iovec part{&byte, 1};
  msghdr message{};
  mmsghdr several{};
  pollfd entry;
  fd_set readable;
  epoll_event event{};
};

}  // namespace

CONFORMANCE_CASE("cancellation: ends each blocked receive, and the socket is as before") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  Buffers use(fd);
  CHECK(is_cancelled([&] { static_cast<void>(!recv(fd, &use.byte, 1, 0)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!read(fd, &use.byte, 1)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!readv(fd, &use.part, 1)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!recvfrom(fd, &use.byte, 1, 0, nullptr, nullptr)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!recvmsg(fd, &use.message, 0)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!recvmmsg(fd, &use.several, 1, 0, nullptr)); }));
  check_exchange(connection, fd);
}

CONFORMANCE_CASE("cancellation: ends each blocked wait, and the socket is as before") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  Epoll set;
  set.add(fd, EPOLLIN);
  Buffers use(fd);
  CHECK(is_cancelled([&] { static_cast<void>(poll(&use.entry, 1, -1)); }));
  CHECK(is_cancelled([&] { static_cast<void>(ppoll(&use.entry, 1, nullptr, nullptr)); }));
  CHECK(is_cancelled(
      [&] { static_cast<void>(select(fd + 1, &use.readable, nullptr, nullptr, nullptr)); }));
  CHECK(is_cancelled([&] {
    static_cast<void>(pselect(fd + 1, &use.readable, nullptr, nullptr, nullptr, nullptr));
  }));
  CHECK(is_cancelled([&] { static_cast<void>(epoll_wait(set.fd(), &use.event, 1, -1)); }));
  CHECK(
      is_cancelled([&] { static_cast<void>(epoll_pwait(set.fd(), &use.event, 1, -1, nullptr)); }));
  CHECK(is_cancelled(
      [&] { static_cast<void>(epoll_pwait2(set.fd(), &use.event, 1, nullptr, nullptr)); }));
  check_exchange(connection, fd);
  connection.remote_sends("x");
  CHECK(set.wait_one() == EPOLLIN);
}

CONFORMANCE_CASE("cancellation: ends a blocked accept, and the listener serves on") {
  const Fd listener = listening_socket(TestType::family);
  CHECK(is_cancelled([&] { static_cast<void>(accept(listener, nullptr, nullptr)); }));
  CHECK(
      is_cancelled([&] { static_cast<void>(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)); }));
  const Address address = local_address(listener);
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  const Fd served(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(served >= 0);
  check_exchange(client, served);
}

CONFORMANCE_CASE("cancellation: ends a blocked connect") {
  const FullListener full(TestType::family);
  const Fd fd = tcp_socket(TestType::family);
  CHECK(is_cancelled(
      [&] { static_cast<void>(connect(fd, full.address.generic(), full.address.length)); }));
  CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
}

CONFORMANCE_CASE("cancellation: ends each send that waits for room") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  static_cast<void>(fill(fd, 1));
  std::string more(kMuchMoreThanRoom, 'x');
  iovec part{more.data(), more.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  CHECK(is_cancelled([&] { static_cast<void>(!send(fd, more.data(), more.size(), 0)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!write(fd, more.data(), more.size())); }));
  CHECK(is_cancelled([&] { static_cast<void>(!writev(fd, &part, 1)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!sendmsg(fd, &message, 0)); }));
}

CONFORMANCE_CASE("cancellation: what went before a cancelled send arrives") {
  Connection connection(TestType::family);
  const std::uint64_t filled = fill(connection.fd(), 1);
  const std::string more = pattern(1, filled, kMuchMoreThanRoom);
  CHECK(is_cancelled(
      [&] { static_cast<void>(!send(connection.fd(), more.data(), more.size(), 0)); }));
  connection.peer().start_receive_pattern_to_end(connection.remote(), 1);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome got = connection.peer().finish();
  CHECK(got.error == 0);
  CHECK(got.result >= static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("cancellation: a pending one acts before a receive takes anything") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  connection.remote_sends("kept");
  REQUIRE(wait_for(fd, POLLIN) == POLLIN);
  Buffers use(fd);
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!recv(fd, &use.byte, 1, 0)); }));
  CHECK(acts_on_pending_cancellation(
      [&] { static_cast<void>(!recv(fd, &use.byte, 1, MSG_DONTWAIT)); }));
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!read(fd, &use.byte, 1)); }));
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!readv(fd, &use.part, 1)); }));
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!recvmsg(fd, &use.message, 0)); }));
  CHECK(receive_all(fd, 4) == "kept");
}

CONFORMANCE_CASE("cancellation: a pending one acts before a send gives anything") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  Buffers use(fd);
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!send(fd, "x", 1, 0)); }));
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!write(fd, "x", 1)); }));
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!writev(fd, &use.part, 1)); }));
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(!sendmsg(fd, &use.message, 0)); }));
  REQUIRE(shutdown(fd, SHUT_WR) == 0);
  CHECK(connection.remote_receives(1).empty());
}

CONFORMANCE_CASE("cancellation: a pending one acts in waits and accepts that need not wait") {
  const Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  REQUIRE(wait_for(listener, POLLIN) == POLLIN);
  Epoll set;
  set.add(listener, EPOLLIN);
  Buffers use(listener);
  CHECK(acts_on_pending_cancellation([&] { static_cast<void>(poll(&use.entry, 1, 0)); }));
  CHECK(acts_on_pending_cancellation([&] {
    timeval no_time{0, 0};
    static_cast<void>(select(listener + 1, &use.readable, nullptr, nullptr, &no_time));
  }));
  CHECK(acts_on_pending_cancellation(
      [&] { static_cast<void>(epoll_wait(set.fd(), &use.event, 1, 0)); }));
  CHECK(
      acts_on_pending_cancellation([&] { static_cast<void>(accept(listener, nullptr, nullptr)); }));
  const Fd served(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  CHECK(served >= 0);
}

CONFORMANCE_CASE("cancellation: calls that are no cancellation points do their work") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  int error = -1;
  const auto work = [&] {
    int value = 0;
    socklen_t length = sizeof(value);
    error = setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value)) +
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &length) + shutdown(fd, SHUT_WR);
  };
  CHECK_FALSE(acts_on_pending_cancellation(work));
  CHECK(error == 0);
  CHECK(connection.remote_receives(1).empty());
}

CONFORMANCE_CASE("cancellation: waits while it is disabled") {
  Connection connection(TestType::family);
  connection.peer().start_send_later(connection.remote(), "x", 3 * kMomentMs);
  char byte = 0;
  CHECK_FALSE(is_cancelled([&] {
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    static_cast<void>(!recv(connection.fd(), &byte, 1, 0));
  }));
  CHECK(connection.peer().finish().error == 0);
  CHECK(byte == 'x');
}

CONFORMANCE_CASE("cancellation: a clean-up handler may use and close the socket") {
  Connection connection(TestType::family);
  int fd = connection.local().release();
  CHECK(is_cancelled([&] {
    pthread_cleanup_push(
        [](void* argument) {
          const int own = *static_cast<int*>(argument);
          static_cast<void>(!send(own, "bye", 3, MSG_NOSIGNAL));
          close(own);
        },
        &fd);
    char byte;
    static_cast<void>(!recv(fd, &byte, 1, 0));
    pthread_cleanup_pop(0);
  }));
  CHECK(connection.remote_receives(3) == "bye");
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("cancellation: another thread that waits at the socket is left alone") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  std::string got;
  std::thread other([&] {
    char buffer[4];
    const ssize_t count = recv(fd, buffer, sizeof(buffer), MSG_WAITALL);
    got.assign(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
  });
  char byte;
  const bool cancelled = is_cancelled([&] { static_cast<void>(!recv(fd, &byte, 1, 0)); });
  const Outcome sent = connection.peer().send(connection.remote(), "mine");
  other.join();
  CHECK(cancelled);
  CHECK(sent.error == 0);
  CHECK(got == "mine");
}

CONFORMANCE_CASE("cancellation: leaves no descriptor behind, and none that can't be closed") {
  Connection connection(TestType::family);
  const int before = open_descriptors();
  for (int turn = 0; turn < 5; ++turn) {
    LocalPair pair = local_pair(TestType::family);
    char byte;
    CHECK(is_cancelled([&] { static_cast<void>(!recv(pair.server, &byte, 1, 0)); }));
    CHECK_RETURNS(close(pair.server.release()), 0);
    CHECK(receive_all(pair.client, 1).empty());
  }
  CHECK(open_descriptors() == before);
}
