// Several threads at one socket, and blocked calls that the other end or another thread ends.
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/select.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "integration/conformance/ends.h"
#include "integration/conformance/epoll_harness.h"

using namespace rsock::conformance;

namespace {

constexpr std::size_t kThreads = 4;
constexpr std::size_t kBytesEach = 256 * 1024;
constexpr int kMomentMs = 20;

using Counts = std::array<std::size_t, 256>;

void count_bytes(Counts& counts, const char* bytes, std::size_t count) {
  for (std::size_t index = 0; index < count; ++index) {
    ++counts[static_cast<unsigned char>(bytes[index])];
  }
}

// Does something in another thread after a moment, in which this thread gets to its blocking call.
// A test is right whether it got there or not.
class InAMoment {
 public:
  explicit InAMoment(std::function<void()> action)
      : thread_([action = std::move(action)] {
          usleep(kMomentMs * 1000);
          action();
        }) {}
  ~InAMoment() { thread_.join(); }
  InAMoment(const InAMoment&) = delete;
  InAMoment& operator=(const InAMoment&) = delete;

 private:
  std::thread thread_;
};

sigjmp_buf way_out;
std::atomic<bool> may_jump{false};

void jump(int) {
  if (may_jump.exchange(false)) siglongjmp(way_out, 1);
}

// Leaves a blocked call by siglongjmp from a signal handler, as programs with alarms do.
template <typename Call>
void jump_out_of(Call call) {
  const pthread_t caller = pthread_self();
  std::atomic<bool> done{false};
  std::thread signaller([&] {
    while (!done) {
      usleep(kMomentMs * 1000);
      if (!done) pthread_kill(caller, SIGUSR2);
    }
  });
  if (sigsetjmp(way_out, 1) == 0) {
    may_jump = true;
    call();
  }
  may_jump = false;
  done = true;
  signaller.join();
}

}  // namespace

CONFORMANCE_CASE("shared: threads that read one socket get each byte once") {
  const LocalPair pair = local_pair(TestType::family);
  std::vector<std::thread> readers;
  std::array<Counts, kThreads> got{};
  for (std::size_t index = 0; index < kThreads; ++index) {
    readers.emplace_back([&, index] {
      char buffer[1500];
      for (;;) {
        const ssize_t count = recv(pair.server, buffer, sizeof(buffer), 0);
        if (count <= 0) return;
        count_bytes(got[index], buffer, static_cast<std::size_t>(count));
      }
    });
  }
  const std::string data = pattern(1, 0, kThreads * kBytesEach);
  send_all(pair.client, data);
  REQUIRE(shutdown(pair.client, SHUT_WR) == 0);
  for (std::thread& reader : readers) reader.join();
  Counts expected{};
  count_bytes(expected, data.data(), data.size());
  Counts all{};
  for (const Counts& one : got) {
    for (std::size_t value = 0; value < all.size(); ++value) all[value] += one[value];
  }
  CHECK(all == expected);
}

CONFORMANCE_CASE("shared: what threads write to one socket all arrives") {
  const LocalPair pair = local_pair(TestType::family);
  std::vector<std::thread> writers;
  std::atomic<int> failures{0};
  for (std::size_t index = 0; index < kThreads; ++index) {
    writers.emplace_back([&, index] {
      const std::string chunk(1000 + index, static_cast<char>('a' + index));
      for (std::size_t left = kBytesEach; left > 0;) {
        const ssize_t put =
            send(pair.client, chunk.data(), std::min(left, chunk.size()), MSG_NOSIGNAL);
        if (put <= 0) {
          ++failures;
          return;
        }
        left -= static_cast<std::size_t>(put);
      }
    });
  }
  const std::string data = receive_all(pair.server, kThreads * kBytesEach);
  for (std::thread& writer : writers) writer.join();
  CHECK(failures == 0);
  Counts counts{};
  count_bytes(counts, data.data(), data.size());
  for (std::size_t index = 0; index < kThreads; ++index) CHECK(counts['a' + index] == kBytesEach);
}

CONFORMANCE_CASE("shared: a reset ends a blocked receive with ECONNRESET") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  connection.peer().set_linger(connection.remote(), 0);
  connection.peer().start_close_later(connection.remote(), kMomentMs);
  char byte;
  CHECK_FAILS(recv(connection.fd(), &byte, 1, 0), ECONNRESET);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("shared: a reset ends a send that waits for room") {
  Connection connection(TestType::family);
  static_cast<void>(fill(connection.fd(), 1));
  connection.peer().set_linger(connection.remote(), 0);
  connection.peer().start_close_later(connection.remote(), kMomentMs);
  const std::string more(1024 * 1024, 'x');
  ssize_t put = 0;
  do {
    put = send(connection.fd(), more.data(), more.size(), MSG_NOSIGNAL);
  } while (put > 0);
  CHECK(errno == ECONNRESET);
  CHECK(put == -1);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("shared: the death of the peer ends each blocked wait") {
  const int way = GENERATE(0, 1, 2, 3);
  Connection connection(TestType::family);
  const pid_t victim = connection.peer().pid();
  Epoll set;
  set.add(connection.fd(), EPOLLIN | EPOLLRDHUP | EPOLLET);
  static_cast<void>(set.wait(0));
  const InAMoment death([victim] { kill(victim, SIGKILL); });
  char byte;
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(connection.fd(), &readable);
  switch (way) {
    case 0:
      CHECK_RETURNS(recv(connection.fd(), &byte, 1, 0), 0);
      break;
    case 1:
      CHECK(wait_for(connection.fd(), POLLIN | POLLRDHUP) == (POLLIN | POLLRDHUP));
      break;
    case 2:
      CHECK(select(connection.fd() + 1, &readable, nullptr, nullptr, nullptr) == 1);
      break;
    default:
      CHECK(set.wait_one() == (EPOLLIN | EPOLLRDHUP));
  }
}

CONFORMANCE_CASE("shared: shutdown in another thread ends each blocked wait") {
  const int way = GENERATE(0, 1, 2);
  Connection connection(TestType::family);
  const int fd = connection.fd();
  Epoll set;
  set.add(fd, EPOLLIN);
  const InAMoment ending([fd] { shutdown(fd, SHUT_RD); });
  fd_set readable;
  FD_ZERO(&readable);
  FD_SET(fd, &readable);
  switch (way) {
    case 0:
      CHECK(wait_for(fd, POLLIN) == POLLIN);
      break;
    case 1:
      CHECK(select(fd + 1, &readable, nullptr, nullptr, nullptr) == 1);
      break;
    default:
      CHECK(set.wait_one() == EPOLLIN);
  }
}

CONFORMANCE_CASE("shared: a signal handler may jump out of a blocked call") {
  struct sigaction action {
  }, before{};
  action.sa_handler = jump;
  sigaction(SIGUSR2, &action, &before);
  Connection connection(TestType::family);
  const int fd = connection.fd();
  const Fd listener = listening_socket(TestType::family);
  Epoll set;
  set.add(fd, EPOLLIN);
  static char byte;
  static epoll_event event;
  static pollfd entry;
  entry = {fd, POLLIN, 0};
  jump_out_of([&] { static_cast<void>(!recv(fd, &byte, 1, 0)); });
  jump_out_of([&] { static_cast<void>(!read(fd, &byte, 1)); });
  jump_out_of([&] { static_cast<void>(accept(listener, nullptr, nullptr)); });
  jump_out_of([&] { static_cast<void>(poll(&entry, 1, -1)); });
  jump_out_of([&] { static_cast<void>(epoll_wait(set.fd(), &event, 1, -1)); });
  sigaction(SIGUSR2, &before, nullptr);
  check_exchange(connection, fd);
  connection.local().reset();
  CHECK(remote_sees_end(connection));
}
