// A library that the program links: it starts before the library under test and ends after it.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/purity/child.h"
#include "tests/purity/early_late.h"
#include "tests/purity/expect.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

int closed_in_fork_child = -1;

namespace {

constexpr char kText[] = "text";
constexpr ssize_t kTextBytes = sizeof(kText);

void exercise_transfer(int reader, int writer) {
  char buffer[kTextBytes];
  iovec part{buffer, sizeof(buffer)};
  EXPECT_EQUAL(write(writer, kText, kTextBytes), kTextBytes);
  EXPECT_EQUAL(read(reader, buffer, kTextBytes), kTextBytes);
  EXPECT_EQUAL(writev(writer, &part, 1), kTextBytes);
  EXPECT_EQUAL(readv(reader, &part, 1), kTextBytes);
  EXPECT_EQUAL(syscall(SYS_write, writer, kText, kTextBytes), kTextBytes);
  EXPECT_EQUAL(syscall(SYS_read, reader, buffer, kTextBytes), kTextBytes);
  EXPECT_EQUAL(read(-1, buffer, kTextBytes), -1);
  EXPECT_EQUAL(errno, EBADF);
  errno = 0;
  EXPECT_EQUAL(syscall(SYS_read, -1, buffer, kTextBytes), -1);
  EXPECT_EQUAL(errno, EBADF);
}

// A system call with as many arguments as there can be: the last is the offset.
void exercise_six_arguments() {
  constexpr long kBytes = 4096;
  const long memory =
      syscall(SYS_mmap, 0L, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L);
  EXPECT(memory != -1);
  EXPECT_EQUAL(syscall(SYS_munmap, memory, kBytes), 0);
  EXPECT_EQUAL(syscall(SYS_mmap, 0L, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1L, 1L), -1);
  EXPECT_EQUAL(errno, EINVAL);
}

void exercise_waiting(int writer) {
  pollfd waited{writer, POLLOUT, 0};
  EXPECT_EQUAL(poll(&waited, 1, 0), 1);
  EXPECT_EQUAL(ppoll(&waited, 1, nullptr, nullptr), 1);
  fd_set set;
  FD_ZERO(&set);
  FD_SET(writer, &set);
  EXPECT_EQUAL(select(writer + 1, nullptr, &set, nullptr, nullptr), 1);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{EPOLLOUT, {}};
  EXPECT(epoll >= 0);
  EXPECT_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, writer, &event), 0);
  EXPECT_EQUAL(epoll_wait(epoll, &event, 1, 0), 1);
  EXPECT_EQUAL(close(epoll), 0);
}

void exercise_descriptors(int fd) {
  int pending = -1;
  const int shared = dup(fd);
  const int event = eventfd(1, 0);
  const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT(shared >= 0 && event >= 0 && opened >= 0);
  EXPECT_EQUAL(dup2(shared, event), event);
  EXPECT_EQUAL(fcntl(shared, F_GETFD), 0);
  EXPECT_EQUAL(fcntl(opened, F_GETFD), FD_CLOEXEC);
  EXPECT_EQUAL(ioctl(fd, FIONREAD, &pending), 0);
  EXPECT_EQUAL(pending, 0);
  EXPECT_EQUAL(close(shared), 0);
  EXPECT_EQUAL(close(opened), 0);
  const auto number = static_cast<unsigned int>(event);
  EXPECT_EQUAL(close_range(number, number, 0), 0);
  EXPECT_EQUAL(fcntl(event, F_GETFD), -1);
  FILE* stream = fopen("/dev/null", "r");
  EXPECT(stream != nullptr);
  EXPECT_EQUAL(fclose(stream), 0);
}

void exercise_sockets() {
  const TcpPair pair = tcp_pair();
  int type = 0;
  socklen_t length = sizeof(type);
  tcp_send(pair, 1);
  EXPECT_EQUAL(getsockopt(pair.client, SOL_SOCKET, SO_TYPE, &type, &length), 0);
  EXPECT_EQUAL(type, SOCK_STREAM);
  exercise_transfer(pair.server, pair.client);
  exercise_waiting(pair.client);
  exercise_descriptors(pair.client);
  EXPECT_EQUAL(shutdown(pair.client, SHUT_WR), 0);
  EXPECT_EQUAL(close(pair.client), 0);
  EXPECT_EQUAL(close(pair.server), 0);
  int ends[2];
  EXPECT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  exercise_transfer(ends[0], ends[1]);
  EXPECT_EQUAL(close(ends[0]), 0);
  EXPECT_EQUAL(close(ends[1]), 0);
}

void exercise_pipe() {
  int ends[2];
  EXPECT_EQUAL(pipe(ends), 0);
  exercise_transfer(ends[0], ends[1]);
  exercise_waiting(ends[1]);
  exercise_descriptors(ends[0]);
  EXPECT_EQUAL(close(ends[0]), 0);
  EXPECT_EQUAL(close(ends[1]), 0);
}

void leave_mark(Phase phase) {
  const char* variable = getenv(kMarksVariable);
  if (variable == nullptr) return;
  const char letter = static_cast<char>(phase);
  EXPECT_EQUAL(write(std::atoi(variable), &letter, 1), 1);
}

// A phase is early only if it really comes before the library's constructor.
void expect_right_moment(Phase phase) {
  const char* log = getenv(kLogVariable);
  if (log == nullptr) return;
  const bool is_early = phase == Phase::preinit || phase == Phase::constructor;
  EXPECT_EQUAL(access(log, F_OK), is_early ? -1 : 0);
}

}  // namespace

void exercise(Phase phase) {
  expect_right_moment(phase);
  exercise_pipe();
  exercise_sockets();
  exercise_six_arguments();
  run_in_forked_child(&fork, &exercise_sockets);
  run_in_vfork_child(&exercise_pipe);
  leave_mark(phase);
}

namespace {

void close_in_fork_child() {
  if (closed_in_fork_child >= 0) EXPECT_EQUAL(close(closed_in_fork_child), 0);
}

[[gnu::constructor]] void watch_forks() {
  EXPECT_EQUAL(pthread_atfork(nullptr, nullptr, &close_in_fork_child), 0);
}

[[gnu::constructor]] void start() { exercise(Phase::constructor); }
[[gnu::destructor]] void end() { exercise(Phase::destructor); }

}  // namespace

}  // namespace rsock::purity
