#include "core/os/internal_fds.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "core/config/limits.h"
#include "core/os/inode.h"
#include "tests/death.h"
#include "tests/os/drop_internal_fds.h"
#include "tests/os/failing_call.h"

namespace {

using namespace rsock;
using os::InternalFd;
using testing::FailingCall;
using testing::run_in_child;

int some_fd() { return open("/dev/null", O_RDONLY); }

// Each case keeps a descriptor for good, so it runs in a process of its own.
#define IN_CHILD(...)                            \
  const testing::Death death = run_in_child([] { \
    testing::drop_internal_fds();                \
    __VA_ARGS__                                  \
  });                                            \
  INFO(death.text);                              \
  CHECK(death.signal == 0);                      \
  CHECK(death.exit_code == 0)

#define EXPECT(condition) \
  if (!(condition)) _exit(__LINE__ % 200 + 1)

TEST_CASE("an internal descriptor is numbered high and closed by exec") {
  IN_CHILD({
    const int low = some_fd();
    const int kept = os::keep_internal_fd(InternalFd::stats_page, low);
    EXPECT(kept >= config::kInternalFdFloor);
    EXPECT(fcntl(low, F_GETFD) == -1);
    EXPECT(fcntl(kept, F_GETFD) == FD_CLOEXEC);
    EXPECT(os::internal_fd(InternalFd::stats_page) == kept);
    EXPECT(os::is_internal_fd(kept));
    EXPECT(!os::is_internal_fd(low));
    EXPECT(!os::is_internal_fd(-1));
  });
}

TEST_CASE("the second of two that keep the same descriptor gets the first's") {
  IN_CHILD({
    const int first = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    const int low = some_fd();
    EXPECT(os::keep_internal_fd(InternalFd::stats_page, low) == first);
    EXPECT(fcntl(low, F_GETFD) == -1);
    EXPECT(fcntl(first + 1, F_GETFD) == -1);
  });
}

TEST_CASE("with a small limit the number is still within it") {
  IN_CHILD({
    const rlimit small{16, 16};
    EXPECT(setrlimit(RLIMIT_NOFILE, &small) == 0);
    const int kept = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    EXPECT(kept >= 8 && kept < 16);
  });
}

TEST_CASE("without room there is no internal descriptor and nothing is left open") {
  IN_CHILD({
    const rlimit tiny{5, 5};
    EXPECT(setrlimit(RLIMIT_NOFILE, &tiny) == 0);
    for (int fd = 3; fd < 5; ++fd) close(fd);
    const int blocker = some_fd();
    const int last = some_fd();
    EXPECT(blocker == 3 && last == 4);
    EXPECT(os::keep_internal_fd(InternalFd::stats_page, blocker) < 0);
    EXPECT(fcntl(blocker, F_GETFD) == -1);
    EXPECT(os::internal_fd(InternalFd::stats_page) == -1);
  });
}

TEST_CASE("ranges find the lowest internal descriptor") {
  IN_CHILD({
    const int page = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    const int log = os::keep_internal_fd(InternalFd::log_file, some_fd());
    EXPECT(log > page);
    EXPECT(os::first_internal_fd_in(0, ~0U) == page);
    EXPECT(os::first_internal_fd_in(static_cast<unsigned>(page) + 1, ~0U) == log);
    EXPECT(os::first_internal_fd_in(static_cast<unsigned>(log) + 1, ~0U) == -1);
    EXPECT(os::first_internal_fd_in(0, static_cast<unsigned>(page) - 1) == -1);
  });
}

TEST_CASE("ours moves away when the program takes its number") {
  IN_CHILD({
    const int kept = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    const auto inode = os::inode_of(kept);
    const int spare = os::spare_internal_fd(kept);
    EXPECT(spare >= config::kInternalFdFloor && spare != kept);
    EXPECT(dup2(STDIN_FILENO, kept) == kept);
    os::settle_internal_fd(kept, spare, true);
    EXPECT(os::internal_fd(InternalFd::stats_page) == spare);
    EXPECT(os::inode_of(spare) == inode);
    EXPECT(!os::is_internal_fd(kept));
    EXPECT(os::is_internal_fd(spare));
  });
}

TEST_CASE("ours stays, and nothing is left open, when the program fails to take its number") {
  IN_CHILD({
    const int kept = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    const int spare = os::spare_internal_fd(kept);
    os::settle_internal_fd(kept, spare, false);
    EXPECT(os::internal_fd(InternalFd::stats_page) == kept);
    EXPECT(fcntl(spare, F_GETFD) == -1);
    EXPECT(os::spare_internal_fd(3) == -1);
    os::settle_internal_fd(3, -1, true);
    EXPECT(os::internal_fd(InternalFd::stats_page) == kept);
  });
}

TEST_CASE("where it can't move, it is given up and not confused with the program's") {
  IN_CHILD({
    const int kept = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    const FailingCall<&os::Syscalls::fcntl> failing(1, EMFILE);
    const int spare = os::spare_internal_fd(kept);
    EXPECT(spare == -1);
    EXPECT(dup2(STDIN_FILENO, kept) == kept);
    os::settle_internal_fd(kept, spare, true);
    EXPECT(os::internal_fd(InternalFd::stats_page) == -1);
  });
}

TEST_CASE("dropping closes ours, and nothing that has taken its number") {
  IN_CHILD({
    int kept = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    os::drop_internal_fd(InternalFd::stats_page);
    EXPECT(fcntl(kept, F_GETFD) == -1);
    EXPECT(os::internal_fd(InternalFd::stats_page) == -1);

    kept = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    int pipe_fds[2];
    EXPECT(pipe(pipe_fds) == 0);
    EXPECT(dup2(pipe_fds[0], kept) == kept);  // Behind our back: the real dup2.
    os::drop_internal_fd(InternalFd::stats_page);
    EXPECT(fcntl(kept, F_GETFD) != -1);
  });
}

TEST_CASE("a number that has become the program's own behind our back is its own") {
  IN_CHILD({
    const int kept = os::keep_internal_fd(InternalFd::stats_page, some_fd());
    EXPECT(os::is_internal_fd(kept));
    int pipe_fds[2];
    EXPECT(pipe(pipe_fds) == 0);
    EXPECT(dup2(pipe_fds[0], kept) == kept);
    EXPECT(!os::is_internal_fd(kept));
    EXPECT(os::internal_fd(InternalFd::stats_page) == -1);
  });
}

}  // namespace
