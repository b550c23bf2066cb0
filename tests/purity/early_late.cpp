// The library's functions work before its constructor and after everything has ended.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/purity/child.h"
#include "tests/purity/early_late.h"
#include "tests/purity/expect.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

extern char** environ;

namespace rsock::purity {

namespace {

constexpr int kMarksFd = 100;

void exercise_at_exit() { exercise(Phase::at_exit); }

void exercise_in_main() {
  exercise(Phase::main);
  EXPECT_EQUAL(atexit(&exercise_at_exit), 0);
}

// Runs in the process that `every_phase` starts.
const Case child_case("child", &exercise_in_main);

std::string read_all(int fd) {
  std::string text;
  char byte = 0;
  while (read(fd, &byte, 1) == 1) text += byte;
  return text;
}

}  // namespace

PURITY_CASE(every_phase) {
  int ends[2];
  const std::string log = std::string(P_tmpdir) + "/rsock-early-late-" + std::to_string(getpid());
  EXPECT_EQUAL(pipe(ends), 0);
  EXPECT_EQUAL(dup2(ends[1], kMarksFd), kMarksFd);
  EXPECT_EQUAL(close(ends[1]), 0);
  EXPECT_EQUAL(setenv(kMarksVariable, std::to_string(kMarksFd).c_str(), 1), 0);
  EXPECT_EQUAL(setenv(kLogVariable, log.c_str(), 1), 0);
  EXPECT_EQUAL(setenv("RSOCK_TRANSPORT", "bogus", 1), 0);
  char name[] = "/proc/self/exe";
  char argument[] = "child";
  char* const arguments[] = {name, argument, nullptr};
  pid_t child = 0;
  EXPECT_EQUAL(posix_spawn(&child, name, nullptr, nullptr, arguments, environ), 0);
  EXPECT_EQUAL(close(kMarksFd), 0);
  const std::string marks = read_all(ends[0]);
  EXPECT_EQUAL(exit_status_of(child), 0);
  EXPECT_EQUAL(unlink(log.c_str()), 0);
  if (marks != kAllPhases) fail(__FILE__, __LINE__, marks, 0, 0);
  unsetenv(kMarksVariable);
  unsetenv(kLogVariable);
}

// Handlers of earlier libraries run in the child before that of the library under test, in memory
// that still says what the parent has.
PURITY_CASE(earlier_fork_handler) {
  const TcpPair pair = tcp_pair();
  const OwnPage page;
  EXPECT_EQUAL(page.open_sockets(), 2);
  closed_in_fork_child = pair.client;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  EXPECT_EQUAL(exit_status_of(child), 0);
  EXPECT_EQUAL(page.open_sockets(), 2);
  EXPECT(page.row(pair.client) != nullptr);
  tcp_send(pair, 1);
}

}  // namespace rsock::purity

namespace {

using InitFunction = void (*)(int, char**, char**);

// libc's own start, which sets `environ`, has not run either.
void start_first(int, char**, char** environment) {
  environ = environment;
  rsock::purity::exercise(rsock::purity::Phase::preinit);
}

// The dynamic linker calls it before the constructors of all libraries.
[[gnu::section(".preinit_array"), gnu::used]] const InitFunction preinit = &start_first;

}  // namespace
