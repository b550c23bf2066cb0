#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/config/limits.h"
#include "core/socket/socket.h"

namespace rsock::socket {

// Descriptor number -> handle of the socket behind it.
//
// Thread safety: every function, by any thread and any signal handler, at any time; no lock. A
// look-up of a descriptor that is not ours is one load, or two where a socket of ours has a
// number nearby.
//
// Invariants:
//   1. A leaf once made is never moved or given back.
//   2. A slot changes by exchange or compare-exchange only, so each handle taken out of it is
//      taken out exactly once, by the caller who then owns its reference.
class DescriptorTable {
 public:
  // The handle at `fd`, or none. No reference comes with it.
  [[nodiscard]] Handle peek(int fd) const noexcept {
    const std::atomic<std::uint64_t>* slot = find(fd);
    return slot == nullptr ? Handle() : Handle(slot->load(std::memory_order_acquire));
  }

  // Puts `handle` at `fd` and gives back what was there. False when `fd` is too large or there is
  // no memory for the leaf; then nothing was put.
  [[nodiscard]] bool put(int fd, Handle handle, Handle& previous) noexcept;

  // Takes out what is at `fd`.
  [[nodiscard]] Handle take(int fd) noexcept;

  // Puts `handle` at `fd` if nothing is there. False when something is.
  [[nodiscard]] bool put_back(int fd, Handle handle) noexcept;

  // The smallest descriptor in [from, last] that has a handle, or -1.
  [[nodiscard]] int next_used(unsigned int from, unsigned int last) const noexcept;

 private:
  static constexpr unsigned int kLeafEntries = config::kFdsPerLeaf;
  static constexpr unsigned int kFdsMax = config::kTrackedFdsMax;
  static constexpr unsigned int kLeaves = kFdsMax / kLeafEntries;

  struct Leaf {
    std::atomic<std::uint64_t> slots[kLeafEntries];
  };

  [[nodiscard]] const std::atomic<std::uint64_t>* find(int fd) const noexcept {
    const auto number = static_cast<unsigned int>(fd);
    if (number >= kFdsMax) [[unlikely]]
      return nullptr;
    const Leaf* leaf = leaves_[number / kLeafEntries].load(std::memory_order_acquire);
    return leaf == nullptr ? nullptr : &leaf->slots[number % kLeafEntries];
  }
  [[nodiscard]] std::atomic<std::uint64_t>* find(int fd) noexcept {
    return const_cast<std::atomic<std::uint64_t>*>(std::as_const(*this).find(fd));
  }
  [[nodiscard]] std::atomic<std::uint64_t>* find_or_make(int fd) noexcept;

  std::atomic<Leaf*> leaves_[kLeaves]{};
};

}  // namespace rsock::socket
