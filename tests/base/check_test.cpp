#include "core/base/check.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>

#include "tests/death.h"

namespace {

using rsock::CheckHooks;
using rsock::testing::Death;
using rsock::testing::run_in_child;

constexpr int kHookExitCode = 42;

void write_to_stderr(const char* text, std::size_t length_bytes) noexcept {
  static_cast<void>(!write(STDERR_FILENO, text, length_bytes));
}

void say(const char* text) noexcept { write_to_stderr(text, std::strlen(text)); }

void leave() noexcept { _exit(kHookExitCode); }

[[gnu::noinline]] void fail_here() { RSOCK_CHECK(1 + 1 == 3, "arithmetic"); }

std::size_t count_of(const std::string& what, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a check that holds costs nothing visible") {
  int evaluated = 0;
  RSOCK_CHECK(++evaluated == 1);
  CHECK(evaluated == 1);
}

TEST_CASE("a failed check ends the process with expression and place and message") {
  const Death death = run_in_child([] { fail_here(); });
  CHECK(death.signal == SIGILL);
  CHECK(death.text.starts_with("librsock: check failed: 1 + 1 == 3 at "));
  CHECK(death.says("check_test.cpp:"));
  CHECK(death.says(" (arithmetic)\n"));
}

TEST_CASE("a failed check without a message has no empty parentheses") {
  const Death death = run_in_child([] { RSOCK_CHECK(false); });
  CHECK(death.signal == SIGILL);
  CHECK(!death.text.substr(0, death.text.find('\n')).ends_with(")"));
}

TEST_CASE("the stack of a failed check names the caller by module and offset") {
  // One frame must lie in fail_here(), which is small, though the sanitizers make it larger.
  constexpr std::uintptr_t kFunctionBytesMax = 512;
  Dl_info self{};
  const auto function = reinterpret_cast<std::uintptr_t>(&fail_here);
  REQUIRE(dladdr(reinterpret_cast<void*>(function), &self) != 0);
  const std::uintptr_t begin = function - reinterpret_cast<std::uintptr_t>(self.dli_fbase);

  const Death death = run_in_child([] { fail_here(); });
  CHECK(death.says("librsock:   #0 "));
  CHECK(death.says("__libc_start_main"));
  bool found = false;
  std::istringstream lines(death.text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t plus = line.find("+0x");
    if (line.find(self.dli_fname) == std::string::npos || plus == std::string::npos) continue;
    const std::uintptr_t offset = std::stoull(line.substr(plus + 1), nullptr, 16);
    if (offset >= begin && offset < begin + kFunctionBytesMax) found = true;
  }
  INFO(death.text);
  CHECK(found);
}

TEST_CASE("a failed check says that libunwind is missing") {
  const Death death = run_in_child([] {
    const rlimit no_descriptor{};  // so nothing can be opened
    setrlimit(RLIMIT_NOFILE, &no_descriptor);
    fail_here();
  });
  CHECK(death.signal == SIGILL);
  CHECK(death.says("librsock:   no stack: libunwind.so.8 cannot be used\n"));
}

TEST_CASE("a failed check goes through the hooks") {
  static constexpr CheckHooks kHooks = {
      .write_line =
          [](const char* text, std::size_t length_bytes) noexcept {
            say("hook ");
            write_to_stderr(text, length_bytes);
          },
      .abort_process = &leave,
      .arm_watchdog = []() noexcept { say("armed\n"); },
  };
  const Death death = run_in_child([] {
    rsock::set_check_hooks(kHooks);
    fail_here();
  });
  CHECK(death.exit_code == kHookExitCode);
  CHECK(death.text.starts_with("hook librsock: check failed: "));
  // Before the stack, since it is the stack that may hang.
  CHECK(death.text.find("armed\n") < death.text.find("hook librsock:   #0 "));
}

TEST_CASE("a check that fails while another failure is handled ends the process") {
  static constexpr CheckHooks kHooks = {
      .write_line = &write_to_stderr,
      .abort_process = &leave,
      .arm_watchdog = []() noexcept { RSOCK_CHECK(false, "second"); },
  };
  const Death death = run_in_child([] {
    rsock::set_check_hooks(kHooks);
    fail_here();
  });
  CHECK(death.exit_code == kHookExitCode);
  CHECK(count_of("check failed", death.text) == 2);
  CHECK(death.says("(second)"));
  CHECK(!death.says("#0"));
}

TEST_CASE("the process ends even when the hook that should end it returns") {
  static constexpr CheckHooks kHooks = {
      .write_line = &write_to_stderr,
      .abort_process = []() noexcept {},
      .arm_watchdog = []() noexcept {},
  };
  const Death death = run_in_child([] {
    rsock::set_check_hooks(kHooks);
    fail_here();
  });
  CHECK(death.signal == SIGILL);
}

TEST_CASE("a debug check is evaluated in debug builds only") {
  int evaluated = 0;
  RSOCK_DCHECK(++evaluated == 1);
  CHECK(evaluated == RSOCK_DEBUG_CHECKS);
}
