#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/mark.h"

namespace rsock {

// A line of text under construction in a buffer of `Capacity` bytes. It neither allocates nor
// looks at the locale, so it also serves where printf may not be used: in a signal handler, or
// while malloc's lock is held.
//
// Thread safety: none; it lives on the stack of the thread that uses it.
// Invariants:
//   1. Text that does not fit is left out, and the line then ends in "...".
template <std::size_t Capacity>
class TextBuffer {
 public:
  TextBuffer& append(std::string_view text) noexcept {
    if (truncated_) return *this;
    const std::size_t taken = std::min(text.size(), kTextCapacity - length_);
    // Not memcpy, which takes no null pointer even for no bytes.
    std::copy_n(text.data(), taken, bytes_ + length_);
    length_ += taken;
    if (taken != text.size()) end_truncated();
    return *this;
  }

  template <std::unsigned_integral Integer>
  TextBuffer& append_decimal(Integer value) noexcept {
    return append_digits(value, kDecimal);
  }

  template <std::signed_integral Integer>
  TextBuffer& append_decimal(Integer value) noexcept {
    // The smallest number has no positive twin, but as an unsigned one it negates rightly.
    const auto bits = static_cast<std::uint64_t>(value);
    if (value >= 0) return append_digits(bits, kDecimal);
    return append("-").append_digits(-bits, kDecimal);
  }

  // Without leading zeros, after "0x".
  template <std::unsigned_integral Integer>
  TextBuffer& append_hex(Integer value) noexcept {
    return append("0x").append_digits(value, kHexadecimal);
  }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_, length_}; }

  // The text as a whole line, for which there is always room. To be called once, at the end.
  [[nodiscard]] std::string_view end_line() noexcept {
    bytes_[length_++] = '\n';
    return view();
  }

 private:
  static constexpr std::string_view kEllipsis = "...";
  static constexpr std::size_t kTextCapacity = Capacity - 1;  // The newline needs one byte.
  static constexpr std::uint64_t kDecimal = 10;
  static constexpr std::uint64_t kHexadecimal = 16;
  static constexpr std::size_t kDigitsMax = 20;  // of a 64-bit number
  static_assert(kTextCapacity > kEllipsis.size());

  // Not std::to_chars, whose tables would be symbols shared with the whole guest.
  TextBuffer& append_digits(std::uint64_t value, std::uint64_t base) noexcept {
    char digits[kDigitsMax];
    std::size_t begin = kDigitsMax;
    do {
      digits[--begin] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    return append({digits + begin, kDigitsMax - begin});
  }

  void end_truncated() noexcept {
    RSOCK_MARK(text_truncated);
    truncated_ = true;
    std::memcpy(bytes_ + kTextCapacity - kEllipsis.size(), kEllipsis.data(), kEllipsis.size());
  }

  std::size_t length_ = 0;
  bool truncated_ = false;
  char bytes_[Capacity];
};

}  // namespace rsock
