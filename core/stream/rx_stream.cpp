#include "core/stream/rx_stream.h"

#include <algorithm>

#include "core/base/mark.h"

namespace rsock::stream {

namespace {

constexpr Source kSpine{.what = Source::What::spine, .bytes = UINT64_MAX};
constexpr Source kNothing{.what = Source::What::nothing};
constexpr Source kLie{.what = Source::What::lie};

}  // namespace

Source RxStream::look() noexcept {
  if (path_ == Path::tcp) {
    // An end that has been seen stays, whatever becomes of the spine.
    if (stopped_ && half_ == Half::closed) return {.what = Source::What::end};
    if (stopped_) return kSpine;
    if (!look_for_switch()) return kLie;
    if (path_ == Path::tcp) return kSpine;
  }
  if (path_ == Path::switching) {
    if (rcv_nxt_ < switch_at_) {
      return {.what = Source::What::spine, .bytes = switch_at_ - rcv_nxt_};
    }
    return {.what = Source::What::proof};
  }
  if (!look_for_bytes()) return kLie;
  if (rcv_nxt_ < readable_to()) return in_ring();
  return at_end_of_ring();
}

bool RxStream::look_for_switch() noexcept {
  // In this order: a stop that was set before any switch means that there will be none.
  const std::uint64_t stop_at = theirs_.stop_at.load(std::memory_order_acquire);
  const std::uint64_t at = theirs_.switch_at.load(std::memory_order_acquire);
  if (at == wire::kOffsetUnset) {
    stopped_ = stop_at != wire::kOffsetUnset;
    if (stopped_) RSOCK_MARK(stopped_before_switch);
    return true;
  }
  if (at < rcv_nxt_.value()) return false;
  switch_at_ = StreamOffset(at);
  switched_ = true;
  transition_to(path_, Path::switching);
  mine_.switch_seen.store(1);
  news_ = true;
  return true;
}

RxStream::Verdict RxStream::proof_seen(std::span<const std::byte> bytes) noexcept {
  RSOCK_DCHECK(path_ == Path::switching && rcv_nxt_ == switch_at_);
  const std::size_t count = std::min(bytes.size(), proof_.size());
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count),
                  proof_.begin())) {
    RSOCK_MARK(proof_refused);
    transition_to(path_, Path::tcp);
    stopped_ = true;
    return Verdict::refused;
  }
  if (count < proof_.size() && !(peer_gone_ && death_ != Death::unknown)) {
    if (count > 0) RSOCK_MARK(proof_came_in_pieces);
    return Verdict::more;
  }
  proof_on_spine_ = count == proof_.size();
  proof_cut_short_ = !proof_on_spine_;
  if (proof_cut_short_) RSOCK_MARK(proof_cut_short);
  prove();
  return Verdict::proven;
}

void RxStream::prove() noexcept {
  proven_ = true;
  transition_to(path_, Path::accelerated);
  ring_ = {.number = 0, .bytes = first_ring_bytes_, .from = switch_at_};
  placed_ = switch_at_;
  mine_.head.store(rcv_nxt_.value());
}

bool RxStream::look_for_bytes() noexcept {
  const StreamOffset tail(theirs_.tail.load(std::memory_order_acquire));
  // A tail that lies in another ring was set after that ring's words.
  if (!look_for_ring()) return false;
  if (tail < placed_) return false;
  const StreamOffset readable = has_next_ ? std::min(tail, next_.from) : tail;
  if (readable < rcv_nxt_ || readable - rcv_nxt_ > ring_.bytes) return false;
  if (has_next_ && next_.from < tail && tail - next_.from > next_.bytes) return false;
  placed_ = tail;
  if (has_next_ && rcv_nxt_ == next_.from) enter_next_ring();
  return true;
}

bool RxStream::look_for_ring() noexcept {
  const std::uint32_t number = theirs_.ring_number.load(std::memory_order_acquire);
  if (number == (has_next_ ? next_.number : ring_.number)) return true;
  const StreamOffset from(theirs_.ring_from.load(std::memory_order_relaxed));
  if (has_next_ || from < rcv_nxt_ || from < placed_) return false;
  if (number == 0) {
    next_ = {.number = 0, .bytes = first_ring_bytes_, .from = from};
  } else {
    if (!offer_open_ || number != offered_number_) return false;
    next_ = {.number = number, .bytes = offered_bytes_, .from = from};
    offer_open_ = false;
  }
  has_next_ = true;
  if (rcv_nxt_ < from) RSOCK_MARK(ring_changed_over_unread_bytes);
  return true;
}

void RxStream::enter_next_ring() noexcept {
  if (next_.number == 0) RSOCK_MARK(returned_to_first_ring);
  retired_ = ring_.number;
  ring_ = next_;
  has_next_ = false;
}

Source RxStream::at_end_of_ring() noexcept {
  const std::uint64_t fin_at = theirs_.fin_at.load(std::memory_order_acquire);
  const std::uint64_t stop_at = theirs_.stop_at.load(std::memory_order_acquire);
  if (fin_at < rcv_nxt_.value() || stop_at < rcv_nxt_.value()) return kLie;
  if (stop_at != wire::kOffsetUnset && path_ == Path::accelerated) {
    transition_to(path_, Path::fencing);
  }
  if (fin_at == rcv_nxt_.value()) {
    if (half_ == Half::open) {
      transition_to(half_, Half::fin_queued);
      transition_to(half_, Half::closed);
    }
    // The spine has nothing to add but a FIN of its own, unless there is a piece of the proof.
    if (stop_at == fin_at && !proof_on_spine_ && !proof_cut_short_) {
      RSOCK_MARK(fin_and_stop);
      leave_ring();
    }
    return {.what = Source::What::end};
  }
  if (stop_at == rcv_nxt_.value()) return at_stop();
  if (!peer_gone_) return kNothing;
  // It may have placed bytes between our look at them and its end.
  if (theirs_.tail.load(std::memory_order_acquire) != placed_.value()) return look();
  return after_death();
}

Source RxStream::at_stop() noexcept {
  // The spine has a piece of the proof and then nothing.
  if (proof_cut_short_) return after_death();
  if (proof_on_spine_) {
    RSOCK_MARK(fallback_found_proof_on_spine);
    return {.what = Source::What::proof_left};
  }
  leave_ring();
  return kSpine;
}

void RxStream::leave_ring() noexcept {
  transition_to(path_, Path::tcp);
  stopped_ = true;
}

Source RxStream::after_death() noexcept {
  if (death_ == Death::clean) return {.what = Source::What::end};
  if (half_ == Half::open) transition_to(half_, Half::reset);
  return {.what = Source::What::reset};
}

void RxStream::taken(std::uint64_t bytes) noexcept {
  rcv_nxt_ += bytes;
  if (path_ != Path::accelerated && path_ != Path::fencing) return;
  RSOCK_DCHECK(rcv_nxt_ <= readable_to());
  mine_.head.store(rcv_nxt_.value());
  if (has_next_ && rcv_nxt_ == next_.from) enter_next_ring();
}

void RxStream::peer_gone(Death death) noexcept {
  peer_gone_ = true;
  death_ = death;
}

bool RxStream::may_offer_ring() const noexcept {
  return path_ == Path::accelerated && !offer_open_ && !has_next_;
}

void RxStream::offer_ring(std::uint32_t number, std::uint32_t bytes, std::uint64_t place) noexcept {
  RSOCK_DCHECK(may_offer_ring() && number > offered_number_);
  offered_number_ = number;
  offered_bytes_ = bytes;
  offer_open_ = true;
  mine_.ring_place.store(place, std::memory_order_relaxed);
  mine_.ring_bytes.store(bytes, std::memory_order_relaxed);
  mine_.ring_number.store(number, std::memory_order_release);
}

}  // namespace rsock::stream
