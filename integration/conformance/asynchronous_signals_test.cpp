// Signals that the kernel sends about a socket: SIGIO and SIGURG.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

// Blocks a signal for the time of a case, so that it waits to be taken.
class Blocked {
 public:
  explicit Blocked(int number) {
    sigemptyset(&signals_);
    sigaddset(&signals_, number);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~Blocked() {
    siginfo_t info{};
    while (take(0, info)) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

  // Whether a signal is there or comes within the time.
  bool take(int timeout_ms, siginfo_t& info) {
    const timespec time{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
    return sigtimedwait(&signals_, &info, &time) > 0;
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

void ask_for_signals(int fd, int number) {
  REQUIRE(fcntl(fd, F_SETOWN, getpid()) == 0);
  REQUIRE(fcntl(fd, F_SETSIG, number) == 0);
  REQUIRE(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) == 0);
}

// Takes signals until one tells of `events` at `fd`.
bool is_told(Blocked& blocked, int fd, int events) {
  siginfo_t info{};
  while (blocked.take(kSoonMs, info)) {
    if (info.si_fd == fd && (info.si_band & events) == events) return true;
  }
  return false;
}

}  // namespace

CONFORMANCE_CASE("asynchronous: SIGIO comes with data") {
  const Role role = GENERATE(Role::client, Role::server);
  Blocked blocked(SIGIO);
  Connection connection(TestType::family, role);
  ask_for_signals(connection.fd(), 0);
  connection.remote_sends("x");
  siginfo_t info{};
  CHECK(blocked.take(kSoonMs, info));
  CHECK(info.si_signo == SIGIO);
  CHECK(receive_all(connection.fd(), 1) == "x");
}

CONFORMANCE_CASE("asynchronous: F_SETSIG tells the descriptor and what happened") {
  Blocked blocked(SIGRTMIN);
  Connection connection(TestType::family);
  ask_for_signals(connection.fd(), SIGRTMIN);
  CHECK_RETURNS(fcntl(connection.fd(), F_GETSIG), SIGRTMIN);
  connection.remote_sends("x");
  CHECK(is_told(blocked, connection.fd(), POLLIN));
}

CONFORMANCE_CASE("asynchronous: the peer's end is told") {
  Blocked blocked(SIGRTMIN);
  Connection connection(TestType::family);
  ask_for_signals(connection.fd(), SIGRTMIN);
  connection.remote_shuts_down_writing();
  CHECK(is_told(blocked, connection.fd(), POLLIN));
  CHECK(receive_all(connection.fd(), 1).empty());
}

CONFORMANCE_CASE("asynchronous: room for sending is told") {
  Blocked blocked(SIGRTMIN);
  Connection connection(TestType::family);
  ask_for_signals(connection.fd(), SIGRTMIN);
  const std::uint64_t filled = fill(connection.fd(), 1);
  siginfo_t info{};
  while (blocked.take(0, info)) {
  }
  // The kernel tells of room only after it has refused something.
  while (send(connection.fd(), "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  REQUIRE(errno == EAGAIN);
  connection.peer().start_receive(connection.remote(), filled, MSG_WAITALL);
  CHECK(is_told(blocked, connection.fd(), POLLOUT));
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("asynchronous: a connection that waits is told to the listener's owner") {
  Blocked blocked(SIGRTMIN);
  const Fd listener = listening_socket(TestType::family);
  ask_for_signals(listener, SIGRTMIN);
  const Address address = local_address(listener);
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  CHECK(is_told(blocked, listener, POLLIN));
}

CONFORMANCE_CASE("asynchronous: SIGURG comes with urgent data") {
  Blocked blocked(SIGURG);
  Connection connection(TestType::family);
  REQUIRE(fcntl(connection.fd(), F_SETOWN, getpid()) == 0);
  REQUIRE(connection.peer().send(connection.remote(), "!", MSG_OOB).result == 1);
  siginfo_t info{};
  CHECK(blocked.take(kSoonMs, info));
  char byte = 0;
  CHECK_RETURNS(recv(connection.fd(), &byte, 1, MSG_OOB), 1);
  CHECK(byte == '!');
}

CONFORMANCE_CASE("asynchronous: FIOASYNC and O_ASYNC are one switch") {
  Connection connection(TestType::family);
  int value = 1;
  CHECK_RETURNS(ioctl(connection.fd(), FIOASYNC, &value), 0);
  CHECK((fcntl(connection.fd(), F_GETFL) & O_ASYNC) != 0);
  value = 0;
  CHECK_RETURNS(ioctl(connection.fd(), FIOASYNC, &value), 0);
  CHECK((fcntl(connection.fd(), F_GETFL) & O_ASYNC) == 0);
}
