#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>

namespace rsock::conformance {

// What `rsock-stat --json --pid PID` says of a process (RSOCK_STAT names the tool), or null if it
// says nothing.
[[nodiscard]] nlohmann::json process_statistics(pid_t pid);

// What it says of the connection at descriptor `fd` of that process, or null.
[[nodiscard]] nlohmann::json connection_statistics(pid_t pid, int fd);

}  // namespace rsock::conformance
