// Signals in calls that block.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/uio.h>

#include <atomic>
#include <thread>

#include "integration/conformance/epoll_harness.h"
#include "integration/conformance/full_listener.h"

using namespace rsock::conformance;

namespace {

constexpr int kSignalGapUs = 10'000;
// Signals that a restarted call is to survive before it gets what it waits for.
constexpr int kSignalsToSurvive = 3;
constexpr std::size_t kMuchMoreThanRoom = 16 * 1024 * 1024;

std::atomic<int> signals_handled{0};
std::atomic<int> handler_fd{-1};
std::atomic<int> handler_count{0};

void count_signal(int) { ++signals_handled; }

// Does what handlers do: sends, on a socket that the interrupted code uses too.
void send_from_handler(int) {
  const int saved = errno;
  ++signals_handled;
  static_cast<void>(!send(handler_fd, "h", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  close(made);
  errno = saved;
}

// Asks and waits for the answer, on the socket that the interrupted code receives from.
void converse_in_handler(int) {
  const int saved = errno;
  char byte = 0;
  if (handler_count < kSignalsToSurvive && send(handler_fd, "q", 1, MSG_NOSIGNAL) == 1 &&
      recv(handler_fd, &byte, 1, 0) == 1 && byte == 'q') {
    ++handler_count;
  }
  ++signals_handled;
  errno = saved;
}

void close_from_handler(int) {
  const int saved = errno;
  const int fd = handler_fd.exchange(-1);
  if (fd >= 0) close(fd);
  ++signals_handled;
  errno = saved;
}

class Handler {
 public:
  Handler(void (*function)(int), int flags) {
    signals_handled = 0;
    handler_count = 0;
    struct sigaction action {};
    action.sa_handler = function;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, &before_);
  }
  ~Handler() { sigaction(SIGUSR1, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

// Signals this thread again and again until its call has returned. When some signals have been
// handled, the signalling thread does `then`: what makes a call return that goes on.
template <typename Call, typename Then>
long restarted(Call call, Then then, int& error) {
  std::atomic<bool> done{false};
  const pthread_t caller = pthread_self();
  std::thread signaller([&] {
    for (bool acted = false; !done || !acted;) {
      usleep(kSignalGapUs);
      if (!done) pthread_kill(caller, SIGUSR1);
      if (acted || (!done && signals_handled < kSignalsToSurvive)) continue;
      then();
      acted = true;
    }
  });
  errno = 0;
  const long result = call();
  error = errno;
  done = true;
  signaller.join();
  return result;
}

template <typename Call>
long interrupted(Call call, int& error) {
  return restarted(
      call, [] {}, error);
}

#define CHECK_INTERRUPTED(...)                                                  \
  do {                                                                          \
    int error_of_call = 0;                                                      \
    CHECK(interrupted([&] { return long{__VA_ARGS__}; }, error_of_call) == -1); \
    CHECK(error_of_call == EINTR);                                              \
  } while (false)

}  // namespace

CONFORMANCE_CASE("signals: without SA_RESTART a wait for data ends with EINTR") {
  const Handler handler(&count_signal, 0);
  Connection connection(TestType::family);
  const int fd = connection.fd();
  char byte;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  CHECK_INTERRUPTED(recv(fd, &byte, 1, 0));
  CHECK_INTERRUPTED(read(fd, &byte, 1));
  CHECK_INTERRUPTED(readv(fd, &part, 1));
  CHECK_INTERRUPTED(recvfrom(fd, &byte, 1, 0, nullptr, nullptr));
  CHECK_INTERRUPTED(recvmsg(fd, &message, 0));
  CHECK(signals_handled >= 5);
  connection.remote_sends("x");
  CHECK(receive_all(fd, 1) == "x");
}

CONFORMANCE_CASE("signals: with SA_RESTART a wait for data goes on") {
  const Handler handler(&count_signal, SA_RESTART);
  Connection connection(TestType::family);
  const int fd = connection.fd();
  char byte = 0;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const auto goes_on = [&](auto call) {
    signals_handled = 0;
    byte = 0;
    int error = 0;
    CHECK(restarted(
              call, [&] { connection.peer().start_send(connection.remote(), "x"); }, error) == 1);
    CHECK(connection.peer().finish().error == 0);
    CHECK(signals_handled >= kSignalsToSurvive);
    CHECK(byte == 'x');
  };
  goes_on([&] { return recv(fd, &byte, 1, 0); });
  goes_on([&] { return read(fd, &byte, 1); });
  goes_on([&] { return readv(fd, &part, 1); });
  goes_on([&] { return recvfrom(fd, &byte, 1, 0, nullptr, nullptr); });
  goes_on([&] { return recvmsg(fd, &message, 0); });
}

CONFORMANCE_CASE("signals: with SO_RCVTIMEO a wait ends with EINTR, SA_RESTART or not") {
  const Handler handler(&count_signal, SA_RESTART);
  Connection connection(TestType::family);
  const timeval long_time{100, 0};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof(long_time)) == 0);
  char byte;
  CHECK_INTERRUPTED(recv(connection.fd(), &byte, 1, 0));
  const Fd listener = listening_socket(TestType::family);
  REQUIRE(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof(long_time)) == 0);
  CHECK_INTERRUPTED(accept(listener, nullptr, nullptr));
}

CONFORMANCE_CASE("signals: a wait for room ends with EINTR or with what was sent") {
  const bool with_limit = GENERATE(false, true);
  // A limit of time makes it end so even under SA_RESTART.
  const Handler handler(&count_signal, with_limit ? SA_RESTART : 0);
  Connection connection(TestType::family);
  const int fd = connection.fd();
  const timeval long_time{100, 0};
  if (with_limit) {
    REQUIRE(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &long_time, sizeof(long_time)) == 0);
  }
  static_cast<void>(fill(fd, 1));
  std::string more(kMuchMoreThanRoom, 'x');
  iovec part{more.data(), more.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const auto ends = [&](auto call) {
    // The peer's kernel may still have made a little room.
    long result = 1;
    int error = 0;
    for (int turn = 0; turn < 100 && result > 0; ++turn) result = interrupted(call, error);
    CHECK(result == -1);
    CHECK(error == EINTR);
  };
  ends([&] { return send(fd, more.data(), more.size(), 0); });
  ends([&] { return write(fd, more.data(), more.size()); });
  ends([&] { return writev(fd, &part, 1); });
  ends([&] { return sendmsg(fd, &message, 0); });
}

CONFORMANCE_CASE("signals: with SA_RESTART a wait for room goes on, and every byte arrives once") {
  const Handler handler(&count_signal, SA_RESTART);
  Connection connection(TestType::family);
  const int fd = connection.fd();
  const std::uint64_t filled = fill(fd, 5);
  const std::string more = pattern(5, filled, 1'000'000);
  std::uint64_t sent = filled;
  const auto send_the_rest = [&] {
    // A signal that comes after some bytes ends a call with their number.
    while (sent < filled + more.size()) {
      const std::string_view rest = std::string_view(more).substr(sent - filled);
      const ssize_t put = send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (put <= 0) return -1L;
      sent += static_cast<std::uint64_t>(put);
    }
    return 0L;
  };
  int error = 0;
  CHECK(restarted(
            send_the_rest,
            [&] { connection.peer().start_receive_pattern_to_end(connection.remote(), 5); },
            error) == 0);
  REQUIRE(shutdown(fd, SHUT_WR) == 0);
  const Outcome got = connection.peer().finish();
  CHECK(signals_handled >= kSignalsToSurvive);
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(filled + more.size()));
}

CONFORMANCE_CASE("signals: connect ends with EINTR, and the connection comes all the same") {
  const Handler handler(&count_signal, 0);
  FullListener full(TestType::family);
  const Fd fd = tcp_socket(TestType::family);
  CHECK_INTERRUPTED(connect(fd, full.address.generic(), full.address.length));
  set_nonblocking(fd);
  CHECK_FAILS(connect(fd, full.address.generic(), full.address.length), EALREADY);
  // Room in the queue: the kernel tries again by itself.
  full.waiting.clear();
  set_nonblocking(full.listener);
  for (int waited = 0; waited < kSoonMs && wait_for(fd, POLLOUT, kNotNowMs) == 0;) {
    waited += kNotNowMs;
    const Fd served(accept4(full.listener, nullptr, nullptr, SOCK_CLOEXEC));
  }
  CHECK((wait_for(fd, POLLOUT, 0) & (POLLOUT | POLLERR)) == POLLOUT);
  CHECK(port_of(peer_address(fd)) == port_of(full.address));
}

CONFORMANCE_CASE("signals: accept ends with EINTR, or goes on under SA_RESTART") {
  const Fd listener = listening_socket(TestType::family);
  {
    const Handler handler(&count_signal, 0);
    CHECK_INTERRUPTED(accept(listener, nullptr, nullptr));
    CHECK_INTERRUPTED(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  }
  const Handler handler(&count_signal, SA_RESTART);
  const Address address = local_address(listener);
  const Fd client = tcp_socket(TestType::family, SOCK_NONBLOCK);
  int error = 0;
  const Fd served(static_cast<int>(restarted(
      [&] { return accept(listener, nullptr, nullptr); },
      [&] { static_cast<void>(connect(client, address.generic(), address.length)); }, error)));
  CHECK(served >= 0);
  CHECK(signals_handled >= kSignalsToSurvive);
}

CONFORMANCE_CASE("signals: poll, select and epoll_wait end with EINTR, SA_RESTART or not") {
  const Handler handler(&count_signal, SA_RESTART);
  Connection connection(TestType::family);
  pollfd entry{connection.fd(), POLLIN, 0};
  CHECK_INTERRUPTED(poll(&entry, 1, -1));
  CHECK_INTERRUPTED(ppoll(&entry, 1, nullptr, nullptr));
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(connection.fd(), &readable);
  CHECK_INTERRUPTED(select(connection.fd() + 1, &readable, nullptr, nullptr, nullptr));
  FD_SET(connection.fd(), &readable);
  CHECK_INTERRUPTED(pselect(connection.fd() + 1, &readable, nullptr, nullptr, nullptr, nullptr));
  Epoll set;
  set.add(connection.fd(), EPOLLIN);
  epoll_event event{};
  CHECK_INTERRUPTED(epoll_wait(set.fd(), &event, 1, -1));
  CHECK_INTERRUPTED(epoll_pwait(set.fd(), &event, 1, -1, nullptr));
  CHECK_INTERRUPTED(epoll_pwait2(set.fd(), &event, 1, nullptr, nullptr));
}

CONFORMANCE_CASE("signals: MSG_WAITALL gives what it has when a signal comes") {
  const Handler handler(&count_signal, 0);
  Connection connection(TestType::family);
  connection.remote_sends("ab");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  char buffer[8];
  int error = 0;
  CHECK(interrupted([&] { return recv(connection.fd(), buffer, 8, MSG_WAITALL); }, error) == 2);
}

CONFORMANCE_CASE("signals: a handler may send on the socket that the main code waits on") {
  const Handler handler(&send_from_handler, SA_RESTART);
  Connection connection(TestType::family);
  handler_fd = connection.fd();
  char byte;
  int error = 0;
  CHECK(restarted([&] { return recv(connection.fd(), &byte, 1, 0); },
                  [&] { connection.peer().start_send(connection.remote(), "x"); }, error) == 1);
  CHECK(connection.peer().finish().error == 0);
  const int handled = signals_handled;
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  const std::string got = connection.remote_receives(10'000);
  CHECK(handled >= kSignalsToSurvive);
  CHECK(got == std::string(static_cast<std::size_t>(handled), 'h'));
}

CONFORMANCE_CASE("signals: a handler may receive from the socket that the main code waits on") {
  const Handler handler(&converse_in_handler, SA_RESTART);
  Connection connection(TestType::family);
  handler_fd = connection.fd();
  connection.peer().start_echo(connection.remote(), kSignalsToSurvive);
  char byte = 0;
  int error = 0;
  Outcome echoed{};
  CHECK(restarted([&] { return recv(connection.fd(), &byte, 1, 0); },
                  [&] {
                    echoed = connection.peer().finish();
                    connection.peer().start_send(connection.remote(), "x");
                  },
                  error) == 1);
  CHECK(connection.peer().finish().error == 0);
  CHECK(echoed.result == kSignalsToSurvive);
  CHECK(handler_count == kSignalsToSurvive);
  CHECK(byte == 'x');
}

CONFORMANCE_CASE("signals: a handler may close a connection while the main code waits on another") {
  const Handler handler(&close_from_handler, SA_RESTART);
  Connection connection(TestType::family);
  LocalPair other = local_pair(TestType::family);
  handler_fd = other.client.release();
  char byte;
  int error = 0;
  CHECK(restarted([&] { return recv(connection.fd(), &byte, 1, 0); },
                  [&] { connection.peer().start_send(connection.remote(), "x"); }, error) == 1);
  CHECK(connection.peer().finish().error == 0);
  CHECK(byte == 'x');
  CHECK(receive_all(other.server, 1).empty());
}

CONFORMANCE_CASE("signals: a handler that sends amid sends loses and repeats nothing") {
  const Handler handler(&send_from_handler, SA_RESTART);
  Connection connection(TestType::family);
  const LocalPair other = local_pair(TestType::family);
  handler_fd = other.client;
  constexpr std::uint64_t kBytes = 3'000'000;
  connection.peer().start_receive_pattern_to_end(connection.remote(), 6);
  int error = 0;
  interrupted(
      [&] {
        for (std::uint64_t sent = 0; sent < kBytes; sent += 1000) {
          send_all(connection.fd(), pattern(6, sent, 1000));
        }
        return 0L;
      },
      error);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome got = connection.peer().finish();
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(kBytes));
}
