// The library's own descriptors: programs that close all they do not know leave them alive, never
// see them, and can have their numbers; and the library does without where it gets none.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/inline_syscall.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr int kFirst = 3;
constexpr int kUsualLimit = 1024;
constexpr int kSmallLimit = 16;

void set_limit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  EXPECT_EQUAL(setrlimit(static_cast<__rlimit_resource>(resource), &limit), 0);
}

// Sockets work, and a forked child's do, with or without a page.
void expect_working() {
  const auto use = [] {
    const TcpPair pair = tcp_pair();
    tcp_send(pair, 1);
    EXPECT_EQUAL(close(pair.client), 0);
    EXPECT_EQUAL(close(pair.server), 0);
  };
  use();
  run_in_forked_child(&fork, use);
  use();
}

// The page lives through `close_all`, which closes what the program has.
void expect_survival(void (*close_all)(int page_fd)) {
  const TcpPair pair = tcp_pair();
  tcp_send(pair, 1);
  const OwnPage page;
  close_all(page.descriptor());
  EXPECT_EQUAL(fcntl(pair.client, F_GETFD), -1);
  EXPECT_EQUAL(own_page_descriptor(), page.descriptor());
  EXPECT_EQUAL(page.open_sockets(), 0);
  EXPECT_EQUAL(tcp_listen(), kFirst);
  EXPECT_EQUAL(page.open_sockets(), 1);
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 0);
}

}  // namespace

PURITY_CASE(survives_close) {
  expect_survival([](int page_fd) {
    for (int fd = kFirst; fd < kUsualLimit; ++fd) {
      const bool is_open = fcntl(fd, F_GETFD) >= 0;
      errno = 0;
      const int result = close(fd);
      EXPECT_EQUAL(result, is_open && fd != page_fd ? 0 : -1);
      EXPECT_EQUAL(errno, result == 0 ? 0 : EBADF);
    }
  });
}

PURITY_CASE(survives_close_range) {
  expect_survival([](int page_fd) {
    const auto number = static_cast<unsigned int>(page_fd);
    EXPECT_EQUAL(close_range(number, number, 0), 0);
    EXPECT_EQUAL(close_range(kFirst, number, 0), 0);
    EXPECT_EQUAL(close_range(number, ~0U, 0), 0);
    EXPECT_EQUAL(close_range(kFirst, ~0U, CLOSE_RANGE_CLOEXEC), 0);
    EXPECT_EQUAL(close_range(kFirst, ~0U, CLOSE_RANGE_UNSHARE), 0);
  });
}

PURITY_CASE(survives_closefrom) {
  expect_survival([](int) { closefrom(kFirst); });
}

PURITY_CASE(survives_raw_calls) {
  expect_survival([](int page_fd) {
    EXPECT_EQUAL(syscall(SYS_close, page_fd), -1);
    EXPECT_EQUAL(errno, EBADF);
    EXPECT_EQUAL(syscall(SYS_close_range, kFirst, ~0U, 0), 0);
  });
}

PURITY_CASE(closes_the_other_numbers) {
  const TcpPair pair = tcp_pair();
  const int above = fcntl(pair.client, F_DUPFD, own_page_descriptor());
  const int below = fcntl(pair.client, F_DUPFD, own_page_descriptor() - 1);
  EXPECT_EQUAL(above, own_page_descriptor() + 1);
  EXPECT_EQUAL(below, own_page_descriptor() - 1);
  EXPECT_EQUAL(close_range(kFirst, ~0U, 0), 0);
  EXPECT_EQUAL(open_descriptors(), kFirst);
}

PURITY_CASE(gives_its_number_to_dup2) {
  const TcpPair pair = tcp_pair();
  const OwnPage page;
  const int number = page.descriptor();
  EXPECT_EQUAL(dup2(pair.client, number), number);
  tcp_send({number, pair.server}, 3);
  EXPECT_EQUAL(page.row(pair.client)->tx_tcp_bytes.load(), 3);
  const int moved = own_page_descriptor();
  EXPECT(moved >= 0 && moved != number);
  EXPECT_EQUAL(close(moved), -1);
  EXPECT_EQUAL(dup3(pair.client, moved, O_CLOEXEC), moved);
  EXPECT(own_page_descriptor() >= 0 && own_page_descriptor() != moved);
  const int third = own_page_descriptor();
  EXPECT_EQUAL(syscall(SYS_dup2, pair.client, third), third);
  // All numbers are the program's now.
  EXPECT_EQUAL(close(number), 0);
  EXPECT_EQUAL(close(moved), 0);
  EXPECT_EQUAL(close(third), 0);
  EXPECT_EQUAL(page.open_sockets(), 2);
}

PURITY_CASE(stays_when_dup2_fails) {
  const TcpPair pair = tcp_pair();
  const int number = own_page_descriptor();
  const int open_before = open_descriptors();
  errno = 0;
  EXPECT_EQUAL(dup2(-1, number), -1);
  EXPECT_EQUAL(errno, EBADF);
  EXPECT_EQUAL(dup3(pair.client, number, ~0), -1);
  EXPECT_EQUAL(errno, EINVAL);
  EXPECT_EQUAL(open_descriptors(), open_before);
  EXPECT_EQUAL(close_range(kFirst, ~0U, 0), 0);
  EXPECT_EQUAL(open_descriptors(), kFirst);
}

// A program that makes its own system calls closes the page; its next file there is its own.
PURITY_CASE(lost_number_is_the_programs) {
  const TcpPair pair = tcp_pair();
  const int number = own_page_descriptor();
  EXPECT_EQUAL(close_unseen(number), 0);
  EXPECT_EQUAL(fcntl(pair.client, F_DUPFD, number), number);
  EXPECT_EQUAL(close(number), 0);
  expect_working();
}

PURITY_CASE(is_not_inherited_by_exec) {
  static_cast<void>(tcp_listen());
  EXPECT_EQUAL(fcntl(own_page_descriptor(), F_GETFD), FD_CLOEXEC);
}

PURITY_CASE(few_numbers) {
  set_limit(RLIMIT_NOFILE, kSmallLimit);
  expect_working();
  EXPECT(own_page_descriptor() >= 0);
  int last = -1;
  for (int fd = socket(AF_INET, SOCK_STREAM, 0); fd >= 0; fd = socket(AF_INET, SOCK_STREAM, 0)) {
    last = fd;
  }
  EXPECT_EQUAL(errno, EMFILE);
  EXPECT_EQUAL(last, kSmallLimit - 1);
  EXPECT_EQUAL(close_range(kFirst, ~0U, 0), 0);
  expect_working();
}

PURITY_CASE(no_number) {
  // Three for a connection and its listener.
  EXPECT_EQUAL(close_range(kFirst, ~0U, 0), 0);
  set_limit(RLIMIT_NOFILE, kFirst + 3);
  expect_working();
  set_limit(RLIMIT_NOFILE, 0);
  EXPECT_EQUAL(socket(AF_INET, SOCK_STREAM, 0), -1);
  EXPECT_EQUAL(errno, EMFILE);
}

// Growing a file beyond the limit would end the process with SIGXFSZ.
PURITY_CASE(no_file_size) {
  set_limit(RLIMIT_FSIZE, 0);
  expect_working();
  EXPECT_EQUAL(own_page_descriptor(), -1);
}

PURITY_CASE(no_file_size_in_child) {
  static_cast<void>(tcp_listen());
  EXPECT(own_page_descriptor() >= 0);
  set_limit(RLIMIT_FSIZE, 0);
  run_in_forked_child(&fork, [] { EXPECT_EQUAL(own_page_descriptor(), -1); });
  expect_working();
}

}  // namespace rsock::purity
