#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/config/limits.h"
#include "core/wire/stream_words.h"

namespace rsock::wire {

// The memory that one process of a pair shares with the other (PROTOCOL.md, section 8): what the
// other writes, and where it reads. A memfd of fixed size, which is sparse: only what has been
// used takes memory.
inline constexpr std::uint64_t kSegmentMagic = 0x31'4d'48'53'4b'43'4f'53;  // "SOCKSHM1"
inline constexpr std::uint32_t kSegmentVersion = 1;
inline constexpr std::size_t kPageBytes = 4096;

inline constexpr std::uint32_t kBitsPerWord = 64;
inline constexpr std::uint32_t kMailboxWords = config::kStreamsPerLinkMax / kBitsPerWord;
inline constexpr std::uint32_t kMailboxGroups = kMailboxWords / kBitsPerWord;
static_assert(kMailboxGroups <= kBitsPerWord, "three levels of bits");

// The streams about which the owner has news. Bit i of words[j] is stream 64 j + i; a bit of the
// level above says that the word below may have bits.
struct Mailbox {
  std::atomic<std::uint32_t> asleep{0};  // 1: the owner wants its bell rung
  alignas(kWordLineBytes) std::atomic<std::uint64_t> top{0};
  std::atomic<std::uint64_t> groups[kMailboxGroups]{};
  std::atomic<std::uint64_t> words[kMailboxWords]{};
};

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t streams;  // how many there may be
  std::uint64_t segment_bytes;
  alignas(kWordLineBytes) Mailbox mailbox;
};

// What the other process tells about one stream.
struct StreamBlock {
  SenderWords sender;      // of the direction that the owner of the segment receives
  ReceiverWords receiver;  // of the direction that it sends
};

// Where things are in a segment.
inline constexpr std::size_t kHeaderBytes =
    (sizeof(SegmentHeader) + kPageBytes - 1) / kPageBytes * kPageBytes;
inline constexpr std::size_t kBlocksAt = kHeaderBytes;
inline constexpr std::size_t kFirstRingsAt =
    kBlocksAt + config::kStreamsPerLinkMax * sizeof(StreamBlock);
inline constexpr std::size_t kGrownRingsAt =
    kFirstRingsAt + std::size_t{config::kStreamsPerLinkMax} * config::kFirstRingBytes;
// A stream has room for two grown rings: one in use, one to go to.
inline constexpr std::uint32_t kGrownRingsPerStream = 2;
inline constexpr std::size_t kSegmentBytes =
    kGrownRingsAt +
    std::size_t{config::kStreamsPerLinkMax} * kGrownRingsPerStream * config::kRingBytesMax;

static_assert(sizeof(StreamBlock) == 2 * kWordLineBytes);
static_assert(offsetof(SegmentHeader, mailbox) == 64);
static_assert(offsetof(Mailbox, top) == 64 && offsetof(Mailbox, groups) == 72);
static_assert(kBlocksAt % kPageBytes == 0 && kFirstRingsAt % kPageBytes == 0);
static_assert(kGrownRingsAt % kPageBytes == 0);

}  // namespace rsock::wire
