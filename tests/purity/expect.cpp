#include "tests/purity/expect.h"

#include <unistd.h>

#include <cerrno>

#include "core/base/text_buffer.h"
#include "tests/purity/inline_syscall.h"

namespace rsock::purity {

namespace {

constexpr std::size_t kLineBytes = 512;
constexpr int kExitFailed = 1;

// Zero before any constructor runs, so that cases of all files may register.
constinit const Case* first_case = nullptr;

}  // namespace

Case::Case(const char* name, CaseFunction function) noexcept
    : name_(name), function_(function), next_(first_case) {
  first_case = this;
}

const Case* Case::find(std::string_view name) noexcept {
  const Case* found = first_case;
  while (found != nullptr && name != found->name_) found = found->next_;
  return found;
}

void fail(const char* file, int line, std::string_view what, long got, long wanted) noexcept {
  const int error = errno;
  TextBuffer<kLineBytes> text;
  text.append(file).append(":").append_decimal(line).append(": not so: ").append(what);
  text.append(" (").append_decimal(got).append(", wanted ").append_decimal(wanted);
  text.append("; errno ").append_decimal(error).append(")");
  const std::string_view written = text.end_line();
  inline_syscall(SYS_write, STDERR_FILENO, reinterpret_cast<long>(written.data()),
                 static_cast<long>(written.size()));
  for (;;) inline_syscall(SYS_exit_group, kExitFailed);
}

}  // namespace rsock::purity
