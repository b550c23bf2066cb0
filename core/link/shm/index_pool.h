#pragma once

#include <bit>
#include <cstdint>

#include "core/config/limits.h"

namespace rsock::link::shm {

// The indices of the streams on one side of a link. An index is free again when both ends have
// said that they are through with it.
//
// Thread safety: none; it belongs to whoever drives the link.
class IndexPool {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The smallest free index, or kNone.
  [[nodiscard]] std::uint32_t take() noexcept {
    for (std::uint32_t word = first_free_word_; word < kWords; ++word) {
      if (used_[word] == UINT64_MAX) continue;
      const auto bit = static_cast<std::uint32_t>(std::countr_one(used_[word]));
      used_[word] |= std::uint64_t{1} << bit;
      first_free_word_ = word;
      return word * kBits + bit;
    }
    return kNone;
  }

  [[nodiscard]] bool is_used(std::uint32_t index) const noexcept { return test(used_, index); }

  // One of both ends is through with it. False: it had said so before, or the index is not in use.
  [[nodiscard]] bool close_here(std::uint32_t index) noexcept {
    return close(closed_here_, closed_there_, index);
  }
  [[nodiscard]] bool close_there(std::uint32_t index) noexcept {
    return close(closed_there_, closed_here_, index);
  }

 private:
  static constexpr std::uint32_t kBits = 64;
  static constexpr std::uint32_t kWords = config::kStreamsPerLinkMax / kBits;
  using Set = std::uint64_t[kWords];

  static bool test(const Set& set, std::uint32_t index) noexcept {
    return (set[index / kBits] >> index % kBits & 1) != 0;
  }
  static void put(Set& set, std::uint32_t index, bool value) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << index % kBits;
    set[index / kBits] = value ? set[index / kBits] | bit : set[index / kBits] & ~bit;
  }
  bool close(Set& one, Set& other, std::uint32_t index) noexcept {
    if (!test(used_, index) || test(one, index)) return false;
    if (!test(other, index)) {
      put(one, index, true);
      return true;
    }
    put(other, index, false);
    put(used_, index, false);
    if (index / kBits < first_free_word_) first_free_word_ = index / kBits;
    return true;
  }

  Set used_{};
  Set closed_here_{};
  Set closed_there_{};
  std::uint32_t first_free_word_ = 0;
};

}  // namespace rsock::link::shm
