// poll and its kin.
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>

#include <atomic>
#include <thread>
#include <vector>

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

CONFORMANCE_CASE("poll: without a limit of time it waits for data, or for the end") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  CHECK(wait_for(connection.fd(), POLLIN, -1) == POLLIN);
  CHECK(connection.peer().finish().error == 0);
  CHECK(receive_all(connection.fd(), 1) == "x");
  connection.peer().start_close_later(connection.remote(), 20);
  CHECK(wait_for(connection.fd(), POLLIN, -1) == POLLIN);
  CHECK(connection.peer().finish().error == 0);
  CHECK(receive_all(connection.fd(), 1).empty());
}

CONFORMANCE_CASE("poll: the events of System V") {
  Connection connection(TestType::family);
  constexpr short kSystemV = POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND;
  const short idle = wait_for(connection.fd(), kSystemV);
  CHECK((idle & (POLLWRNORM | POLLRDNORM | POLLRDBAND)) == POLLWRNORM);
  connection.remote_sends("x");
  CHECK(wait_for(connection.fd(), POLLRDNORM) == POLLRDNORM);
  CHECK(wait_for(connection.fd(), POLLRDNORM | POLLIN) == (POLLRDNORM | POLLIN));
}

CONFORMANCE_CASE("poll: of many connections it tells those that have data") {
  constexpr std::size_t kMany = 100;
  constexpr std::size_t kEach = 7;
  std::vector<LocalPair> pairs;
  std::vector<pollfd> entries;
  for (std::size_t index = 0; index < kMany; ++index) {
    pairs.push_back(local_pair(TestType::family));
    entries.push_back({pairs.back().server, POLLIN, 0});
  }
  CHECK_RETURNS(poll(entries.data(), entries.size(), 0), 0);
  for (std::size_t index = 0; index < kMany; index += kEach) {
    send_all(pairs[index].client, "x");
    REQUIRE(wait_for(pairs[index].server, POLLIN) == POLLIN);
  }
  CHECK_RETURNS(poll(entries.data(), entries.size(), -1), 15);
  for (std::size_t index = 0; index < kMany; ++index) {
    CHECK(entries[index].revents == (index % kEach == 0 ? POLLIN : 0));
  }
}

CONFORMANCE_CASE("poll: one descriptor in several entries") {
  Connection connection(TestType::family);
  connection.remote_sends("x");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  pollfd entries[] = {{connection.fd(), POLLIN, 99},
                      {-5, POLLIN, 99},
                      {connection.fd(), POLLOUT, 99},
                      {connection.fd(), POLLPRI, 99}};
  CHECK_RETURNS(poll(entries, 4, -1), 2);
  CHECK(entries[0].revents == POLLIN);
  CHECK(entries[1].revents == 0);
  CHECK(entries[2].revents == POLLOUT);
  CHECK(entries[3].revents == 0);
}

CONFORMANCE_CASE("poll: a closed descriptor among open ones ends the wait") {
  Connection connection(TestType::family);
  int closed = 0;
  {
    const Fd fd = tcp_socket(TestType::family);
    closed = fd;
  }
  pollfd entries[] = {{connection.fd(), POLLIN, 0}, {closed, POLLIN, 0}};
  CHECK_RETURNS(poll(entries, 2, -1), 1);
  CHECK(entries[0].revents == 0);
  CHECK(entries[1].revents == POLLNVAL);
}

CONFORMANCE_CASE("poll: without entries it sleeps, and its limit of time is not changed") {
  CHECK_RETURNS(poll(nullptr, 0, 1), 0);
  const timespec short_time{0, 1'000'000};
  timespec given = short_time;
  CHECK_RETURNS(ppoll(nullptr, 0, &given, nullptr), 0);
  CHECK(given.tv_nsec == short_time.tv_nsec);
}

CONFORMANCE_CASE("poll: more entries than descriptors are allowed is EINVAL") {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  if (limit.rlim_cur > 1'000'000) return;
  std::vector<pollfd> entries(limit.rlim_cur + 1, pollfd{-1, 0, 0});
  CHECK_FAILS(poll(entries.data(), entries.size(), 0), EINVAL);
}

CONFORMANCE_CASE("poll: two threads that wait for one socket are both told") {
  Connection connection(TestType::family);
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      pollfd entry{connection.fd(), POLLIN, 0};
      if (poll(&entry, 1, kSoonMs) == 1 && entry.revents == POLLIN) ++told;
    });
  }
  const Outcome sent = connection.peer().send(connection.remote(), "x");
  for (std::thread& thread : threads) thread.join();
  CHECK(sent.error == 0);
  CHECK(told == 2);
}
