#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

#include "core/base/check.h"

namespace rsock {

// A number of bytes is unsigned: whoever has a signed one must first say that it is no error code.
template <typename T>
concept ByteCount = std::unsigned_integral<T> && !std::same_as<T, bool>;

// A position in one direction of a TCP connection, counted from its first byte, whichever path
// carried it. A position is not a number of bytes: positions can be compared and subtracted, a
// number of bytes can be added to one, and nothing else compiles.
//
// Thread safety: a value.
// Invariants:
//   1. It never wraps: 2^64 bytes take eleven years at 400 Gbit/s.
class StreamOffset {
 public:
  constexpr StreamOffset() noexcept = default;
  explicit constexpr StreamOffset(std::uint64_t value) noexcept : value_(value) {}

  // For wire formats, log lines and the index into a ring.
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

  [[nodiscard]] friend constexpr auto operator<=>(StreamOffset, StreamOffset) noexcept = default;

  // The number of bytes from `earlier` up to `later`.
  [[nodiscard]] friend constexpr std::uint64_t operator-(StreamOffset later,
                                                         StreamOffset earlier) noexcept {
    RSOCK_DCHECK(earlier <= later);
    return later.value_ - earlier.value_;
  }

  template <ByteCount Count>
  [[nodiscard]] friend constexpr StreamOffset operator+(StreamOffset offset,
                                                        Count count_bytes) noexcept {
    return offset += count_bytes;
  }

  template <ByteCount Count>
  constexpr StreamOffset& operator+=(Count count_bytes) noexcept {
    RSOCK_DCHECK(count_bytes <= UINT64_MAX - value_);
    value_ += count_bytes;
    return *this;
  }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace rsock
