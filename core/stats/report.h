#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/stats/process_scan.h"

namespace rsock::stats {

// Why a connection is on TCP, in words: "not upgraded: ...".
[[nodiscard]] std::string reason_text(Reason reason);

// "0 B", "1.5 KiB", "23.0 GiB".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

// Text of another process without what could disturb a terminal or the columns of a table.
[[nodiscard]] std::string printable(std::string_view text);

// A table of the connections, a line each; listeners only if wanted.
void print_table(std::ostream& out, const std::vector<Process>& processes, bool listeners);

// The same, and the counters, as one JSON object with the schema "rsock-stat/1".
void print_json(std::ostream& out, const std::vector<Process>& processes);

}  // namespace rsock::stats
