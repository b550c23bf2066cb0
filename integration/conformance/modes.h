#pragma once

#include <string>

namespace rsock::conformance {

// How the two ends of a tested connection run: the one parameter of the whole suite
// (RSOCK_CONFORMANCE_MODE). Each mode must give the verdicts of `native`, and proof.h checks that
// the mode held.
struct Mode {
  std::string name;
  bool local_is_preloaded;  // the test process
  bool peer_is_preloaded;   // the process at the other end
};

// The mode of this run. Ends the program with a message if it names none.
[[nodiscard]] const Mode& mode();

// The library to preload (RSOCK_LIBRARY).
[[nodiscard]] std::string library_path();

// Sees to it that this process runs as the mode wants it: if not, it executes itself anew and
// does not return.
void enter_mode(char** arguments);

// Sets LD_PRELOAD for a peer process that is about to be executed. For use after fork.
void prepare_peer_environment();

// Whether the library is mapped in process `pid`.
[[nodiscard]] bool library_is_mapped(int pid);

}  // namespace rsock::conformance
