#pragma once

#include <atomic>
#include <cstdint>

#include "core/config/limits.h"
#include "core/stats/page.h"

namespace rsock::stats {

// Writes this process's stats page. The page is made when the first socket is followed, so a
// program without TCP sockets pays nothing. Where no memfd can be had (or RSOCK_STATS=off) the
// same page lives in private memory and nobody sees it.
//
// Thread safety: every function may be called by any thread at any time, also by a signal
// handler; there is no lock. after_fork_in_child() is called while the process has one thread.
//
// Invariants:
//   1. A row pointer once given out stays valid, at the same address, for the process's life (in a
//      forked child that finds no memory, or is sandboxed: until the fork).
//   2. In a process made by fork, no write reaches the parent's page.
class Publisher {
 public:
  // The row of socket `index` (below config::kSocketsMax), or null when there is no memory.
  [[nodiscard]] ConnectionRow* row(std::uint32_t index) noexcept;

  // Row `index` is in use: readers look at the rows up to the largest such index.
  void note_row_used(std::uint32_t index) noexcept;

  // Counts an event; does nothing before the page exists.
  void count(Counter counter, std::uint64_t amount = 1) noexcept;
  void count(Reason reason) noexcept;

  // Gives the child a page of its own: the rows are copied, for it inherits the sockets, and the
  // counters start from zero.
  void after_fork_in_child() noexcept;

 private:
  static constexpr std::uint32_t kRowsPerChunk = config::kSocketsPerChunk;
  static constexpr std::uint32_t kChunks = config::kSocketsMax / kRowsPerChunk;

  PageHeader* open_page() noexcept;
  ConnectionRow* open_chunk(std::uint32_t chunk) noexcept;

  void stop() noexcept;

  std::atomic<bool> stopped_{false};
  std::atomic<PageHeader*> header_{nullptr};
  std::atomic<ConnectionRow*> chunks_[kChunks]{};  // chunk 0 lies behind the header
};

// The process's only publisher.
[[nodiscard]] Publisher& publisher() noexcept;

}  // namespace rsock::stats
