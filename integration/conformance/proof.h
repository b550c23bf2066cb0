#pragma once

#include <string>

namespace rsock::conformance {

// Proof that a run was what its mode says, from outside the tested calls: a library that is not
// loaded, or sees nothing, passes all conformance cases.

// What is wrong with this run, or an empty string. Called after the cases have run.
[[nodiscard]] std::string what_disproves_mode();

}  // namespace rsock::conformance
