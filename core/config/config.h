#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/config/limits.h"

namespace rsock::config {

// What a value of a setting is called in the code and in its environment variable.
//
//   X(name, text)
#define RSOCK_TRANSPORTS(X) \
  X(automatic, "auto")      \
  X(rdma, "rdma")           \
  X(shm, "shm")             \
  X(tcp, "tcp")

#define RSOCK_UPGRADE_POLICIES(X) \
  X(eager, "eager")               \
  X(adaptive, "adaptive")         \
  X(off, "off")

#define RSOCK_LOG_LEVELS(X) \
  X(error, "error")         \
  X(warn, "warn")           \
  X(info, "info")           \
  X(debug, "debug")         \
  X(trace, "trace")

#define RSOCK_SETTING_VALUE(name, text) name,

// RSOCK_TRANSPORT: what may carry a connection besides TCP.
enum class Transport : std::uint8_t { RSOCK_TRANSPORTS(RSOCK_SETTING_VALUE) };

// RSOCK_UPGRADE: when a connection is upgraded. At once, after it has proved to be worth it, or
// never.
enum class UpgradePolicy : std::uint8_t { RSOCK_UPGRADE_POLICIES(RSOCK_SETTING_VALUE) };

// RSOCK_LOG: messages up to this level are printed. A healthy run prints no error.
enum class LogLevel : std::uint8_t { RSOCK_LOG_LEVELS(RSOCK_SETTING_VALUE) };

#undef RSOCK_SETTING_VALUE

[[nodiscard]] std::string_view to_string(Transport transport) noexcept;
[[nodiscard]] std::string_view to_string(UpgradePolicy policy) noexcept;
[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;

// The settings of this process, with their defaults.
struct Config {
  Transport transport = Transport::automatic;
  UpgradePolicy upgrade = UpgradePolicy::adaptive;
  LogLevel log_level = LogLevel::error;
  bool stats = true;                      // RSOCK_STATS: whether rsock-stat may see the process
  char log_file[kLogFilePathBytes] = "";  // RSOCK_LOG_FILE; empty: standard error
};

// The environment variables that are read.
inline constexpr std::size_t kVariableCount = 5;

// A variable whose value is not known; its setting keeps its default.
struct ParseError {
  std::string_view variable;
  // The beginning of the value, with "?" for what could disturb a terminal.
  char value[kShownValueBytes];
  std::string_view why;
};

class ParseErrors {
 public:
  void add(std::string_view variable, std::string_view value, std::string_view why) noexcept;

  [[nodiscard]] const ParseError* begin() const noexcept { return errors_.data(); }
  [[nodiscard]] const ParseError* end() const noexcept { return errors_.data() + count_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  std::array<ParseError, kVariableCount> errors_{};  // at most one for each variable
  std::size_t count_ = 0;
};

// Looks up an environment variable: getenv, secure_getenv, or a test's own.
using Lookup = const char* (*)(const char* name);

// Reads the settings from the environment. A variable that is unset or empty leaves its setting
// as it is in `config`; so does a broken one, which is added to the errors.
[[nodiscard]] ParseErrors parse(Lookup lookup, Config& config) noexcept;

// The settings in force: the defaults until set_config(), which is called once, while the library
// starts and before it makes threads.
[[nodiscard]] const Config& config() noexcept;
void set_config(const Config& config) noexcept;

}  // namespace rsock::config
