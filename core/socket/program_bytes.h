#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rsock::socket {

// The bytes of a program, in as many parts as it gave, with a place in them up to which they have
// been sent or received.
//
// Thread safety: none; it lives on the stack of the call that it belongs to.
class ProgramBytes {
 public:
  ProgramBytes(const iovec* parts, std::size_t count) noexcept : part_(parts), end_(parts + count) {
    for (const iovec* part = parts; part != end_; ++part) left_ += part->iov_len;
    skip_empty_parts();
  }

  [[nodiscard]] std::size_t left_bytes() const noexcept { return left_; }

  // Copies the next `bytes` out of the program's memory, or into it, and moves on.
  void copy_to(std::byte* to, std::size_t bytes) noexcept {
    advance(bytes, [&](std::byte* from, std::size_t count) {
      std::memcpy(to, from, count);
      to += count;
    });
  }
  void copy_from(const std::byte* from, std::size_t bytes) noexcept {
    advance(bytes, [&](std::byte* to, std::size_t count) {
      std::memcpy(to, from, count);
      from += count;
    });
  }
  void skip(std::size_t bytes) noexcept {
    advance(bytes, [](std::byte*, std::size_t) {});
  }

  // The next parts, of up to `bytes` together, as an array of `capacity`: how many there are. For
  // the kernel to send or fill; then skip() what it did.
  [[nodiscard]] std::size_t next_parts(iovec* array, std::size_t capacity,
                                       std::size_t bytes) const noexcept {
    std::size_t count = 0;
    std::size_t used = used_;
    for (const iovec* part = part_; part != end_ && count < capacity && bytes > 0; ++part) {
      const std::size_t length = std::min(part->iov_len - used, bytes);
      array[count++] = {static_cast<std::byte*>(part->iov_base) + used, length};
      bytes -= length;
      used = 0;
    }
    return count;
  }

 private:
  template <typename Use>
  void advance(std::size_t bytes, Use use) noexcept {
    left_ -= bytes;
    while (bytes > 0) {
      const std::size_t count = std::min(part_->iov_len - used_, bytes);
      use(static_cast<std::byte*>(part_->iov_base) + used_, count);
      used_ += count;
      bytes -= count;
      skip_empty_parts();
    }
  }
  void skip_empty_parts() noexcept {
    for (; part_ != end_ && used_ == part_->iov_len; ++part_) used_ = 0;
  }

  const iovec* part_;
  const iovec* end_;
  std::size_t used_ = 0;  // of the present part
  std::size_t left_ = 0;
};

}  // namespace rsock::socket
