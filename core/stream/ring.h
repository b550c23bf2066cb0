#pragma once

#include <bit>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/offset.h"

namespace rsock::stream {

// A receive ring as both ends of a direction know it: its number, which says which memory it is,
// its size, and the offset of the first byte that went into it. Where the memory is, only the link
// knows. It is mapped twice in a row, so no span of bytes ever wraps.
struct Ring {
  std::uint32_t number = 0;
  std::uint32_t bytes = 0;  // a power of two
  StreamOffset from;        // the ring holds no byte before this one

  // Where in the ring the byte at `offset` lies.
  [[nodiscard]] constexpr std::uint32_t index(StreamOffset offset) const noexcept {
    RSOCK_DCHECK(std::has_single_bit(bytes));
    return static_cast<std::uint32_t>(offset.value()) & (bytes - 1);
  }
};

}  // namespace rsock::stream
