#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/os/mapping.h"
#include "core/os/unique_fd.h"
#include "core/wire/shm_layout.h"

namespace rsock::link::shm {

// One side's memory of a link (wire/shm_layout.h), as either process has it mapped.
//
// Thread safety: the words in it are atomics; mapping and unmapping rings belongs to whoever owns
// the stream's half in question.
// Invariants:
//   1. The file has its full size and can't shrink: no access to it ends in SIGBUS.
//   2. Memory of the file is touched only where a ring or a word is used.
class Segment {
 public:
  Segment() noexcept = default;

  // A new one: -EFBIG if the program's RLIMIT_FSIZE forbids it, or errno as memfd_create(2),
  // ftruncate(2) or mmap(2).
  [[nodiscard]] static Result<Segment> create() noexcept;
  // The other process's. Takes over `fd`. -EPROTO if it is no segment that can be trusted.
  [[nodiscard]] static Result<Segment> attach(os::UniqueFd fd) noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] wire::Mailbox& mailbox() const noexcept {
    return reinterpret_cast<wire::SegmentHeader*>(words_.base())->mailbox;
  }
  [[nodiscard]] wire::StreamBlock& block(std::uint32_t index) const noexcept {
    return reinterpret_cast<wire::StreamBlock*>(words_.base() + wire::kBlocksAt)[index];
  }
  // Makes the block of a stream that begins as new.
  void reset_block(std::uint32_t index) const noexcept;

  // The first ring of stream `index`, twice in a row. Rings of neighbours share one mapping of
  // the kernel's, of which a process may only have so many. errno as mmap(2).
  [[nodiscard]] Result<std::byte*> map_first_ring(std::uint32_t index) noexcept;
  // A grown ring, twice in a row. -EPROTO if there can be none, or errno as mmap(2).
  [[nodiscard]] Result<os::Mapping> map_ring(std::uint64_t place, std::uint32_t bytes) noexcept;
  // Where the grown ring number `which` (0 or 1) of stream `index` is.
  [[nodiscard]] static std::uint64_t place_of_ring(std::uint32_t index,
                                                   std::uint32_t which) noexcept {
    return wire::kGrownRingsAt +
           (std::uint64_t{index} * wire::kGrownRingsPerStream + which) * config::kRingBytesMax;
  }

  // Gives the memory of a ring back to the kernel: it reads as zeros then, and takes none until it
  // is written again. Only while nobody uses it.
  void give_back_first_ring(std::uint32_t index) noexcept;
  void give_back_ring(std::uint64_t place, std::uint32_t bytes) noexcept;

 private:
  [[nodiscard]] int map_words() noexcept;

  os::UniqueFd fd_;
  os::Mapping words_;        // header and blocks
  os::Mapping first_rings_;  // addresses for all first rings; mapped as streams come
};

}  // namespace rsock::link::shm
