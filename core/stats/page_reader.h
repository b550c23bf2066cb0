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
  std::uint32_t version = 0;  // also known with PageStatus::unsupported_version
  std::string program;
  std::uint64_t started_realtime_ns = 0;
  std::uint64_t counters[kCounterCount] = {};
  std::uint64_t reasons[kReasonCount] = {};
  std::vector<RowSnapshot> rows;
};

enum class PageStatus {
  ok,
  none,                 // no page, or one that is being made: there was no TCP socket yet
  unreadable,           // not a page, or one that contradicts itself
  unsupported_version,  // of another version of the library
};

[[nodiscard]] const char* to_string(PageStatus status);

// Reads the page in the file `fd`, which stays open. Whatever the file says, reading it ends, takes
// bounded memory and does not touch memory that the file could lose meanwhile.
[[nodiscard]] PageStatus read_page(int fd, PageSnapshot& snapshot);

// The same for the file at `path`, such as a link in /proc/PID/fd; PageStatus::none if there is
// nothing any more. Another process decides what is there, and to open a pipe might wait for ever
// and to open a device have effects: nothing but a file is opened.
[[nodiscard]] PageStatus read_page_at(const std::string& path, PageSnapshot& snapshot);

}  // namespace rsock::stats
