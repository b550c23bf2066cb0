#include "tests/purity/child.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/purity/expect.h"

extern char** environ;

namespace rsock::purity {

namespace {

std::string read_all(int fd) {
  std::string text;
  char byte = 0;
  while (read(fd, &byte, 1) == 1) text += byte;
  return text;
}

}  // namespace

int exit_status_of(pid_t child) {
  int status = 0;
  EXPECT(child > 0);
  EXPECT_EQUAL(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void run_in_vfork_child(void (*function)()) {
  const pid_t child = vfork();
  if (child == 0) {
    function();
    _exit(0);
  }
  EXPECT_EQUAL(exit_status_of(child), 0);
}

void run_in_forked_child(pid_t (*fork_function)(), void (*function)()) {
  const pid_t child = fork_function();
  if (child == 0) {
    alarm(kCaseSeconds);
    function();
    _exit(0);
  }
  EXPECT_EQUAL(exit_status_of(child), 0);
}

SelfResult run_self(const char* case_name) {
  int ends[2];
  posix_spawn_file_actions_t actions;
  EXPECT_EQUAL(pipe(ends), 0);
  EXPECT_EQUAL(posix_spawn_file_actions_init(&actions), 0);
  EXPECT_EQUAL(posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO), 0);
  EXPECT_EQUAL(posix_spawn_file_actions_addclose(&actions, ends[0]), 0);
  EXPECT_EQUAL(posix_spawn_file_actions_addclose(&actions, ends[1]), 0);
  char program[] = "/proc/self/exe";
  std::string name = case_name;
  char* const arguments[] = {program, name.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQUAL(posix_spawn(&child, program, &actions, nullptr, arguments, environ), 0);
  EXPECT_EQUAL(posix_spawn_file_actions_destroy(&actions), 0);
  EXPECT_EQUAL(close(ends[1]), 0);
  SelfResult result;
  result.error_text = read_all(ends[0]);
  result.status = exit_status_of(child);
  EXPECT_EQUAL(close(ends[0]), 0);
  return result;
}

}  // namespace rsock::purity
