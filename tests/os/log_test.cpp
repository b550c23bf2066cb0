#include "core/os/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/death.h"

namespace {

using namespace rsock;
using config::LogLevel;
using testing::Death;
using testing::run_in_child;

void say(LogLevel level, std::string_view text) {
  os::LogLine line;
  line.append(text);
  os::log(level, line);
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("a line carries process, level and text") {
  const Death death = run_in_child([] {
    os::open_log(LogLevel::warn, "");
    say(LogLevel::error, "first");
    say(LogLevel::warn, "second");
    say(LogLevel::info, "third");
  });
  CHECK(death.says("] error: first\n"));
  CHECK(death.says("] warn: second\n"));
  CHECK_FALSE(death.says("third"));
}

TEST_CASE("a standard error that has become something else gets no text") {
  const Death death = run_in_child([] {
    os::open_log(LogLevel::trace, "");
    int fds[2];
    if (pipe(fds) != 0 || dup2(fds[1], STDERR_FILENO) != STDERR_FILENO) _exit(1);
    say(LogLevel::error, "not for this pipe");
    char byte;
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    if (read(fds[0], &byte, 1) != -1) _exit(2);
  });
  CHECK(death.exit_code == 0);
}

TEST_CASE("nothing is written before the log is opened") {
  const Death death = run_in_child([] { say(LogLevel::error, "too early"); });
  CHECK(death.text.empty());
}

TEST_CASE("a log file is appended to, and is the owner's alone") {
  char path[] = "/tmp/rsock-log-test-XXXXXX";
  const int fd = mkstemp(path);
  REQUIRE(write(fd, "before\n", 7) == 7);
  close(fd);
  const Death death = run_in_child([&path] {
    os::open_log(LogLevel::info, path);
    say(LogLevel::info, "to the file");
  });
  CHECK(death.text.empty());
  const std::string text = content(path);
  CHECK(text.starts_with("before\nrsock["));
  CHECK(text.ends_with("] info: to the file\n"));
  unlink(path);

  CHECK(run_in_child([&path] { os::open_log(LogLevel::info, path); }).exit_code == 0);
  struct stat status {};
  REQUIRE(stat(path, &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  unlink(path);
}

TEST_CASE("a log file that can't be opened is said once, on standard error") {
  const Death death = run_in_child([] { os::open_log(LogLevel::error, "/nowhere/at/all"); });
  CHECK(death.says("can't open the log file /nowhere/at/all"));
}

}  // namespace
