// Other ways to make a process, and what it may do with the parent's sockets.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstdlib>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

extern "C" pid_t __fork() noexcept;
extern "C" pid_t __libc_fork() noexcept;

using namespace rsock::conformance;

namespace {

struct Forker {
  const char* name;
  pid_t (*make)();
};

const Forker kForkers[] = {
    {"fork", [] { return fork(); }},
    {"__fork", [] { return __fork(); }},
    {"__libc_fork", [] { return __libc_fork(); }},
    {"_Fork", [] { return _Fork(); }},
    {"SYS_fork", [] { return static_cast<pid_t>(syscall(SYS_fork)); }},
    {"SYS_clone", [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }},
};

const Forker& any_forker() {
  return kForkers[GENERATE(range(0, static_cast<int>(std::size(kForkers))))];
}

// What children of clone() and vfork() do with the parent's connection `fd`: they use it and
// wreck their own numbers.
int use_and_close(int fd, int other) {
  CHILD_CHECK(sends(fd, "child"));
  CHILD_CHECK(dup2(other, fd) == fd);
  CHILD_CHECK(close(fd) == 0);
  CHILD_CHECK(close(other) == 0);
  const int fresh = open("/dev/null", O_RDWR);
  CHILD_CHECK(fresh >= 0);
  CHILD_CHECK(write(fresh, "x", 1) == 1);
  return 0;
}

struct Arguments {
  int fd;
  int other;
};

int run_cloned(void* opaque) {
  const auto* arguments = static_cast<const Arguments*>(opaque);
  return use_and_close(arguments->fd, arguments->other);
}

constexpr std::size_t kStackBytes = 256 * 1024;
alignas(16) char child_stack[kStackBytes];

int run_by_clone(int flags, int fd, int other) {
  Arguments arguments{fd, other};
  const pid_t child = clone(run_cloned, child_stack + kStackBytes, flags | SIGCHLD, &arguments);
  return child < 0 ? -1 : wait_for_child(child);
}

[[gnu::noinline]] int run_by_vfork(int fd, int other) {
  const pid_t child = vfork();
  if (child == 0) _exit(use_and_close(fd, other));
  return child < 0 ? -1 : wait_for_child(child);
}

// As a shell starts a command: socket at 0 and 1, all others closed.
[[gnu::noinline]] int run_cat_by_vfork(int fd) {
  const pid_t child = vfork();
  if (child == 0) {
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    for (int number = 3; number < 256; ++number) close(number);
    execl("/bin/cat", "cat", nullptr);
    _exit(127);
  }
  return child < 0 ? -1 : wait_for_child(child);
}

[[gnu::noinline]] int run_nothing_by_vfork() {
  const pid_t child = vfork();
  if (child == 0) {
    execl("/nonexistent/program", "program", nullptr);
    _exit(errno == ENOENT ? 55 : 1);
  }
  return child < 0 ? -1 : wait_for_child(child);
}

}  // namespace

CONFORMANCE_CASE("processes: every way to fork gives a child that shares the connection") {
  const Forker& forker = any_forker();
  INFO(forker.name);
  Connection connection(TestType::family);
  connection.remote_sends("abcd");
  const pid_t child = forker.make();
  if (child == 0) {
    alarm(kChildSeconds);
    _exit(receives(connection.fd(), "ab") && sends(connection.fd(), "ok") ? 0 : 1);
  }
  REQUIRE(child > 0);
  CHECK(wait_for_child(child) == 0);
  CHECK(receive_all(connection.fd(), 2) == "cd");
  CHECK(connection.remote_receives(2) == "ok");
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("processes: every way to fork gives a child whose new sockets work") {
  const Forker& forker = any_forker();
  INFO(forker.name);
  Connection connection(TestType::family);
  const pid_t child = forker.make();
  if (child == 0) {
    alarm(kChildSeconds);
    close(connection.fd());
    _exit(new_sockets_work(TestType::family) && new_sockets_work(TestType::family) ? 0 : 1);
  }
  REQUIRE(child > 0);
  CHECK(wait_for_child(child) == 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("processes: a clone with its own memory leaves the parent's sockets alone") {
  Connection connection(TestType::family);
  Connection other(TestType::family);
  CHECK(run_by_clone(0, connection.fd(), other.fd()) == 0);
  CHECK(connection.remote_receives(5) == "child");
  check_exchange(connection, connection.fd());
  check_exchange(other, other.fd());
}

CONFORMANCE_CASE("processes: a clone in the parent's memory leaves the parent's sockets alone") {
  Connection connection(TestType::family);
  Connection other(TestType::family);
  CHECK(run_by_clone(CLONE_VM | CLONE_VFORK, connection.fd(), other.fd()) == 0);
  CHECK(connection.remote_receives(5) == "child");
  check_exchange(connection, connection.fd());
  check_exchange(other, other.fd());
}

CONFORMANCE_CASE(
    "processes: a vfork child that closes and exits leaves the parent's sockets alone") {
  Connection connection(TestType::family);
  Connection other(TestType::family);
  for (int round = 0; round < 3; ++round) {
    CHECK(run_by_vfork(connection.fd(), other.fd()) == 0);
    CHECK(connection.remote_receives(5) == "child");
    check_exchange(connection, connection.fd());
    check_exchange(other, other.fd());
  }
  connection.local().reset();
  CHECK(remote_sees_end(connection));
  check_exchange(other, other.fd());
}

CONFORMANCE_CASE("processes: a vfork child executes cat on the connection") {
  Connection connection(TestType::family);
  connection.remote_sends("through the cat");
  connection.remote_shuts_down_writing();
  CHECK(run_cat_by_vfork(connection.fd()) == 0);
  CHECK(connection.remote_receives(15) == "through the cat");
  CHECK(remote_sees_no_end(connection));
  send_all(connection.fd(), "after");
  CHECK(connection.remote_receives(5) == "after");
}

CONFORMANCE_CASE("processes: a vfork child whose exec fails leaves the parent's sockets alone") {
  Connection connection(TestType::family);
  CHECK(run_nothing_by_vfork() == 55);
  check_exchange(connection, connection.fd());
  const LocalPair pair = local_pair(TestType::family);
  check_exchange(pair.client, pair.server);
}

CONFORMANCE_CASE("processes: a daemon keeps serving on its connection") {
  const bool keeps_descriptors = GENERATE(true, false);
  Connection connection(TestType::family);
  CHECK(in_child([&] {
          // Only the grandchild returns.
          CHILD_CHECK(daemon(0, keeps_descriptors ? 1 : 0) == 0);
          alarm(kChildSeconds);
          CHILD_CHECK(receives(connection.fd(), "daemon?"));
          CHILD_CHECK(sends(connection.fd(), "yes"));
          CHILD_CHECK(new_sockets_work(TestType::family));
          CHILD_CHECK(sends(connection.fd(), "!"));
          return 0;
        }) == 0);
  connection.local().reset();
  connection.remote_sends("daemon?");
  CHECK(connection.remote_receives(5) == "yes!");  // and the end, as the daemon exits
}

CONFORMANCE_CASE("processes: a daemon's numbers 0, 1 and 2 are /dev/null where sockets were") {
  Connection connection(TestType::family);
  CHECK(in_child([&] {
          for (const int fd : {0, 1, 2}) {
            if (dup2(connection.fd(), fd) != fd) return 1;
          }
          if (daemon(0, 0) != 0) return 1;
          alarm(kChildSeconds);
          char byte = 0;
          const bool null = read(0, &byte, 1) == 0 && write(1, "lost", 4) == 4 &&
                            send(2, "x", 1, 0) == -1 && errno == ENOTSOCK;
          return sends(connection.fd(), null ? "null" : "not!") ? 0 : 1;
        }) == 0);
  connection.local().reset();
  CHECK(connection.remote_receives(5) == "null");
}

CONFORMANCE_CASE("processes: exit runs the handlers and gives the status") {
  Connection connection(TestType::family);
  static int reported = -1;
  reported = connection.fd();
  std::fflush(nullptr);
  CHECK(in_child([]() -> int {
          atexit([] { static_cast<void>(sends(reported, "atexit")); });
          std::exit(33);
        }) == 33);
  CHECK(in_child([]() -> int {
          at_quick_exit([] { static_cast<void>(sends(reported, "quick")); });
          std::quick_exit(34);
        }) == 34);
  CHECK(in_child([]() -> int {
          atexit([] { static_cast<void>(sends(reported, "never")); });
          std::_Exit(35);
        }) == 35);
  CHECK(connection.remote_receives(11) == "atexitquick");
  check_exchange(connection, connection.fd());
}
