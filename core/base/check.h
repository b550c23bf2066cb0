#pragma once

#include <cstddef>
#include <string_view>

// RSOCK_CHECK(condition) or RSOCK_CHECK(condition, "message"): the process ends, with a line and
// a stack on standard error, when the condition is false. Always on; meant for what must hold
// lest the program's data be wrong. RSOCK_DCHECK is the same in debug builds only.
#define RSOCK_CHECK(condition, ...)                                                     \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::rsock::check_failed(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#ifndef RSOCK_DEBUG_CHECKS
#ifdef NDEBUG
#define RSOCK_DEBUG_CHECKS 0
#else
#define RSOCK_DEBUG_CHECKS 1
#endif
#endif

#if RSOCK_DEBUG_CHECKS
#define RSOCK_DCHECK(condition, ...) RSOCK_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#else
// Not evaluated, yet compiled, so that the condition keeps compiling in every build.
#define RSOCK_DCHECK(condition, ...) static_cast<void>(sizeof((condition) ? 1 : 0))
#endif

namespace rsock {

// How a failed check reaches the outside. The layer above sets these, because the plain names of
// libc would lead back into the preloaded library. None may be null.
struct CheckHooks {
  // Shows `length_bytes` of text, which ends in a newline, to the user.
  void (*write_line)(const char* text, std::size_t length_bytes) noexcept;
  // Ends the process, with a core file where those are wanted.
  void (*abort_process)() noexcept;
  // Sees to it that the process ends soon even if taking the stack hangs: the thread may have
  // failed while it held a lock of the dynamic linker.
  void (*arm_watchdog)() noexcept;
};

// `hooks` must live for ever. Until the first call a failure is written by a raw system call and
// ends in a trap. Thread-safe.
void set_check_hooks(const CheckHooks& hooks) noexcept;

[[noreturn, gnu::cold, gnu::noinline]] void check_failed(const char* expression, const char* file,
                                                         int line,
                                                         std::string_view message = {}) noexcept;

}  // namespace rsock
