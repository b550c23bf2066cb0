#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <span>

namespace rsock::sim {

// One direction of a TCP connection: reliable and in order, with limited room, and bytes that are
// under way for as long as the world likes.
class Spine {
 public:
  explicit Spine(std::size_t capacity) : capacity_(capacity) {}

  // As send(2), recv(2), recv(MSG_PEEK) with MSG_DONTWAIT, and the error negated.
  ssize_t send(std::span<const std::byte> bytes) {
    if (reset_) return -ECONNRESET;
    if (fin_sent_) return -EPIPE;
    const std::size_t used = under_way_.size() + arrived_.size();
    const std::size_t count = std::min(bytes.size(), capacity_ - std::min(capacity_, used));
    if (count == 0) return -EAGAIN;
    const auto taken = bytes.first(count);
    under_way_.insert(under_way_.end(), taken.begin(), taken.end());
    return static_cast<ssize_t>(count);
  }
  ssize_t peek(std::span<std::byte> bytes) const {
    const std::size_t count = std::min(bytes.size(), arrived_.size());
    if (count == 0) return reset_arrived() ? -ECONNRESET : fin_arrived_ ? 0 : -EAGAIN;
    std::copy_n(arrived_.begin(), count, bytes.begin());
    return static_cast<ssize_t>(count);
  }
  ssize_t receive(std::span<std::byte> bytes) {
    const ssize_t count = peek(bytes);
    if (count > 0) arrived_.erase(arrived_.begin(), arrived_.begin() + count);
    return count;
  }

  void finish() { fin_sent_ = true; }
  void reset() { reset_ = true; }

  // Moves up to `count` bytes on, and the FIN behind the last one.
  void deliver(std::size_t count) {
    for (; count > 0 && !under_way_.empty(); --count) {
      arrived_.push_back(under_way_.front());
      under_way_.pop_front();
    }
    if (under_way_.empty() && fin_sent_) fin_arrived_ = true;
  }

  [[nodiscard]] bool moving() const { return !under_way_.empty() || (fin_sent_ && !fin_arrived_); }
  [[nodiscard]] bool readable() const {
    return !arrived_.empty() || fin_arrived_ || reset_arrived();
  }
  // What was sent before it comes first.
  [[nodiscard]] bool reset_arrived() const { return reset_ && under_way_.empty(); }
  [[nodiscard]] bool is_reset() const { return reset_; }
  [[nodiscard]] std::size_t unread_bytes() const { return under_way_.size() + arrived_.size(); }

 private:
  std::size_t capacity_;
  std::deque<std::byte> under_way_;
  std::deque<std::byte> arrived_;
  bool fin_sent_ = false;
  bool fin_arrived_ = false;
  bool reset_ = false;
};

}  // namespace rsock::sim
