#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/stats/page.h"

namespace rsock::stats {

// One row of another process's stats page, as it was at one moment.
struct RowSnapshot {
  std::uint64_t inode;
  int first_fd;  // under which the socket was made; others may have come
  std::uint64_t since_realtime_ns;
  std::uint64_t tx_tcp_bytes;
  std::uint64_t rx_tcp_bytes;
  Reason reason;
  Role role;
  Path path;
};

// What a stats page says. Everything in it comes from another process and is checked.
struct PageSnapshot {
  std::string program;
  std::uint64_t started_realtime_ns = 0;
  std::uint64_t counters[kCounterCount] = {};
  std::uint64_t reasons[kReasonCount] = {};
  std::vector<RowSnapshot> rows;
};

enum class PageStatus {
  ok,
  none,                 // the process has no page: it has had no TCP socket yet
  unreadable,           // not a page, or one that contradicts itself
  unsupported_version,  // of another version of the library
};

[[nodiscard]] const char* to_string(PageStatus status);

// Reads the page in the file `fd`, which stays open. Never changes the file.
[[nodiscard]] PageStatus read_page(int fd, PageSnapshot& snapshot);

}  // namespace rsock::stats
