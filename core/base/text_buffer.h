#pragma once

#include <charconv>
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
    const std::size_t room = kTextCapacity - length_;
    if (truncated_ || text.size() > room) [[unlikely]]
      return append_truncated(text, room);
    std::memcpy(bytes_ + length_, text.data(), text.size());
    length_ += text.size();
    return *this;
  }

  template <std::integral Integer>
  requires(!std::same_as<Integer, bool> &&
           !std::same_as<Integer, char>) TextBuffer& append_decimal(Integer value) noexcept {
    return append_number(value, kDecimal);
  }

  // Without leading zeros, after "0x".
  template <std::unsigned_integral Integer>
  TextBuffer& append_hex(Integer value) noexcept {
    return append("0x").append_number(value, kHexadecimal);
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
  static constexpr int kDecimal = 10;
  static constexpr int kHexadecimal = 16;
  static constexpr std::size_t kDigitsMax = 20;  // of a 64-bit number, with its sign
  static_assert(kTextCapacity > kEllipsis.size());

  template <std::integral Integer>
  TextBuffer& append_number(Integer value, int base) noexcept {
    char digits[kDigitsMax];
    const std::to_chars_result result = std::to_chars(digits, digits + kDigitsMax, value, base);
    return append({digits, static_cast<std::size_t>(result.ptr - digits)});
  }

  TextBuffer& append_truncated(std::string_view text, std::size_t room) noexcept {
    if (truncated_) return *this;
    RSOCK_MARK(text_truncated);
    truncated_ = true;
    std::memcpy(bytes_ + length_, text.data(), room);
    length_ = kTextCapacity;
    std::memcpy(bytes_ + length_ - kEllipsis.size(), kEllipsis.data(), kEllipsis.size());
    return *this;
  }

  std::size_t length_ = 0;
  bool truncated_ = false;
  char bytes_[Capacity];
};

}  // namespace rsock
