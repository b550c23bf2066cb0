// main() of every purity test: runs the case that is named on the command line.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/text_buffer.h"
#include "tests/purity/expect.h"

namespace rsock::purity {

namespace {

constexpr std::size_t kLineBytes = 512;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

// Zero before any constructor runs, so that cases of all files may register.
constinit const Case* first_case = nullptr;

// A system call that no library sees.
long raw_syscall(long number, long a, long b, long c) {
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

void write_raw(std::string_view text) {
  raw_syscall(SYS_write, STDERR_FILENO, reinterpret_cast<long>(text.data()),
              static_cast<long>(text.size()));
}

// A test that the library is not loaded into would prove nothing.
bool library_is_loaded() {
  Dl_info info{};
  void* read_function = dlsym(RTLD_DEFAULT, "read");
  return read_function != nullptr && dladdr(read_function, &info) != 0 &&
         std::strstr(info.dli_fname, "librsock") != nullptr;
}

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

void fail(const char* file, int line, const char* what, long got, long wanted) noexcept {
  const int error = errno;
  TextBuffer<kLineBytes> text;
  text.append(file).append(":").append_decimal(line).append(": not so: ").append(what);
  text.append(" (").append_decimal(got).append(", wanted ").append_decimal(wanted);
  text.append("; errno ").append_decimal(error).append(")");
  write_raw(text.end_line());
  for (;;) raw_syscall(SYS_exit_group, kExitFailed, 0, 0);
}

}  // namespace rsock::purity

int main(int argc, char** argv) {
  const auto* wanted = argc == 2 ? rsock::purity::Case::find(argv[1]) : nullptr;
  if (wanted == nullptr) {
    rsock::purity::write_raw("usage: purity test CASE\n");
    return rsock::purity::kExitUsage;
  }
  EXPECT(rsock::purity::library_is_loaded());
  alarm(rsock::purity::kCaseSeconds);
  wanted->run();
  return 0;
}
