#pragma once

namespace rsock::purity {

// What the library closes in a child of fork, in a handler that it registered before the library
// under test registered its own; -1: nothing.
[[gnu::visibility("default")]] extern int closed_in_fork_child;

// When in the life of a process the library's functions are called. Each phase leaves its letter
// in the pipe whose number is in the environment variable kMarksVariable, if that is set.
enum class Phase : char {
  preinit = 'p',      // before every constructor
  constructor = 'c',  // of a library that starts before ours
  main = 'm',
  at_exit = 'a',
  destructor = 'd',  // of that library, which ends after ours
};

inline constexpr char kAllPhases[] = "pcmad";
inline constexpr char kMarksVariable[] = "RSOCK_PURITY_MARKS";
// The library's log file. It has an error to write there, so the file shows whether the library's
// own constructor has run.
inline constexpr char kLogVariable[] = "RSOCK_LOG_FILE";

// Calls functions of every group, and checks what they do.
[[gnu::visibility("default")]] void exercise(Phase phase);

}  // namespace rsock::purity
