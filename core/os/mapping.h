#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "core/base/result.h"
#include "core/os/errno_keeper.h"
#include "core/os/syscalls.h"

namespace rsock::os {

// Owns a mapping of shared memory and unmaps it. Thread safety: none.
class Mapping {
 public:
  constexpr Mapping() noexcept = default;
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    if (this != &other) {
      reset();
      base_ = std::exchange(other.base_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~Mapping() { reset(); }

  // `bytes` of `fd` from `offset` on, readable and writable. errno as mmap(2).
  [[nodiscard]] static Result<Mapping> of_file(int fd, std::size_t offset,
                                               std::size_t bytes) noexcept {
    return made(sys().mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                           static_cast<off_t>(offset)),
                bytes);
  }
  // Addresses without memory, to put mappings into. errno as mmap(2).
  [[nodiscard]] static Result<Mapping> of_addresses(std::size_t bytes) noexcept {
    return made(
        sys().mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
        bytes);
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  void reset() noexcept {
    if (base_ == nullptr) return;
    const ErrnoKeeper keeper;
    sys().munmap(std::exchange(base_, nullptr), bytes_);
  }

 private:
  static Result<Mapping> made(void* memory, std::size_t bytes) noexcept {
    if (memory == MAP_FAILED) return Error(-errno);
    Mapping mapping;
    mapping.base_ = static_cast<std::byte*>(memory);
    mapping.bytes_ = bytes;
    return mapping;
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

// Puts `bytes` of `fd` from `offset` on at `at`, twice in a row, over what is there: what runs past
// the end of the first copy is the beginning again. Zero, or errno as mmap(2), negated.
[[nodiscard]] inline int map_twice(std::byte* at, int fd, std::size_t offset,
                                   std::size_t bytes) noexcept {
  for (std::byte* copy : {at, at + bytes}) {
    if (sys().mmap(copy, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd,
                   static_cast<off_t>(offset)) == MAP_FAILED) {
      return -errno;
    }
  }
  return 0;
}

}  // namespace rsock::os
