#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rsock::wire {

// The words by which the two ends of one direction of a stream tell each other where they are
// (PROTOCOL.md, section 1). Each line is written by one end and read by the other, in memory that
// both can write: whoever reads checks what it reads.
static_assert(std::endian::native == std::endian::little, "the words are little-endian");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::size_t kWordLineBytes = 64;  // a cache line

// The value of an offset that is not set.
inline constexpr std::uint64_t kOffsetUnset = UINT64_MAX;

// Bits of arrival_interest and space_interest: who wants to know of a change.
inline constexpr std::uint32_t kWakeSleeper = 1;  // a thread sleeps on the word itself
inline constexpr std::uint32_t kTellMailbox = 2;  // the mailbox is to have the stream's bit

// cf. TCP's snd_nxt, and the FIN and RST of its segments.
struct alignas(kWordLineBytes) SenderWords {
  std::atomic<std::uint64_t> tail{0};
  std::atomic<std::uint64_t> switch_at{kOffsetUnset};
  std::atomic<std::uint64_t> stop_at{kOffsetUnset};
  std::atomic<std::uint64_t> fin_at{kOffsetUnset};
  std::atomic<std::uint64_t> ring_from{0};
  std::atomic<std::uint32_t> ring_number{0};
  std::atomic<std::uint32_t> stalls{0};
  std::atomic<std::uint32_t> space_interest{0};
  std::uint8_t zero[12]{};
};

// cf. TCP's acknowledgement number and window.
struct alignas(kWordLineBytes) ReceiverWords {
  std::atomic<std::uint64_t> head{0};
  std::atomic<std::uint64_t> ring_place{0};
  std::atomic<std::uint32_t> ring_bytes{0};
  std::atomic<std::uint32_t> ring_number{0};
  std::atomic<std::uint32_t> switch_seen{0};
  std::atomic<std::uint32_t> stop_wanted{0};
  std::atomic<std::uint32_t> arrival_interest{0};
  std::uint8_t zero[28]{};
};

static_assert(sizeof(SenderWords) == kWordLineBytes && sizeof(ReceiverWords) == kWordLineBytes);
static_assert(offsetof(SenderWords, switch_at) == 8 && offsetof(SenderWords, stop_at) == 16);
static_assert(offsetof(SenderWords, fin_at) == 24 && offsetof(SenderWords, ring_from) == 32);
static_assert(offsetof(SenderWords, ring_number) == 40 && offsetof(SenderWords, stalls) == 44);
static_assert(offsetof(SenderWords, space_interest) == 48 && offsetof(SenderWords, zero) == 52);
static_assert(offsetof(ReceiverWords, ring_place) == 8);
static_assert(offsetof(ReceiverWords, ring_bytes) == 16);
static_assert(offsetof(ReceiverWords, ring_number) == 20);
static_assert(offsetof(ReceiverWords, switch_seen) == 24);
static_assert(offsetof(ReceiverWords, stop_wanted) == 28);
static_assert(offsetof(ReceiverWords, arrival_interest) == 32);
static_assert(offsetof(ReceiverWords, zero) == 36);

// The challenge of a direction's receiver, which its sender writes into the spine at the
// switchover: whoever can do that holds both the link and the connection.
inline constexpr std::size_t kProofBytes = 16;
using Proof = std::array<std::byte, kProofBytes>;

}  // namespace rsock::wire
