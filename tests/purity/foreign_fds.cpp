// Pass-through is free and safe: every intercepted function, called with every kind of
// descriptor, does what libc's own does (result, errno, data, numbers given out) and takes no
// lock and no memory that libc's does not take; in the main flow, in a signal handler, and in a
// child of fork or vfork.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/base/text_buffer.h"
#include "tests/purity/expect.h"
#include "tests/purity/forbidden.h"
#include "tests/purity/foreign_cases.h"

namespace rsock::purity {

namespace {

constexpr int kSentinel = 7777;  // no error number
constexpr std::size_t kDescriptionBytes = 128;

struct Outcome {
  long result;
  int error;
  long observed;
  char buffer[kBufferBytes];
  long forbidden_calls;
};

Outcome run_once(const ForeignCase& tested, Kind kind, const Api& api, long allowed) {
  Fixture fixture(kind);
  Outcome outcome{};
  {
    const Forbidden forbidden(allowed);
    errno = kSentinel;
    outcome.result = tested.call(api, fixture);
    outcome.error = errno;
    outcome.forbidden_calls = forbidden.count();
  }
  outcome.observed = fixture.observed;
  std::memcpy(outcome.buffer, fixture.buffer, kBufferBytes);
  return outcome;
}

void compare(const ForeignCase& tested, Kind kind, const char* what, long got, long wanted) {
  if (got == wanted) return;
  TextBuffer<kDescriptionBytes> text;
  text.append(tested.name).append(" on ").append(kKindNames[static_cast<int>(kind)]);
  text.append(": ").append(what).append(std::string_view("\0", 1));
  fail(__FILE__, __LINE__, text.view().data(), got, wanted);
}

void run_case(const ForeignCase& tested, Kind kind) {
  // The first run lets libc take the memory that it keeps.
  static_cast<void>(run_once(tested, kind, native_api(), Forbidden::kAny));
  const Outcome native = run_once(tested, kind, native_api(), Forbidden::kAny);
  const bool uses_thread = (tested.flags & ForeignCase::kUsesThread) != 0;
  const long allowed = uses_thread ? Forbidden::kAny : native.forbidden_calls;
  if ((tested.flags & ForeignCase::kUsesStdio) == 0 && !uses_thread) {
    compare(tested, kind, "calls of malloc in libc", native.forbidden_calls, 0);
  }
  const Outcome shim = run_once(tested, kind, shim_api(), allowed);
  compare(tested, kind, "result", shim.result, native.result);
  compare(tested, kind, "errno", shim.error, native.error);
  compare(tested, kind, "observed", shim.observed, native.observed);
  compare(tested, kind, "data", std::memcmp(shim.buffer, native.buffer, kBufferBytes), 0);
}

void run_list(ListOf<ForeignCase> cases, int flags_left_out) {
  for (const ForeignCase& tested : cases) {
    if ((tested.flags & flags_left_out) != 0) continue;
    for (const Kind kind : kKinds) {
      run_case(tested, kind);
      if ((tested.flags & ForeignCase::kOnce) != 0) break;
    }
  }
}

void run_all(int flags_left_out) {
  signal(SIGPIPE, SIG_IGN);
  run_list(transfer_cases(), flags_left_out);
  run_list(descriptor_cases(), flags_left_out);
}

constexpr int kNotInHandler = ForeignCase::kUsesStdio | ForeignCase::kUsesThread;

bool is_exercised(std::string_view name) {
  for (const ForeignCase& tested : transfer_cases()) {
    if (name == tested.name) return true;
  }
  for (const ForeignCase& tested : descriptor_cases()) {
    if (name == tested.name) return true;
  }
  return false;
}

bool is_exception(std::string_view name) {
  for (const Exception& exception : case_exceptions()) {
    if (name == exception.name) return true;
  }
  return false;
}

void await_success(pid_t child) {
  int status = 0;
  EXPECT(child > 0);
  EXPECT_EQUAL(waitpid(child, &status, 0), child);
  EXPECT_EQUAL(status, 0);
}

// Not inlined: the child of a vfork must not change the frame that its parent returns to.
[[gnu::noinline]] void run_in_vfork_child() {
  run_all(kNotInHandler);
  _exit(0);
}

volatile sig_atomic_t handler_ran = 0;

void handle(int) {
  run_all(kNotInHandler);
  handler_ran = 1;
}

}  // namespace

PURITY_CASE(every_name_is_exercised) {
  for (const char* name : kInterceptedNames) {
    const bool exercised = is_exercised(name);
    if (exercised != is_exception(name)) continue;
    fail(__FILE__, __LINE__, name, exercised ? 1 : 0, exercised ? 0 : 1);
  }
}

PURITY_CASE(in_main) { run_all(0); }

PURITY_CASE(in_signal_handler) {
  static_cast<void>(native_api());
  static_cast<void>(shim_api());
  signal(SIGUSR1, &handle);
  EXPECT_EQUAL(raise(SIGUSR1), 0);
  EXPECT_EQUAL(handler_ran, 1);
}

PURITY_CASE(in_fork_child) {
  const pid_t child = fork();
  if (child == 0) {
    run_all(0);
    _exit(0);
  }
  await_success(child);
}

PURITY_CASE(in_vfork_child) {
  static_cast<void>(native_api());
  static_cast<void>(shim_api());
  const pid_t child = vfork();
  if (child == 0) run_in_vfork_child();
  await_success(child);
}

}  // namespace rsock::purity
