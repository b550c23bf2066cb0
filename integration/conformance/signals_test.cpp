// Signals and cancellation in calls that block.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/uio.h>

#include <atomic>
#include <thread>

#include "integration/conformance/epoll_harness.h"

using namespace rsock::conformance;

namespace {

volatile sig_atomic_t signals_handled = 0;
std::atomic<int> handler_fd{-1};

void count_signal(int) { signals_handled = signals_handled + 1; }

// Does what handlers do: sends, on a socket that the interrupted code uses too.
void send_from_handler(int) {
  const int saved = errno;
  signals_handled = signals_handled + 1;
  static_cast<void>(!send(handler_fd, "h", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  close(made);
  errno = saved;
}

class Handler {
 public:
  Handler(void (*function)(int), int flags) {
    signals_handled = 0;
    struct sigaction action {};
    action.sa_handler = function;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, &before_);
  }
  ~Handler() { sigaction(SIGUSR1, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

// Signals a thread again and again until its call has returned.
template <typename Call>
long interrupted(Call call, int& error) {
  std::atomic<bool> done{false};
  const pthread_t caller = pthread_self();
  std::thread signaller([&] {
    while (!done) {
      usleep(10'000);
      if (!done) pthread_kill(caller, SIGUSR1);
    }
  });
  errno = 0;
  const long result = call();
  error = errno;
  done = true;
  signaller.join();
  return result;
}

#define CHECK_INTERRUPTED(...)                                                  \
  do {                                                                          \
    int error_of_call = 0;                                                      \
    CHECK(interrupted([&] { return long{__VA_ARGS__}; }, error_of_call) == -1); \
    CHECK(error_of_call == EINTR);                                              \
  } while (false)

// Runs `call` in a thread, cancels it there, and tells whether that ended it.
template <typename Call>
bool is_cancelled(Call call) {
  struct Start {
    Call* call;
  } start{&call};
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, nullptr,
              [](void* argument) -> void* {
                (*static_cast<Start*>(argument)->call)();
                return nullptr;
              },
              &start) == 0);
  usleep(20'000);
  REQUIRE(pthread_cancel(thread) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(thread, &result) == 0);
  return result == PTHREAD_CANCELED;
}

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
  connection.peer().start_send_later(connection.remote(), "x", 100);
  char byte;
  int error = 0;
  CHECK(interrupted([&] { return recv(connection.fd(), &byte, 1, 0); }, error) == 1);
  CHECK(signals_handled >= 1);
  CHECK(connection.peer().finish().error == 0);
  connection.peer().start_send_later(connection.remote(), "x", 100);
  CHECK(interrupted([&] { return read(connection.fd(), &byte, 1); }, error) == 1);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("signals: with SO_RCVTIMEO a wait ends with EINTR, SA_RESTART or not") {
  const Handler handler(&count_signal, SA_RESTART);
  Connection connection(TestType::family);
  const timeval long_time{100, 0};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof(long_time)) == 0);
  char byte;
  CHECK_INTERRUPTED(recv(connection.fd(), &byte, 1, 0));
}

CONFORMANCE_CASE("signals: a wait for room ends with EINTR or with what was sent") {
  const Handler handler(&count_signal, 0);
  Connection connection(TestType::family);
  static_cast<void>(fill(connection.fd(), 1));
  const std::string more(16 * 1024 * 1024, 'x');
  // The peer's kernel may still have made a little room.
  long result = 1;
  int error = 0;
  for (int turn = 0; turn < 100 && result > 0; ++turn) {
    result = interrupted([&] { return send(connection.fd(), more.data(), more.size(), 0); }, error);
  }
  CHECK(result == -1);
  CHECK(error == EINTR);
}

CONFORMANCE_CASE("signals: accept ends with EINTR, or goes on under SA_RESTART") {
  const Fd listener = listening_socket(TestType::family);
  {
    const Handler handler(&count_signal, 0);
    CHECK_INTERRUPTED(accept(listener, nullptr, nullptr));
  }
  const Handler handler(&count_signal, SA_RESTART);
  const Address address = local_address(listener);
  std::thread connector([&] {
    usleep(100'000);
    const int fd = socket(TestType::family, SOCK_STREAM, 0);
    static_cast<void>(connect(fd, address.generic(), address.length));
    usleep(50'000);
    close(fd);
  });
  int error = 0;
  const long served = interrupted([&] { return accept(listener, nullptr, nullptr); }, error);
  connector.join();
  CHECK(served >= 0);
  close(static_cast<int>(served));
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
  connection.peer().start_send_later(connection.remote(), "done", 100);
  char buffer[4];
  int error = 0;
  CHECK(interrupted([&] { return recv(connection.fd(), buffer, 4, MSG_WAITALL); }, error) == 4);
  CHECK(connection.peer().finish().error == 0);
  const int handled = signals_handled;
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  const std::string got = connection.remote_receives(10'000);
  CHECK(handled >= 1);
  CHECK(got == std::string(static_cast<std::size_t>(handled), 'h'));
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

CONFORMANCE_CASE("cancellation: ends blocked calls, and the socket is as before") {
  Connection connection(TestType::family);
  const int fd = connection.fd();
  const Fd listener = listening_socket(TestType::family);
  Epoll set;
  set.add(fd, EPOLLIN);
  static char byte;
  static epoll_event event;
  static pollfd entry;
  entry = {fd, POLLIN, 0};
  CHECK(is_cancelled([&] { static_cast<void>(!recv(fd, &byte, 1, 0)); }));
  CHECK(is_cancelled([&] { static_cast<void>(!read(fd, &byte, 1)); }));
  CHECK(is_cancelled([&] { static_cast<void>(accept(listener, nullptr, nullptr)); }));
  CHECK(is_cancelled([&] { static_cast<void>(poll(&entry, 1, -1)); }));
  CHECK(is_cancelled([&] { static_cast<void>(epoll_wait(set.fd(), &event, 1, -1)); }));
  CHECK(is_cancelled([&] {
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    static_cast<void>(!recvmsg(fd, &message, 0));
  }));
  send_all(fd, "still");
  CHECK(connection.remote_receives(5) == "still");
  connection.remote_sends("here");
  CHECK(receive_all(fd, 4) == "here");
}

CONFORMANCE_CASE("cancellation: ends a send that waits for room") {
  Connection connection(TestType::family);
  static_cast<void>(fill(connection.fd(), 1));
  static const std::string more(16 * 1024 * 1024, 'x');
  CHECK(is_cancelled(
      [&] { static_cast<void>(!send(connection.fd(), more.data(), more.size(), MSG_NOSIGNAL)); }));
}

CONFORMANCE_CASE("cancellation: waits while it is disabled") {
  Connection connection(TestType::family);
  connection.peer().start_send_later(connection.remote(), "x", 60);
  static char byte;
  CHECK_FALSE(is_cancelled([&] {
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    static_cast<void>(!recv(connection.fd(), &byte, 1, 0));
  }));
  CHECK(connection.peer().finish().error == 0);
  CHECK(byte == 'x');
}
