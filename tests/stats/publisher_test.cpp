#include "core/stats/publisher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/config/config.h"
#include "core/os/inode.h"
#include "core/os/internal_fds.h"
#include "tests/death.h"
#include "tests/os/drop_internal_fds.h"
#include "tests/os/failing_call.h"
#include "tests/socket/own_page.h"

namespace {

using namespace rsock;
using os::InternalFd;
using stats::Counter;
using testing::counted;
using testing::FailingCall;
using testing::own_page;
using testing::run_in_child;

// A publisher that has no page yet, in a process where another case may have made one.
stats::Publisher& publisher() {
  static constinit stats::Publisher fresh;
  return fresh;
}

#define EXPECT(condition) \
  if (!(condition)) _exit(__LINE__ % 200 + 1)

#define IN_CHILD(...)                            \
  const testing::Death death = run_in_child([] { \
    testing::drop_internal_fds();                \
    __VA_ARGS__                                  \
  });                                            \
  INFO(death.text);                              \
  CHECK(death.signal == 0);                      \
  CHECK(death.exit_code == 0)

TEST_CASE("the page describes itself and is found by its name") {
  IN_CHILD({
    EXPECT(own_page() == nullptr);
    EXPECT(publisher().row(0) != nullptr);
    const stats::PageHeader* page = own_page();
    EXPECT(page != nullptr && page->magic == stats::kPageMagic);
    EXPECT(std::memcmp(&page->magic, "RSOCKST1", 8) == 0);
    EXPECT(page->version == stats::kPageVersion);
    EXPECT(page->header_bytes == stats::kHeaderBytes);
    EXPECT(page->row_bytes == sizeof(stats::ConnectionRow));
    EXPECT(page->row_capacity == config::kSocketsMax);
    EXPECT(page->counter_count == stats::kCounterCount);
    EXPECT(page->reason_count == stats::kReasonCount);
    EXPECT(page->started_realtime_ns > 0);
    EXPECT(std::string(page->program) == program_invocation_short_name);
    const int fd = os::internal_fd(InternalFd::stats_page);
    EXPECT(page->inode == os::inode_of(fd));
    char link[64];
    char target[64] = {};
    std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    EXPECT(readlink(link, target, sizeof(target) - 1) > 0);
    EXPECT(std::string(target) == "/memfd:rsock-stats (deleted)");
    EXPECT(ftruncate(fd, 0) == -1);  // Nobody can pull it from under us.
  });
}

TEST_CASE("rows keep their place, far ones too, and memory comes only as it is used") {
  IN_CHILD({
    stats::ConnectionRow* first = publisher().row(0);
    stats::ConnectionRow* last = publisher().row(config::kSocketsMax - 1);
    EXPECT(first != nullptr && last != nullptr);
    EXPECT(publisher().row(0) == first);
    EXPECT(publisher().row(config::kSocketsMax - 1) == last);
    last->tx_tcp_bytes.store(42);
    const auto* rows = reinterpret_cast<const stats::ConnectionRow*>(
        reinterpret_cast<const char*>(own_page()) + stats::kHeaderBytes);
    EXPECT(rows[config::kSocketsMax - 1].tx_tcp_bytes.load() == 42);
    struct stat status {};
    fstat(os::internal_fd(InternalFd::stats_page), &status);
    EXPECT(status.st_blocks * 512 <= 64 * 1024);
  });
}

TEST_CASE("rows_used is the high-water mark") {
  IN_CHILD({
    EXPECT(publisher().row(0) != nullptr);
    publisher().note_row_used(5);
    publisher().note_row_used(2);
    EXPECT(own_page()->rows_used.load() == 6);
  });
}

TEST_CASE("threads that open the page at once agree on one") {
  IN_CHILD({
    std::vector<std::thread> threads;
    std::atomic<stats::ConnectionRow*> rows[8]{};
    std::atomic<int> ready{0};
    for (auto& row : rows) {
      threads.emplace_back([&row, &ready] {
        ++ready;
        while (ready != 8) {
        }
        row = publisher().row(3);
        publisher().count(Counter::sockets_tracked);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto& row : rows) EXPECT(row == rows[0] && row != nullptr);
    EXPECT(counted(Counter::sockets_tracked) == 8);
    int pages = 0;
    for (int fd = 3; fd < 1024; ++fd) pages += os::inode_of(fd) == own_page()->inode ? 1 : 0;
    EXPECT(pages == 1);
    EXPECT(os::internal_fd(InternalFd::stats_page) >= 0);
  });
}

TEST_CASE("with RSOCK_STATS=off nobody sees the page, and all else works") {
  IN_CHILD({
    config::Config settings;
    settings.stats = false;
    config::set_config(settings);
    EXPECT(publisher().row(5000) != nullptr);
    publisher().count(Counter::sockets_tracked);
    EXPECT(os::internal_fd(InternalFd::stats_page) == -1);
  });
}

TEST_CASE("a file size limit does not kill the program") {
  IN_CHILD({
    const rlimit none{0, 0};
    EXPECT(setrlimit(RLIMIT_FSIZE, &none) == 0);
    EXPECT(publisher().row(0) != nullptr);
    EXPECT(os::internal_fd(InternalFd::stats_page) == -1);
  });
}

// Makes the n-th call of each function that the page needs fail, for n = 1, 2, ... until the
// call is not reached any more: always there is a row, or none and no crash, and no descriptor is
// left over.
template <auto slot>
void fail_each_call(bool may_be_without_row) {
  for (int nth = 1; nth < 20; ++nth) {
    bool reached = false;
    const testing::Death death = run_in_child([nth, may_be_without_row] {
      testing::drop_internal_fds();
      const int free_before = dup(0);
      close(free_before);
      const FailingCall<slot> failing(nth, ENOSYS);
      const bool has_row = publisher().row(0) != nullptr && publisher().row(2000) != nullptr;
      publisher().count(Counter::sockets_tracked);
      EXPECT(has_row || may_be_without_row);
      const int free_after = dup(0);
      EXPECT(free_after == free_before);
      if (failing.was_reached()) _exit(0);
      _exit(100);
    });
    INFO("call " << nth << " " << death.text);
    REQUIRE(death.signal == 0);
    REQUIRE((death.exit_code == 0 || death.exit_code == 100));
    reached = death.exit_code == 0;
    if (!reached) {
      CHECK(nth > 1);
      return;
    }
  }
  FAIL("never ran untouched");
}

TEST_CASE("any refused system call leaves a page of our own or none") {
  fail_each_call<&os::Syscalls::memfd_create>(false);
  fail_each_call<&os::Syscalls::ftruncate>(false);
  fail_each_call<&os::Syscalls::fcntl>(false);
  fail_each_call<&os::Syscalls::fstat>(false);
  fail_each_call<&os::Syscalls::getrlimit>(false);
  fail_each_call<&os::Syscalls::mmap>(true);
}

TEST_CASE("a forked child has a page of its own with its parent's rows and no counts") {
  IN_CHILD({
    stats::ConnectionRow* row = publisher().row(1);
    stats::ConnectionRow* far = publisher().row(5000);
    row->tx_tcp_bytes.store(11);
    far->tx_tcp_bytes.store(22);
    publisher().note_row_used(5000);
    publisher().count(Counter::sockets_tracked, 3);
    const auto parent_inode = own_page()->inode;
    const pid_t child = fork();
    if (child == 0) {
      publisher().after_fork_in_child();
      EXPECT(publisher().row(1) == row && publisher().row(5000) == far);
      EXPECT(row->tx_tcp_bytes.load() == 11 && far->tx_tcp_bytes.load() == 22);
      EXPECT(own_page()->inode != parent_inode);
      EXPECT(own_page()->rows_used.load() == 5001);
      EXPECT(counted(Counter::sockets_tracked) == 0);
      row->tx_tcp_bytes.store(100);
      far->tx_tcp_bytes.store(100);
      publisher().count(Counter::sockets_tracked, 50);
      EXPECT(counted(Counter::sockets_tracked) == 50);
      publisher().after_fork_in_child();  // Twice does no harm.
      EXPECT(row->tx_tcp_bytes.load() == 100);
      int inherited = 0;
      for (int fd = 3; fd < 1024; ++fd) inherited += os::inode_of(fd) == parent_inode ? 1 : 0;
      EXPECT(inherited == 0);
      _exit(0);
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(row->tx_tcp_bytes.load() == 11 && far->tx_tcp_bytes.load() == 22);
    EXPECT(counted(Counter::sockets_tracked) == 3);
  });
}

TEST_CASE("a forked child without memory or descriptors leaves its parent's page alone") {
  IN_CHILD({
    stats::ConnectionRow* row = publisher().row(1);
    row->tx_tcp_bytes.store(11);
    for (int nth = 1; nth <= 2; ++nth) {
      const pid_t child = fork();
      if (child == 0) {
        const FailingCall<&os::Syscalls::mmap> failing(nth, ENOMEM);
        const FailingCall<&os::Syscalls::memfd_create> no_file(nth, EMFILE);
        publisher().after_fork_in_child();
        stats::ConnectionRow* own = publisher().row(1);
        if (own != nullptr) own->tx_tcp_bytes.store(100);
        publisher().count(Counter::sockets_tracked);
        _exit(0);
      }
      int status = -1;
      EXPECT(waitpid(child, &status, 0) == child && status == 0);
      EXPECT(row->tx_tcp_bytes.load() == 11);
      EXPECT(counted(Counter::sockets_tracked) == 0);
    }
  });
}

}  // namespace
