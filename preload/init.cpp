// The library's start. Everything works before it too: the table of libc functions resolves
// itself, settings have their defaults, and what the program opened earlier is only not followed.
// There is no end: the functions go on working while the process's last destructors run.
#include <cstdlib>

#include "core/base/check.h"
#include "core/config/config.h"
#include "core/os/fatal.h"
#include "core/os/log.h"
#include "core/os/syscalls.h"
#include "core/process/fork.h"
#include "core/socket/lifecycle.h"
#include "preload/entries.h"

namespace {

namespace config = rsock::config;
namespace entries = rsock::entries;
namespace os = rsock::os;
namespace process = rsock::process;
namespace socket = rsock::socket;

constexpr unsigned int kWatchdogSeconds = 5;

void write_line(const char* text, std::size_t length_bytes) noexcept {
  os::write_log({text, length_bytes});
}

void abort_process() noexcept { os::sys().abort(); }

void arm_watchdog() noexcept { os::die_after(kWatchdogSeconds); }

// Not for a program that runs with more rights than its caller.
const char* look_up(const char* name) { return secure_getenv(name); }

constexpr rsock::CheckHooks kCheckHooks = {&write_line, &abort_process, &arm_watchdog};

void report(const config::ParseErrors& errors) {
  for (const config::ParseError& error : errors) {
    os::LogLine line;
    line.append(error.variable).append("=").append(error.value).append(": ").append(error.why);
    os::log(config::LogLevel::error, line);
  }
}

// Not with a lower priority than usual: libraries that the program links start before us in any
// case, and call us.
[[gnu::constructor]] void start_library() {
  os::resolve_all();
  entries::use_real_syscall();
  rsock::set_check_hooks(kCheckHooks);
  static constinit config::Config settings;
  const config::ParseErrors errors = config::parse(&look_up, settings);
  config::set_config(settings);
  os::open_log(settings.log_level, settings.log_file);
  report(errors);
  process::watch_forks();
  socket::adopt_inherited();
}

}  // namespace
