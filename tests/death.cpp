#include "tests/death.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace rsock::testing {

namespace {

[[noreturn]] void be_child(const std::function<void()>& action, int output) {
  // Catch2 and the sanitizers would report the death that is wanted here.
  for (const int number : {SIGABRT, SIGILL, SIGALRM}) signal(number, SIG_DFL);
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(output, STDERR_FILENO);
  action();
  _exit(0);
}

std::string read_all(int fd) {
  std::string text;
  char buffer[1024];
  for (ssize_t count = 0; (count = read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

Death run_in_child(const std::function<void()>& action) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) be_child(action, ends[1]);
  close(ends[1]);
  Death death{0, 0, read_all(ends[0])};
  close(ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  if (WIFSIGNALED(status)) death.signal = WTERMSIG(status);
  if (WIFEXITED(status)) death.exit_code = WEXITSTATUS(status);
  return death;
}

}  // namespace rsock::testing
