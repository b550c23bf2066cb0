#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rsock::conformance {

// The byte at `offset` of a test stream: neighbours, and the same place of another stream or of
// a nearby block, differ, so bytes that are lost, repeated or swapped show.
[[nodiscard]] inline char pattern_byte(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t word = (offset + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xc2b2ae3d27d4eb4fULL;
  word ^= word >> 29;
  return static_cast<char>(word >> 17);
}

[[nodiscard]] inline std::string pattern(std::uint64_t seed, std::uint64_t offset,
                                         std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t index = 0; index < count; ++index) {
    bytes[index] = pattern_byte(seed, offset + index);
  }
  return bytes;
}

// How many bytes from the start of `bytes` are those of the stream from `offset` on.
[[nodiscard]] inline std::size_t matching(std::uint64_t seed, std::uint64_t offset,
                                          const char* bytes, std::size_t count) {
  std::size_t index = 0;
  while (index < count && bytes[index] == pattern_byte(seed, offset + index)) ++index;
  return index;
}

}  // namespace rsock::conformance
