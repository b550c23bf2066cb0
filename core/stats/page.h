#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/stats/counters.h"
#include "core/stats/reason.h"

namespace rsock::stats {

// The stats page: what a process that runs the shim shows to rsock-stat.
//
// It is a memfd called kPageName that the process maps and keeps open, so a reader finds it as
// /proc/PID/fd/N, only a reader with the right to look into the process can open it, and it
// vanishes with the process, however that ends. Layout of the file:
//
//   0                  PageHeader
//   header_bytes       ConnectionRow[row_capacity], a sparse array; rows [0, rows_used) may be
//                      in use
//
// Thread safety: every field after the fixed ones is an atomic. The owner writes, readers in
// other processes only read. A reader must not trust a page: it checks magic, version and the
// sizes against the file before it maps anything.
inline constexpr char kPageName[] = "rsock-stats";
inline constexpr std::uint64_t kPageMagic = 0x31'54'53'4b'43'4f'53'52;  // "RSOCKST1"
inline constexpr std::uint32_t kPageVersion = 1;

inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kCounterSlots = 64;
inline constexpr std::size_t kReasonSlots = 64;
inline constexpr std::size_t kProgramBytes = 64;

// Which way the bytes of a connection go.
enum class Path : std::uint8_t {
  tcp,    // the kernel's TCP
  verbs,  // RDMA
  shm,    // shared memory
};

// What a followed socket has become.
enum class Role : std::uint8_t {
  fresh,      // neither connected nor listening
  listener,   // listen() succeeded
  client,     // connect() was called
  server,     // came from accept()
  inherited,  // found connected: from another process or an exec
};

struct alignas(64) PageHeader {
  // Fixed before the page is published.
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t row_bytes;
  std::uint32_t row_capacity;
  std::uint32_t counter_count;
  std::uint32_t reason_count;
  std::uint64_t started_realtime_ns;  // when this process began to follow sockets
  char program[kProgramBytes];        // NUL-terminated short name of the program
  std::uint64_t inode;                // of the memfd; zero if this page is in private memory

  // One more than the largest row index ever used.
  alignas(64) std::atomic<std::uint32_t> rows_used;

  alignas(64) std::atomic<std::uint64_t> counters[kCounterSlots];  // by Counter
  std::atomic<std::uint64_t> reasons[kReasonSlots];                // sockets, by Reason
};

// One followed socket. A reader takes `identity`, the fields, and `identity` again: equal and
// not zero means that all fields belong to the same socket.
struct alignas(64) ConnectionRow {
  std::atomic<std::uint64_t> identity;  // generation << 32 | fd + 1; zero: row not in use
  std::atomic<std::uint64_t> inode;     // of the socket, as in /proc/PID/fd: socket:[inode]
  std::atomic<std::uint64_t> since_realtime_ns;  // when the socket was first seen
  std::atomic<std::uint64_t> tx_tcp_bytes;       // accepted from the program for the spine
  std::atomic<std::uint64_t> rx_tcp_bytes;       // given to the program from the spine
  std::atomic<Reason> reason;                    // why on TCP
  std::atomic<Role> role;
  std::atomic<Path> path;
  std::uint8_t reserved[20];  // must be zero
};

static_assert(sizeof(PageHeader) <= kHeaderBytes);
static_assert(offsetof(PageHeader, program) == 40);
static_assert(offsetof(PageHeader, inode) == 104);
static_assert(offsetof(PageHeader, rows_used) == 128);
static_assert(offsetof(PageHeader, counters) == 192);
static_assert(offsetof(PageHeader, reasons) == 192 + kCounterSlots * 8);
static_assert(sizeof(ConnectionRow) == 64, "one cache line: rows of two sockets share none");
static_assert(offsetof(ConnectionRow, reason) == 40);
static_assert(kCounterCount <= kCounterSlots && kReasonCount <= kReasonSlots);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace rsock::stats
