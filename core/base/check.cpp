#include "core/base/check.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "core/base/text_buffer.h"

namespace rsock {

namespace {

constexpr std::size_t kLineBytes = 1024;
constexpr int kFramesMax = 64;
constexpr char kUnwinder[] = "libunwind.so.8";

using Line = TextBuffer<kLineBytes>;

// The kernel reached without libc, whose `write` may be the preloaded library's own.
void write_line_raw(const char* text, std::size_t length_bytes) noexcept {
  long result = SYS_write;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(STDERR_FILENO)), "S"(text), "d"(length_bytes)
               : "rcx", "r11", "memory");
}

constexpr CheckHooks kDefaultHooks = {
    .write_line = &write_line_raw,
    .abort_process = []() noexcept { __builtin_trap(); },
    .arm_watchdog = []() noexcept {},
};

constinit std::atomic<const CheckHooks*> check_hooks{&kDefaultHooks};

// Set while the thread handles a failure: taking the stack may itself fail a check.
constinit thread_local bool failing = false;

void print(const CheckHooks& hooks, Line& line) {
  const std::string_view text = line.end_line();
  hooks.write_line(text.data(), text.size());
}

template <typename Function>
Function find_function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Opened now and not linked: libunwind defines the _Unwind_ functions of the C++ runtime, which
// in the guest must stay the guest's own. Its dlopen is looked up because ours is preloaded.
int take_stack(void** frames, int frames_max) {
  const auto open_library = find_function<decltype(&::dlopen)>(RTLD_NEXT, "dlopen");
  void* unwinder =
      open_library == nullptr ? nullptr : open_library(kUnwinder, RTLD_NOW | RTLD_LOCAL);
  if (unwinder == nullptr) return 0;
  const auto backtrace = find_function<decltype(&::unw_backtrace)>(unwinder, "unw_backtrace");
  return backtrace == nullptr ? 0 : backtrace(frames, frames_max);
}

void print_frame(const CheckHooks& hooks, int index, void* frame) {
  // A frame is the address to return to. One less lies in the call, whereas the address itself
  // may be another function's when the call never returns.
  const auto address = reinterpret_cast<std::uintptr_t>(frame) - 1;
  Line line;
  line.append("librsock:   #").append_decimal(index).append(" ");
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) {
    line.append_hex(address);
  } else {
    line.append(info.dli_fname).append("+");
    line.append_hex(address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    if (info.dli_sname != nullptr) line.append(" ").append(info.dli_sname);
  }
  print(hooks, line);
}

void print_stack(const CheckHooks& hooks) {
  void* frames[kFramesMax];
  const int count = take_stack(frames, kFramesMax);
  if (count <= 0) {
    Line line;
    line.append("librsock:   no stack: ").append(kUnwinder).append(" cannot be used");
    print(hooks, line);
    return;
  }
  for (int index = 0; index < count; ++index) print_frame(hooks, index, frames[index]);
}

}  // namespace

void set_check_hooks(const CheckHooks& hooks) noexcept {
  check_hooks.store(&hooks, std::memory_order_release);
}

void check_failed(const char* expression, const char* file, int line_number,
                  std::string_view message) noexcept {
  const CheckHooks& hooks = *check_hooks.load(std::memory_order_acquire);
  Line line;
  line.append("librsock: check failed: ").append(expression);
  line.append(" at ").append(file).append(":").append_decimal(line_number);
  if (!message.empty()) line.append(" (").append(message).append(")");
  print(hooks, line);
  if (!failing) {
    failing = true;
    hooks.arm_watchdog();
    print_stack(hooks);
  }
  hooks.abort_process();
  __builtin_trap();
}

}  // namespace rsock
