#include "core/os/fatal.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "core/base/text_buffer.h"
#include "core/config/limits.h"
#include "core/os/syscalls.h"

namespace rsock::os {

namespace {

constexpr int kExitStatus = 127;  // As the dynamic linker's own, for a symbol not found.

// A system call without libc.
long raw_syscall(long number, long a, long b, long c) {
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

}  // namespace

void die_without_libc_function(const char* name) noexcept {
  TextBuffer<config::kLogLineBytes> line;
  line.append("librsock: this libc has no function ").append(name);
  const std::string_view text = line.end_line();
  raw_syscall(SYS_write, STDERR_FILENO, reinterpret_cast<long>(text.data()),
              static_cast<long>(text.size()));
  for (;;) raw_syscall(SYS_exit_group, kExitStatus, 0, 0);
}

void die_after(unsigned int seconds) noexcept {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sys().sigaction(SIGALRM, &by_default, nullptr);
  sys().pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  sys().alarm(seconds);
}

}  // namespace rsock::os
