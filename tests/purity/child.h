#pragma once

#include <sys/types.h>

#include <string>

namespace rsock::purity {

// Waits for the child and gives its exit status, or minus the signal that ended it.
[[nodiscard]] int exit_status_of(pid_t child);

// Runs `function` in a child of vfork, which leaves with status 0 if the function returns, and
// expects that status. The function runs in the caller's memory.
void run_in_vfork_child(void (*function)());

// The same in a child that `fork_function` makes as fork() does.
void run_in_forked_child(pid_t (*fork_function)(), void (*function)());

// How this program fared when it was started anew for another case.
struct SelfResult {
  int status;              // as exit_status_of
  std::string error_text;  // what was written to standard error
};
[[nodiscard]] SelfResult run_self(const char* case_name);

}  // namespace rsock::purity
