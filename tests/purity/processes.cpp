// Calls that make, replace and end processes: a forked child has a table and a page of its own,
// and every function passes on what it was given.
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "core/os/libc_names.h"
#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

extern char** environ;

namespace rsock::purity {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr int kSentinel = 7777;  // no error number
constexpr int kStatus = 7;
constexpr char kShell[] = "/bin/sh";

// A script that leaves with kStatus if it got all that it was given: more arguments than there
// are registers, in their order.
constexpr char kScript[] =
    "test \"$0$1$2$3$4$5$6$7$8$9\" = abcdefghij && test \"${RSOCK_PURITY-unset}\" = unset && exit "
    "7";
constexpr char kScriptWithEnvironment[] =
    "test \"$0$1$2$3$4$5$6$7$8$9\" = abcdefghij && test \"${RSOCK_PURITY}\" = here && exit 7";
#define SCRIPT_ARGUMENTS "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"

TcpPair shared_pair;

// The child has the parent's connection, counts its own bytes of it, and can do all else.
void use_inherited() {
  const OwnPage page;
  EXPECT_EQUAL(page.count(stats::Counter::sockets_tracked), 0);
  EXPECT_EQUAL(page.row(shared_pair.client)->tx_tcp_bytes.load(), 10);
  tcp_send(shared_pair, 5);
  EXPECT_EQUAL(page.row(shared_pair.client)->tx_tcp_bytes.load(), 15);
  const TcpPair own = tcp_pair();
  tcp_send(own, 1);
  EXPECT_EQUAL(page.row(own.client)->tx_tcp_bytes.load(), 1);
  EXPECT_EQUAL(close(own.client), 0);
  EXPECT_EQUAL(close(own.server), 0);
  EXPECT_EQUAL(close(shared_pair.server), 0);
  EXPECT(page.row(shared_pair.server) == nullptr);
}

void use_inherited_and_close() {
  use_inherited();
  // No descriptor of the parent's library is left over.
  for (int fd = 0; fd < FD_SETSIZE; ++fd) close(fd);
  EXPECT_EQUAL(open_descriptors(), 0);
}

// The parent's page hears nothing of a child that `make_child` makes and awaits.
template <typename MakeChild>
void expect_apart(MakeChild make_child) {
  shared_pair = tcp_pair();
  tcp_send(shared_pair, 10);
  const OwnPage page;
  const std::uint64_t tracked = page.count(stats::Counter::sockets_tracked);
  make_child();
  EXPECT_EQUAL(page.count(stats::Counter::sockets_tracked), tracked);
  EXPECT_EQUAL(page.open_sockets(), 2);
  EXPECT_EQUAL(page.row(shared_pair.client)->tx_tcp_bytes.load(), 10);
  tcp_send(shared_pair, 7);
  EXPECT_EQUAL(page.row(shared_pair.client)->tx_tcp_bytes.load(), 17);
  EXPECT_EQUAL(page.row(shared_pair.server)->rx_tcp_bytes.load(), 17);
  EXPECT_EQUAL(own_page_descriptor(), page.descriptor());
}

int run_clone_child(void* argument) {
  EXPECT_EQUAL(*static_cast<int*>(argument), kStatus);
  use_inherited_and_close();
  return kStatus;
}

using ForkFunction = pid_t (*)();

pid_t raw_fork() { return static_cast<pid_t>(syscall(SYS_fork)); }

pid_t raw_clone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L)); }

// With a pointer for the child's number, as systemd and container runtimes do.
pid_t raw_clone_with_tid() {
  pid_t child = 0;
  return static_cast<pid_t>(syscall(SYS_clone, CLONE_CHILD_SETTID | SIGCHLD, 0L, 0L, &child, 0L));
}

constexpr ForkFunction kForksOfLibc[] = {&fork, &__fork, &__libc_fork, &_Fork};
constexpr ForkFunction kForks[] = {&fork, &_Fork, &raw_fork, &raw_clone};

// Whether errno is the same after a fork, in the parent and in the child.
void expect_errno_kept(ForkFunction make) {
  errno = kSentinel;
  const pid_t child = make();
  if (child == 0) _exit(errno == kSentinel ? 0 : 1);
  EXPECT_EQUAL(errno, kSentinel);
  EXPECT_EQUAL(exit_status_of(child), 0);
}

// The status of a child in which `replace` replaces the process.
template <typename Replace>
int status_after(Replace replace) {
  const pid_t child = fork();
  if (child == 0) {
    replace();
    fail(__FILE__, __LINE__, "exec returned", errno, 0);
  }
  return exit_status_of(child);
}

// Writes a byte when exit handlers run.
int handler_pipe = -1;
void tell() { EXPECT_EQUAL(write(handler_pipe, "x", 1), 1); }

// Ends a child by `end`; `told` is whether its exit handlers ran.
template <typename End>
int status_of_end(End end, bool& told) {
  int ends[2];
  char byte = 0;
  EXPECT_EQUAL(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    handler_pipe = ends[1];
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    EXPECT_EQUAL(atexit(&tell), 0);
    EXPECT_EQUAL(at_quick_exit(&tell), 0);
    end();
  }
  EXPECT_EQUAL(close(ends[1]), 0);
  told = read(ends[0], &byte, 1) == 1;
  EXPECT_EQUAL(close(ends[0]), 0);
  return exit_status_of(child);
}

}  // namespace

PURITY_CASE(fork_child_is_apart) {
  for (const ForkFunction make : kForksOfLibc) {
    expect_apart([make] { run_in_forked_child(make, &use_inherited_and_close); });
    EXPECT_EQUAL(close_range(STDERR_FILENO + 1, ~0U, 0), 0);
  }
}

PURITY_CASE(raw_fork_child_is_apart) {
  expect_apart([] { run_in_forked_child(&raw_fork, &use_inherited_and_close); });
}

PURITY_CASE(raw_clone_child_is_apart) {
  expect_apart([] { run_in_forked_child(&raw_clone, &use_inherited_and_close); });
}

PURITY_CASE(raw_clone_child_with_tid_is_apart) {
  expect_apart([] { run_in_forked_child(&raw_clone_with_tid, &use_inherited_and_close); });
}

PURITY_CASE(clone_child_is_apart) {
  expect_apart([] {
    static char stack[kStackBytes];
    int argument = kStatus;
    pid_t parent_tid = 0;
    pid_t child_tid = 0;
    const pid_t child = clone(&run_clone_child, stack + kStackBytes, CLONE_PARENT_SETTID | SIGCHLD,
                              &argument, &parent_tid, nullptr, &child_tid);
    EXPECT_EQUAL(exit_status_of(child), kStatus);
    EXPECT_EQUAL(parent_tid, child);
  });
}

PURITY_CASE(grandchild_is_apart) {
  expect_apart([] {
    run_in_forked_child(&fork, [] {
      run_in_forked_child(&fork, &use_inherited_and_close);
      use_inherited_and_close();
    });
  });
}

// Nobody awaits a daemon: it tells through a pipe that it is content.
PURITY_CASE(daemon_is_apart) {
  static int ends[2];
  EXPECT_EQUAL(pipe(ends), 0);
  expect_apart([] {
    char byte = 0;
    run_in_forked_child(&fork, [] {
      EXPECT_EQUAL(daemon(1, 0), 0);
      use_inherited();
      EXPECT_EQUAL(write(ends[1], "x", 1), 1);
    });
    EXPECT_EQUAL(close(ends[1]), 0);
    EXPECT_EQUAL(read(ends[0], &byte, 1), 1);
  });
}

PURITY_CASE(fork_keeps_errno) {
  shared_pair = tcp_pair();
  for (const ForkFunction make : kForks) expect_errno_kept(make);
  expect_errno_kept(&vfork);
}

// There is no number left for a page of the child's.
PURITY_CASE(fork_keeps_errno_without_a_page) {
  shared_pair = tcp_pair();
  const rlimit none{0, 0};
  EXPECT_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (const ForkFunction make : kForks) expect_errno_kept(make);
}

PURITY_CASE(spawns) {
  expect_apart([] {
    posix_spawn_file_actions_t actions;
    EXPECT_EQUAL(posix_spawn_file_actions_init(&actions), 0);
    EXPECT_EQUAL(posix_spawn_file_actions_addclose(&actions, shared_pair.client), 0);
    EXPECT_EQUAL(posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, shared_pair.server), 0);
    char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                               const_cast<char*>("exit 7"), nullptr};
    pid_t child = 0;
    EXPECT_EQUAL(posix_spawn(&child, kShell, &actions, nullptr, arguments, environ), 0);
    EXPECT_EQUAL(exit_status_of(child), kStatus);
    EXPECT_EQUAL(posix_spawnp(&child, "sh", &actions, nullptr, arguments, environ), 0);
    EXPECT_EQUAL(exit_status_of(child), kStatus);
    EXPECT_EQUAL(posix_spawn(&child, "/nonexistent", &actions, nullptr, arguments, environ),
                 ENOENT);
    EXPECT_EQUAL(posix_spawn_file_actions_destroy(&actions), 0);
    FILE* stream = popen("exit 7", "r");
    EXPECT(stream != nullptr);
    EXPECT_EQUAL(WEXITSTATUS(pclose(stream)), kStatus);
  });
}

PURITY_CASE(executes_lists) {
  char* const environment[] = {const_cast<char*>("RSOCK_PURITY=here"), nullptr};
  EXPECT_EQUAL(status_after([] { execl(kShell, "sh", "-c", kScript, SCRIPT_ARGUMENTS, nullptr); }),
               kStatus);
  EXPECT_EQUAL(status_after([] { execlp("sh", "sh", "-c", kScript, SCRIPT_ARGUMENTS, nullptr); }),
               kStatus);
  EXPECT_EQUAL(status_after([&] {
                 execle(kShell, "sh", "-c", kScriptWithEnvironment, SCRIPT_ARGUMENTS, nullptr,
                        environment);
               }),
               kStatus);
}

PURITY_CASE(executes_arrays) {
  const char* const list[] = {"sh", "-c", kScriptWithEnvironment, SCRIPT_ARGUMENTS, nullptr};
  auto* const arguments = const_cast<char* const*>(list);
  char* const environment[] = {const_cast<char*>("RSOCK_PURITY=here"), nullptr};
  const int shell = open(kShell, O_RDONLY | O_CLOEXEC);
  EXPECT_EQUAL(status_after([&] { execve(kShell, arguments, environment); }), kStatus);
  EXPECT_EQUAL(status_after([&] { execvpe("sh", arguments, environment); }), kStatus);
  EXPECT_EQUAL(status_after([&] { fexecve(shell, arguments, environment); }), kStatus);
  EXPECT_EQUAL(status_after([&] { execveat(shell, "", arguments, environment, AT_EMPTY_PATH); }),
               kStatus);
  EXPECT_EQUAL(setenv("RSOCK_PURITY", "here", 1), 0);
  EXPECT_EQUAL(status_after([&] { execv(kShell, arguments); }), kStatus);
  EXPECT_EQUAL(status_after([&] { execvp("sh", arguments); }), kStatus);
}

PURITY_CASE(exec_fails_as_without) {
  char* const nothing[] = {nullptr};
  errno = 0;
  EXPECT_EQUAL(execl("/nonexistent", "x", nullptr), -1);
  EXPECT_EQUAL(errno, ENOENT);
  EXPECT_EQUAL(execvp("nonexistent-program", nothing), -1);
  EXPECT_EQUAL(errno, ENOENT);
  EXPECT_EQUAL(fexecve(-1, nothing, nothing), -1);
  EXPECT_EQUAL(errno, EINVAL);
}

PURITY_CASE(ends) {
  bool told = false;
  EXPECT_EQUAL(status_of_end([] { exit(kStatus); }, told), kStatus);
  EXPECT(told);
  EXPECT_EQUAL(status_of_end([] { quick_exit(kStatus); }, told), kStatus);
  EXPECT(told);
  EXPECT_EQUAL(status_of_end([] { _exit(kStatus); }, told), kStatus);
  EXPECT(!told);
  EXPECT_EQUAL(status_of_end([] { _Exit(kStatus); }, told), kStatus);
  EXPECT(!told);
  EXPECT_EQUAL(status_of_end([] { abort(); }, told), -SIGABRT);
  EXPECT(!told);
}

}  // namespace rsock::purity
