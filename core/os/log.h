#pragma once

#include "core/base/text_buffer.h"
#include "core/config/config.h"
#include "core/config/limits.h"

namespace rsock::os {

// The log: one line for each message, to standard error or to RSOCK_LOG_FILE. Nothing here
// allocates, and every function may be called by any thread and any signal handler; errno may
// change.
using LogLine = TextBuffer<config::kLogLineBytes>;

// Opens the log: from now on, messages up to `level_max` go to the file `path`, or to standard
// error if that is empty or can't be opened.
void open_log(config::LogLevel level_max, const char* path) noexcept;

// Whether a message of this level would be written: ask before composing one.
[[nodiscard]] bool log_is_enabled(config::LogLevel level) noexcept;

// Writes `message` (which is used up) as a line with a prefix that names process and level.
void log(config::LogLevel level, const LogLine& message) noexcept;

// Writes text that already is a line, whatever the level.
void write_log(std::string_view line) noexcept;

}  // namespace rsock::os
