// Descriptor numbers: which are given out, closed, used again, and how many there may be.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include <thread>
#include <vector>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

int lowest_free_number() {
  int fd = 0;
  while (fcntl(fd, F_GETFD) >= 0) ++fd;
  return fd;
}

struct Creator {
  const char* name;
  int (*make)(int family);
};

int first_of_pair(int result, const int* ends) {
  if (result != 0) return -1;
  close(ends[1]);
  return ends[0];
}

// Each gives the lowest number that is free.
const Creator kCreators[] = {
    {"socket", [](int family) { return socket(family, SOCK_STREAM, 0); }},
    {"datagram socket", [](int family) { return socket(family, SOCK_DGRAM, 0); }},
    {"open", [](int) { return open("/dev/null", O_RDWR); }},
    {"openat", [](int) { return openat(AT_FDCWD, "/dev/null", O_RDWR); }},
    {"creat", [](int) { return creat("/dev/null", 0600); }},
    {"dup", [](int) { return dup(STDERR_FILENO); }},
    {"F_DUPFD", [](int) { return fcntl(STDERR_FILENO, F_DUPFD, 0); }},
    {"eventfd", [](int) { return eventfd(0, 0); }},
    {"timerfd", [](int) { return timerfd_create(CLOCK_MONOTONIC, 0); }},
    {"memfd", [](int) { return memfd_create("conformance", 0); }},
    {"epoll", [](int) { return epoll_create1(0); }},
    {"pipe",
     [](int) {
       int ends[2];
       return first_of_pair(pipe(ends), ends);
     }},
    {"socketpair",
     [](int) {
       int ends[2];
       return first_of_pair(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ends);
     }},
};

const Creator& any_creator() {
  return kCreators[GENERATE(range(0, static_cast<int>(std::size(kCreators))))];
}

}  // namespace

CONFORMANCE_CASE("descriptors: a new descriptor has the lowest free number") {
  const Creator& creator = any_creator();
  INFO(creator.name);
  Connection connection(TestType::family);
  const int expected = lowest_free_number();
  const Fd made(creator.make(TestType::family));
  CHECK(made == expected);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("descriptors: the number of a closed connection is given out next") {
  const Creator& creator = any_creator();
  INFO(creator.name);
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  // Whatever is free below is taken first.
  std::vector<Fd> below;
  while (lowest_free_number() < connection.fd()) below.emplace_back(open("/dev/null", O_RDONLY));
  const int number = connection.local().release();
  CHECK_RETURNS(close(number), 0);
  const Fd made(creator.make(TestType::family));
  CHECK(made == number);
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("descriptors: accept and connect work at the number of a closed connection") {
  for (int round = 0; round < 3; ++round) {
    LocalPair pair = local_pair(TestType::family);
    check_exchange(pair.client, pair.server);
    const int number = pair.server;
    pair.server.reset();
    const LocalPair next = local_pair(TestType::family);
    CHECK((next.client == number || next.server == number));
    check_exchange(next.client, next.server);
    CHECK(receive_all(pair.client, 1).empty());
  }
}

CONFORMANCE_CASE("descriptors: a file at the number of a closed connection is read and written") {
  Connection connection(TestType::family);
  const int number = connection.local().release();
  close(number);
  const Fd memory(memfd_create("conformance", MFD_CLOEXEC));
  if (memory != number) REQUIRE(dup2(memory, number) == number);
  CHECK_RETURNS(write(number, "0123456789", 10), 10);
  CHECK_RETURNS(lseek(number, 3, SEEK_SET), 3);
  CHECK_RETURNS(pwrite(number, "x", 1, 4), 1);
  char bytes[10] = {};
  CHECK_RETURNS(read(number, bytes, sizeof(bytes)), 7);
  CHECK(std::string(bytes, 7) == "3x56789");
  CHECK_FAILS(recv(number, bytes, 1, 0), ENOTSOCK);
  if (memory != number) close(number);
}

CONFORMANCE_CASE("descriptors: every call on a closed connection is EBADF") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const int fd = connection.local().release();
  CHECK_RETURNS(close(fd), 0);
  char byte = 0;
  iovec vector{&byte, 1};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  CHECK_FAILS(close(fd), EBADF);
  CHECK_FAILS(read(fd, &byte, 1), EBADF);
  CHECK_FAILS(write(fd, &byte, 1), EBADF);
  CHECK_FAILS(recv(fd, &byte, 1, 0), EBADF);
  CHECK_FAILS(send(fd, &byte, 1, 0), EBADF);
  CHECK_FAILS(readv(fd, &vector, 1), EBADF);
  CHECK_FAILS(writev(fd, &vector, 1), EBADF);
  CHECK_FAILS(recvmsg(fd, &message, 0), EBADF);
  CHECK_FAILS(sendmsg(fd, &message, 0), EBADF);
  CHECK_FAILS(shutdown(fd, SHUT_RDWR), EBADF);
  CHECK_FAILS(dup(fd), EBADF);
  CHECK_FAILS(fcntl(fd, F_GETFL), EBADF);
  CHECK_FAILS(listen(fd, 1), EBADF);
  CHECK_FAILS(accept(fd, nullptr, nullptr), EBADF);
  pollfd entry{fd, POLLIN, 0};
  CHECK_RETURNS(poll(&entry, 1, 0), 1);
  CHECK(entry.revents == POLLNVAL);
}

CONFORMANCE_CASE("descriptors: closing a number that was never open is EBADF") {
  CHECK_FAILS(close(-1), EBADF);
  CHECK_FAILS(close(1 << 30), EBADF);
  CHECK_FAILS(close(lowest_free_number()), EBADF);
}

CONFORMANCE_CASE("descriptors: F_GETFL and F_SETFL show and set the status flags") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const int fd = connection.fd();
  CHECK_RETURNS(fcntl(fd, F_GETFL), O_RDWR);
  CHECK_RETURNS(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
  CHECK_RETURNS(fcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
  char byte = 0;
  CHECK_FAILS(recv(fd, &byte, 1, 0), EAGAIN);
  // The access mode can't be changed.
  CHECK_RETURNS(fcntl(fd, F_SETFL, O_RDONLY), 0);
  CHECK_RETURNS(fcntl(fd, F_GETFL), O_RDWR);
  check_exchange(connection, fd);
  CHECK_FAILS(fcntl(fd, 9999), EINVAL);
}

CONFORMANCE_CASE("descriptors: F_GETFD and F_SETFD are per number") {
  const Fd plain(socket(TestType::family, SOCK_STREAM, 0));
  CHECK_RETURNS(fcntl(plain, F_GETFD), 0);
  CHECK_RETURNS(fcntl(plain, F_SETFD, FD_CLOEXEC), 0);
  CHECK_RETURNS(fcntl(plain, F_GETFD), FD_CLOEXEC);
}

CONFORMANCE_CASE("descriptors: a connection closed in another thread ends for the peer") {
  Connection connection(TestType::family);
  check_exchange(connection, connection.fd());
  const int fd = connection.local().release();
  int result = -1;
  std::thread([&] { result = close(fd); }).join();
  CHECK(result == 0);
  CHECK(remote_sees_end(connection));
  CHECK_FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EBADF);
}

CONFORMANCE_CASE("descriptors: a reader goes on when another thread closes its number") {
  Connection connection(TestType::family);
  const int fd = connection.local().release();
  const int ends_before = lowest_free_number();
  ssize_t got = 0;
  int error = 0;
  std::thread reader([&] {
    char bytes[4];
    got = recv(fd, bytes, sizeof(bytes), 0);
    error = errno;
  });
  // Mostly the reader is blocked by now; then it keeps the stream until it returns.
  CHECK(remote_sees_no_end(connection));
  CHECK(close(fd) == 0);
  static_cast<void>(connection.peer().send(connection.remote(), "data"));
  reader.join();
  if (got < 0) {
    CHECK(error == EBADF);
  } else {
    CHECK(got == 4);
  }
  CHECK(remote_sees_end(connection));
  CHECK(lowest_free_number() == std::min(fd, ends_before));
}

CONFORMANCE_CASE("descriptors: threads open, use and close connections all at once") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  const int before = open_descriptors();
  int worked[kThreads] = {};
  std::vector<std::thread> threads;
  for (int& count : worked) {
    threads.emplace_back([&count] {
      for (int round = 0; round < kRounds; ++round) {
        count += new_sockets_work(TestType::family) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : worked) CHECK(count == kRounds);
  CHECK(open_descriptors() == before);
}

CONFORMANCE_CASE("descriptors: thousands of connections come and go without a trace") {
  constexpr int kRounds = 1000;
  const int before = open_descriptors();
  int worked = 0;
  for (int round = 0; round < kRounds; ++round) {
    worked += new_sockets_work(TestType::family) ? 1 : 0;
  }
  CHECK(worked == kRounds);
  CHECK(open_descriptors() == before);
}

CONFORMANCE_CASE("descriptors: a program that closes 3 to 1023 can make sockets afterwards") {
  Connection connection(TestType::family);
  CHECK(in_child([] {
          for (int fd = 3; fd < 1024; ++fd) close(fd);
          CHILD_CHECK(lowest_free_number() == 3);
          for (int round = 0; round < 5; ++round) {
            CHILD_CHECK(new_sockets_work(TestType::family));
          }
          return 0;
        }) == 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("descriptors: sockets can be put at every number from 3 to 1023") {
  CHECK(in_child([] {
          rlimit limit{};
          CHILD_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
          limit.rlim_cur = limit.rlim_max;
          CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
          const int listener = make_listener(TestType::family);
          const int client = connect_to_port(TestType::family, port_of(listener));
          CHILD_CHECK(dup2(client, 1100) == 1100);
          const int accepted = accept(listener, nullptr, nullptr);
          CHILD_CHECK(dup2(accepted, 1101) == 1101);
          for (int fd = 3; fd < 1024; ++fd) {
            CHILD_CHECK(dup2(1100, fd) == fd);
            CHILD_CHECK(exchange(fd, 1101));
          }
          for (int fd = 3; fd < 1024; ++fd) CHILD_CHECK(close(fd) == 0);
          CHILD_CHECK(exchange(1100, 1101));
          CHILD_CHECK(new_sockets_work(TestType::family));
          return 0;
        }) == 0);
}

CONFORMANCE_CASE("descriptors: at RLIMIT_NOFILE socket and accept are EMFILE, until one closes") {
  CHECK(in_child([] {
          constexpr int kLimit = 60;
          constexpr int kSlack = 3;  // The library may own a few.
          const rlimit limit{kLimit, kLimit};
          CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
          const int listener = make_listener(TestType::family);
          const int client = connect_to_port(TestType::family, port_of(listener));
          CHILD_CHECK(client >= 0);
          int last = -1;
          for (int fd = 0; fd >= 0; fd = socket(TestType::family, SOCK_STREAM, 0)) last = fd;
          CHILD_CHECK(errno == EMFILE);
          CHILD_CHECK(last >= kLimit - kSlack);
          errno = 0;
          CHILD_CHECK(accept(listener, nullptr, nullptr) == -1);
          CHILD_CHECK(errno == EMFILE);
          CHILD_CHECK(dup(client) == -1);
          CHILD_CHECK(errno == EMFILE);
          CHILD_CHECK(close(last) == 0);
          // The connection waited in the queue.
          const int accepted = accept(listener, nullptr, nullptr);
          CHILD_CHECK(accepted == last);
          CHILD_CHECK(exchange(client, accepted));
          return 0;
        }) == 0);
}
