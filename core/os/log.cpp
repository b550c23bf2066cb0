#include "core/os/log.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "core/os/inode.h"
#include "core/os/internal_fds.h"
#include "core/os/own_calls.h"
#include "core/os/syscalls.h"

namespace rsock::os {

namespace {

constexpr mode_t kLogFileMode = 0600;

constinit std::atomic<config::LogLevel> threshold{config::LogLevel::error};

// What standard error was when the library started. A daemon closes it, and the number may
// become a connection or a database file: our text has no business there.
constinit std::atomic<std::uint64_t> stderr_identity{0};

int log_target() {
  const int file = internal_fd(InternalFd::log_file);
  if (file >= 0) return file;
  const std::uint64_t identity = stderr_identity.load(std::memory_order_relaxed);
  return identity != 0 && file_identity(STDERR_FILENO) == identity ? STDERR_FILENO : -1;
}

// One write: lines of several threads and processes do not mix. What can't be written is lost. A
// broken pipe would end the program by SIGPIPE, so the signal is kept back and taken away.
void write_without_signal(int fd, std::string_view line) {
  constexpr std::size_t kKernelSignalBytes = 8;
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_signal);
  sigemptyset(&pending);
  sigaddset(&pipe_signal, SIGPIPE);
  sys().pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  sys().syscall(SYS_rt_sigpending, &pending, kKernelSignalBytes);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  if (write_own(fd, line.data(), line.size()) < 0 && errno == EPIPE && !was_pending) {
    const timespec at_once{};
    sys().syscall(SYS_rt_sigtimedwait, &pipe_signal, nullptr, &at_once, kKernelSignalBytes);
  }
  sys().pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void open_log(config::LogLevel level_max, const char* path) noexcept {
  threshold.store(level_max, std::memory_order_relaxed);
  stderr_identity.store(file_identity(STDERR_FILENO), std::memory_order_relaxed);
  if (*path == '\0') return;
  const int fd =
      sys().open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, kLogFileMode);
  if (fd >= 0 && keep_internal_fd(InternalFd::log_file, fd) >= 0) return;
  LogLine message;
  log(config::LogLevel::error,
      message.append("can't open the log file ").append(path).append("; using standard error"));
}

bool log_is_enabled(config::LogLevel level) noexcept {
  return level <= threshold.load(std::memory_order_relaxed);
}

void log(config::LogLevel level, const LogLine& message) noexcept {
  if (!log_is_enabled(level)) return;
  LogLine line;
  line.append("rsock[").append_decimal(sys().getpid()).append("] ");
  line.append(config::to_string(level)).append(": ").append(message.view());
  write_log(line.end_line());
}

void write_log(std::string_view line) noexcept {
  const int fd = log_target();
  if (fd < 0) return;
  write_without_signal(fd, line);
}

}  // namespace rsock::os
