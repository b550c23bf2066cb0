#pragma once

#include <atomic>
#include <cstdint>

#include "core/stats/page.h"

namespace rsock::socket {

// One TCP socket that the program holds, under one descriptor or several (dup). Sockets live in
// memory that is never given back and never used for anything else, so a reference can be tried
// on a socket that is just going away.
struct Socket {
  // generation << 32 | references. Zero references: free. The generation grows with each use of
  // this memory, so an old handle never matches a new socket.
  std::atomic<std::uint64_t> state;
  // The next socket in the list of free ones (index + 1, zero: none), while free.
  std::atomic<std::uint32_t> next_free_plus_one;
};

// What a slot of the table holds: which socket, in which generation. Zero: none.
class Handle {
 public:
  constexpr Handle() = default;
  constexpr explicit Handle(std::uint64_t word) : word_(word) {}
  constexpr Handle(std::uint32_t index, std::uint32_t generation)
      : word_(static_cast<std::uint64_t>(generation) << 32 | (index + 1)) {}

  [[nodiscard]] constexpr std::uint64_t word() const { return word_; }
  [[nodiscard]] constexpr explicit operator bool() const { return word_ != 0; }
  [[nodiscard]] constexpr std::uint32_t index() const {
    return static_cast<std::uint32_t>(word_) - 1;
  }
  [[nodiscard]] constexpr std::uint32_t generation() const {
    return static_cast<std::uint32_t>(word_ >> 32);
  }
  friend constexpr bool operator==(Handle, Handle) = default;

 private:
  std::uint64_t word_ = 0;
};

}  // namespace rsock::socket
