#pragma once

#include <cstdint>

#include "core/base/check.h"

namespace rsock::stream {

// The receive work requests that the other end of a link still has posted, of which each message
// takes one. Not the window, which counts bytes of a ring. Data may not take the last ones: they
// are kept for control messages, without which nobody could ever return credits.
//
// Thread safety: none; it belongs to whoever sends on the link.
// Invariants:
//   1. Never more messages are under way than the other end has posted receives.
class Credits {
 public:
  // What the other end posted at first, and how many of them only control messages may take.
  constexpr Credits(std::uint32_t posted, std::uint32_t control_reserve) noexcept
      : left_(posted), control_reserve_(control_reserve) {
    RSOCK_DCHECK(posted > control_reserve);
  }

  [[nodiscard]] constexpr bool may_send_data() const noexcept { return left_ > control_reserve_; }
  [[nodiscard]] constexpr bool may_send_control() const noexcept { return left_ > 0; }
  [[nodiscard]] constexpr std::uint32_t left() const noexcept { return left_; }

  constexpr void take() noexcept {
    RSOCK_DCHECK(left_ > 0);
    --left_;
  }
  // The other end has posted `count` anew.
  constexpr void give_back(std::uint32_t count) noexcept { left_ += count; }

 private:
  std::uint32_t left_;
  std::uint32_t control_reserve_;
};

// How many receives this end has posted anew and not yet told the other end of.
class CreditsToReturn {
 public:
  // `threshold`: how many are worth a message of their own. At least two, for that message takes
  // one itself, and two ends would answer each other for ever; and at most as many as data may take
  // (tests/model/credits.pml).
  constexpr explicit CreditsToReturn(std::uint32_t threshold) noexcept : threshold_(threshold) {
    RSOCK_DCHECK(threshold >= 2);
  }

  constexpr void add(std::uint32_t count) noexcept { count_ += count; }
  [[nodiscard]] constexpr bool worth_a_message() const noexcept { return count_ >= threshold_; }
  // Takes them all, to go with a message that is sent anyway.
  [[nodiscard]] constexpr std::uint32_t take() noexcept {
    const std::uint32_t count = count_;
    count_ = 0;
    return count;
  }

 private:
  std::uint32_t count_ = 0;
  std::uint32_t threshold_;
};

}  // namespace rsock::stream
