#include "core/stats/publisher.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/config/config.h"
#include "core/os/clock.h"
#include "core/os/inode.h"
#include "core/os/internal_fds.h"
#include "core/os/own_calls.h"
#include "core/os/sandbox.h"
#include "core/os/sealed_file.h"
#include "core/os/syscalls.h"

namespace rsock::stats {

namespace {

using os::InternalFd;
using os::sys;

constexpr std::size_t kChunkBytes = config::kSocketsPerChunk * sizeof(ConnectionRow);
constexpr std::size_t kFirstMappingBytes = kHeaderBytes + kChunkBytes;
constexpr std::size_t kFileBytes = kHeaderBytes + config::kSocketsMax * sizeof(ConnectionRow);

static_assert(kHeaderBytes % 4096 == 0 && kChunkBytes % 4096 == 0, "mmap offsets are whole pages");

// Memory of `fd` from `offset` on, or private memory when fd is -1. Null when there is none.
void* map(int fd, std::size_t offset, std::size_t bytes) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = sys().mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd,
                            fd < 0 ? 0 : static_cast<off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

// A memfd of the page's full (sparse) size that nobody can shrink under our feet, or -1.
int make_page_file() {
  if (!config::config().stats) return -1;
  Result<os::UniqueFd> fd = os::make_sealed_file(kPageName, kFileBytes);
  return fd.ok() ? fd.value().release() : -1;
}

PageHeader* describe(void* memory, int fd) {
  auto* header = new (memory) PageHeader{};
  header->magic = kPageMagic;
  header->version = kPageVersion;
  header->header_bytes = kHeaderBytes;
  header->row_bytes = sizeof(ConnectionRow);
  header->row_capacity = config::kSocketsMax;
  header->counter_count = kCounterCount;
  header->reason_count = kReasonCount;
  header->started_realtime_ns = os::realtime_ns();
  header->inode = os::inode_of(fd);
  std::strncpy(header->program, program_invocation_short_name, kProgramBytes - 1);
  return header;
}

ConnectionRow* rows_behind(PageHeader* header) {
  return reinterpret_cast<ConnectionRow*>(reinterpret_cast<char*>(header) + kHeaderBytes);
}

std::size_t chunk_offset(std::uint32_t chunk) { return kHeaderBytes + chunk * kChunkBytes; }

// How many bytes of a chunk have ever been used.
std::size_t used_bytes(std::uint32_t rows_used, std::uint32_t chunk) {
  const std::uint32_t before = chunk * config::kSocketsPerChunk;
  if (rows_used <= before) return 0;
  return std::min(rows_used - before, config::kSocketsPerChunk) * sizeof(ConnectionRow);
}

// Puts memory of `bytes`, backed by `fd`, in the place of `memory`, with a copy of its first
// `used_bytes`. The rest is zeros, as it was.
bool replace_with_copy(void* memory, int fd, std::size_t offset, std::size_t bytes,
                       std::size_t used_bytes) {
  void* copy = map(fd, offset, bytes);
  if (copy == nullptr) return false;
  std::memcpy(copy, memory, used_bytes);
  return sys().mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == memory;
}

constinit Publisher the_publisher;

}  // namespace

Publisher& publisher() noexcept { return the_publisher; }

// Two threads may get here at once. The first to register its file wins; both map that file, and
// the first to store the mapping wins again. No thread ever waits for the other.
PageHeader* Publisher::open_page() noexcept {
  int fd = os::internal_fd(InternalFd::stats_page);
  void* memory = nullptr;
  if (fd < 0) {
    const int made = make_page_file();
    memory = map(made, 0, kFirstMappingBytes);
    if (memory == nullptr) {
      if (made >= 0) os::close_own(made);
      return nullptr;
    }
    describe(memory, made);
    if (made >= 0) fd = os::keep_internal_fd(InternalFd::stats_page, made);
    const bool ours = fd < 0 || os::inode_of(fd) == static_cast<PageHeader*>(memory)->inode;
    if (!ours) {
      sys().munmap(memory, kFirstMappingBytes);
      memory = nullptr;
    }
  }
  if (memory == nullptr) memory = map(fd, 0, kFirstMappingBytes);
  if (memory == nullptr) return nullptr;
  PageHeader* expected = nullptr;
  auto* header = static_cast<PageHeader*>(memory);
  if (header_.compare_exchange_strong(expected, header, std::memory_order_acq_rel)) return header;
  sys().munmap(memory, kFirstMappingBytes);
  return expected;
}

ConnectionRow* Publisher::open_chunk(std::uint32_t chunk) noexcept {
  PageHeader* header = header_.load(std::memory_order_acquire);
  if (stopped_.load(std::memory_order_relaxed)) return nullptr;
  if (header == nullptr) header = open_page();
  if (header == nullptr) return nullptr;
  ConnectionRow* rows = rows_behind(header);
  ConnectionRow* expected = nullptr;
  if (chunk != 0) {
    rows = static_cast<ConnectionRow*>(
        map(os::internal_fd(InternalFd::stats_page), chunk_offset(chunk), kChunkBytes));
    if (rows == nullptr) return nullptr;
  }
  if (chunks_[chunk].compare_exchange_strong(expected, rows, std::memory_order_acq_rel)) {
    return rows;
  }
  if (chunk != 0) sys().munmap(rows, kChunkBytes);
  return expected;
}

ConnectionRow* Publisher::row(std::uint32_t index) noexcept {
  const std::uint32_t chunk = index / kRowsPerChunk;
  ConnectionRow* rows = chunks_[chunk].load(std::memory_order_acquire);
  if (rows == nullptr) [[unlikely]]
    rows = open_chunk(chunk);
  return rows == nullptr ? nullptr : &rows[index % kRowsPerChunk];
}

void Publisher::count(Counter counter, std::uint64_t amount) noexcept {
  PageHeader* header = header_.load(std::memory_order_acquire);
  if (header == nullptr) return;
  header->counters[static_cast<std::size_t>(counter)].fetch_add(amount, std::memory_order_relaxed);
}

void Publisher::count(Reason reason) noexcept {
  PageHeader* header = header_.load(std::memory_order_acquire);
  if (header == nullptr) return;
  header->reasons[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

void Publisher::note_row_used(std::uint32_t index) noexcept {
  PageHeader* header = header_.load(std::memory_order_acquire);
  if (header == nullptr) return;
  std::uint32_t used = header->rows_used.load(std::memory_order_relaxed);
  while (used <= index &&
         !header->rows_used.compare_exchange_weak(used, index + 1, std::memory_order_release)) {
  }
}

void Publisher::after_fork_in_child() noexcept {
  // Another thread may have been about to make the page: its descriptor counts, too.
  os::drop_internal_fd(InternalFd::stats_page);
  PageHeader* header = header_.load(std::memory_order_acquire);
  if (header == nullptr) return;
  if (os::is_sandboxed()) {
    stop();
    return;
  }
  const std::uint32_t rows_used = header->rows_used.load(std::memory_order_relaxed);
  int fd = make_page_file();
  if (fd >= 0) fd = os::keep_internal_fd(InternalFd::stats_page, fd);
  if (!replace_with_copy(header, fd, 0, kFirstMappingBytes,
                         kHeaderBytes + used_bytes(rows_used, 0))) {
    header_.store(nullptr);
  }
  for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    ConnectionRow* rows = chunks_[chunk].load(std::memory_order_relaxed);
    if (rows == nullptr) continue;
    const bool kept = chunk == 0 ? header_.load() != nullptr
                                 : replace_with_copy(rows, fd, chunk_offset(chunk), kChunkBytes,
                                                     used_bytes(rows_used, chunk));
    if (!kept) chunks_[chunk].store(nullptr);
  }
  if (header_.load() == nullptr) return;
  describe(header, fd)->rows_used.store(rows_used, std::memory_order_relaxed);
}

// Nothing is followed any more. The memory stays mapped: it is the parent's page.
void Publisher::stop() noexcept {
  stopped_.store(true);
  header_.store(nullptr);
  for (auto& chunk : chunks_) chunk.store(nullptr);
}

}  // namespace rsock::stats
