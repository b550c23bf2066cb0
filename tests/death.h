#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rsock::testing {

// How a child process ended, and what it wrote to standard error.
struct Death {
  int signal;     // that killed it, or zero
  int exit_code;  // if no signal did
  std::string text;

  [[nodiscard]] bool says(std::string_view what) const {
    return text.find(what) != std::string::npos;
  }
};

// Runs `action` in a forked child, which leaves with code 0 if the action returns.
[[nodiscard]] Death run_in_child(const std::function<void()>& action);

}  // namespace rsock::testing
