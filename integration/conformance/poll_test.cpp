// poll, select and their kin.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/select.h>

#include "integration/conformance/harness.h"
#include "integration/conformance/libc_aliases.h"

using namespace rsock::conformance;

namespace {

constexpr short kAll = POLLIN | POLLOUT | POLLPRI | POLLRDHUP;

void ignore_signal(int) {}

// SIGUSR1 blocked and pending: a wait with a mask that lets it in ends with EINTR at once.
class PendingSignal {
 public:
  PendingSignal() {
    struct sigaction action {};
    action.sa_handler = ignore_signal;
    sigaction(SIGUSR1, &action, &before_);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
    sigemptyset(&open_);
    raise(SIGUSR1);
  }
  ~PendingSignal() {
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    sigaction(SIGUSR1, &before_, nullptr);
  }
  [[nodiscard]] const sigset_t* open() const { return &open_; }

 private:
  struct sigaction before_ {};
  sigset_t mask_before_{};
  sigset_t open_{};
};

}  // namespace

CONFORMANCE_CASE("poll: an idle connection is writable and not readable") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  CHECK(wait_for(connection.fd(), kAll) == POLLOUT);
  CHECK(wait_for(connection.fd(), POLLIN, kNotNowMs) == 0);
}

CONFORMANCE_CASE("poll: data makes it readable until all is read") {
  Connection connection(TestType::family);
  connection.remote_sends("ab");
  CHECK(wait_for(connection.fd(), POLLIN) == POLLIN);
  CHECK(receive_all(connection.fd(), 1) == "a");
  CHECK(wait_for(connection.fd(), POLLIN, 0) == POLLIN);
  CHECK(receive_all(connection.fd(), 1) == "b");
  CHECK(wait_for(connection.fd(), POLLIN, 0) == 0);
}

CONFORMANCE_CASE("poll: a full socket is not writable until the peer reads") {
  Connection connection(TestType::family);
  const std::uint64_t filled = fill(connection.fd(), 1);
  CHECK(wait_for(connection.fd(), POLLOUT, 0) == 0);
  connection.peer().start_receive(connection.remote(), filled, MSG_WAITALL);
  CHECK(wait_for(connection.fd(), POLLOUT) == POLLOUT);
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("poll: the peer's end is POLLIN and POLLRDHUP, not POLLHUP") {
  Connection connection(TestType::family);
  connection.remote_shuts_down_writing();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLRDHUP) != 0);
  CHECK(wait_for(connection.fd(), kAll) == (POLLIN | POLLOUT | POLLRDHUP));
  CHECK(wait_for(connection.fd(), POLLIN) == POLLIN);
}

CONFORMANCE_CASE("poll: both ends' end is POLLHUP, asked or not") {
  Connection connection(TestType::family);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  connection.remote_closes();
  REQUIRE((wait_for(connection.fd(), POLLIN) & POLLHUP) != 0);
  CHECK(wait_for(connection.fd(), 0) == POLLHUP);
}

CONFORMANCE_CASE("poll: a reset is POLLERR and POLLHUP until the error is taken") {
  Connection connection(TestType::family);
  connection.remote_resets();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLERR) != 0);
  const short events = wait_for(connection.fd(), kAll);
  CHECK((events & (POLLERR | POLLHUP | POLLIN | POLLRDHUP)) ==
        (POLLERR | POLLHUP | POLLIN | POLLRDHUP));
  int error = 0;
  socklen_t length = sizeof(error);
  CHECK(getsockopt(connection.fd(), SOL_SOCKET, SO_ERROR, &error, &length) == 0);
  CHECK(error == ECONNRESET);
  CHECK((wait_for(connection.fd(), kAll) & POLLERR) == 0);
}

CONFORMANCE_CASE("poll: urgent data is POLLPRI") {
  Connection connection(TestType::family);
  REQUIRE(connection.peer().send(connection.remote(), "!", MSG_OOB).result == 1);
  CHECK(wait_for(connection.fd(), POLLPRI) == POLLPRI);
}

CONFORMANCE_CASE("poll: sockets that are not connected") {
  const Fd fresh = tcp_socket(TestType::family);
  CHECK(wait_for(fresh, kAll) == (POLLOUT | POLLHUP));
  const Fd listener = listening_socket(TestType::family);
  CHECK(wait_for(listener, kAll, 0) == 0);
}

CONFORMANCE_CASE("poll: closed and negative descriptors") {
  int closed = 0;
  {
    const Fd fd = tcp_socket(TestType::family);
    closed = fd;
  }
  CHECK(wait_for(closed, POLLIN) == POLLNVAL);
  CHECK(wait_for(-1, POLLIN, 0) == 0);
}

CONFORMANCE_CASE("poll: many kinds of descriptors at once") {
  Connection connection(TestType::family);
  const Fd event(eventfd(0, EFD_CLOEXEC));
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  pollfd entries[] = {{connection.fd(), POLLIN, 0}, {event, POLLIN, 0}, {pipe_fds[0], POLLIN, 0}};
  CHECK(poll(entries, 3, 0) == 0);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  CHECK(poll(entries, 3, kSoonMs) == 1);
  CHECK(entries[0].revents == POLLIN);
  CHECK(connection.peer().finish().error == 0);
  REQUIRE(write(pipe_fds[1], "y", 1) == 1);
  REQUIRE(eventfd_write(event, 1) == 0);
  CHECK_RETURNS(poll(entries, 3, kSoonMs), 3);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

CONFORMANCE_CASE("poll: its other names") {
  Connection connection(TestType::family);
  pollfd entry{connection.fd(), POLLOUT, 0};
  const timespec no_time{0, 0};
  CHECK_RETURNS(__poll(&entry, 1, 0), 1);
  CHECK_RETURNS(__poll_chk(&entry, 1, 0, sizeof(entry)), 1);
  CHECK_RETURNS(ppoll(&entry, 1, &no_time, nullptr), 1);
  CHECK_RETURNS(__ppoll_chk(&entry, 1, &no_time, nullptr, sizeof(entry)), 1);
  CHECK(entry.revents == POLLOUT);
}

CONFORMANCE_CASE("poll: a mask is in force for the wait only") {
  Connection connection(TestType::family);
  pollfd entry{connection.fd(), POLLIN, 0};
  {
    const PendingSignal pending;
    CHECK(poll(&entry, 1, kNotNowMs) == 0);
    CHECK_FAILS(ppoll(&entry, 1, nullptr, pending.open()), EINTR);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    CHECK(sigismember(&now, SIGUSR1) == 1);
  }
  const PendingSignal pending;
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(connection.fd(), &readable);
  CHECK_FAILS(pselect(connection.fd() + 1, &readable, nullptr, nullptr, nullptr, pending.open()),
              EINTR);
}

CONFORMANCE_CASE("poll: wrong arguments") {
  CHECK_FAILS(syscall(SYS_poll, 8L, 1L, 0L), EFAULT);
  const timespec negative{0, -1};
  pollfd entry{-1, 0, 0};
  CHECK_FAILS(ppoll(&entry, 1, &negative, nullptr), EINVAL);
}

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
