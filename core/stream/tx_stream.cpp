#include "core/stream/tx_stream.h"

#include <algorithm>

#include "core/base/mark.h"

namespace rsock::stream {

bool TxStream::take_head() noexcept {
  const std::uint64_t head = theirs_.head.load(std::memory_order_acquire);
  // Before the receiver has read up to the switch offset, its word still says zero.
  if (head < head_seen_ || head > ring_end().value()) return false;
  head_seen_ = head;
  if (!switched_) return true;
  snd_una_ = std::max(snd_una_, StreamOffset(head));
  if (half_ == Half::fin_queued && drained() && path_ == Path::accelerated) {
    transition_to(half_, Half::closed);
  }
  return true;
}

bool TxStream::observe() noexcept {
  if (!take_head()) return false;
  const bool seen = theirs_.switch_seen.load(std::memory_order_acquire) != 0;
  // Seen before it was said.
  if (seen && !switched_) return false;
  switch_seen_ = switch_seen_ || seen;
  return true;
}

void TxStream::switch_over() noexcept {
  RSOCK_DCHECK(may_switch());
  if (snd_nxt_ == StreamOffset()) RSOCK_MARK(switch_at_offset_zero);
  transition_to(path_, Path::switching);
  switched_ = true;
  proof_left_ = wire::kProofBytes;
  snd_una_ = snd_nxt_;
  stalled_at_ = snd_nxt_;
  ring_ = {.number = 0, .bytes = first_ring_bytes_, .from = snd_nxt_};
  mine_.ring_from.store(snd_nxt_.value(), std::memory_order_relaxed);
  mine_.tail.store(snd_nxt_.value(), std::memory_order_relaxed);
  mine_.switch_at.store(snd_nxt_.value());
}

void TxStream::proof_written(std::size_t bytes) noexcept {
  RSOCK_DCHECK(proof_due() && bytes <= proof_left_);
  proof_left_ -= static_cast<std::uint32_t>(bytes);
  if (proof_left_ == 0 && path_ == Path::switching) transition_to(path_, Path::accelerated);
}

void TxStream::stop() noexcept {
  RSOCK_DCHECK(!stopped_);
  if (in_ring()) {
    if (proof_left_ > 0) RSOCK_MARK(stopped_while_switching);
    stop_at_ = snd_nxt_;
    transition_to(path_, Path::tcp);
  }
  stopped_ = true;
  mine_.stop_at.store(snd_nxt_.value());
}

void TxStream::finish() noexcept {
  transition_to(half_, Half::fin_queued);
  if (!in_ring()) return;
  if (path_ == Path::switching) RSOCK_MARK(fin_while_switching);
  mine_.fin_at.store(snd_nxt_.value());
}

void TxStream::note_stall() noexcept {
  if (!in_ring() || stalled_at_ == snd_nxt_) return;
  if (window_bytes() == 0) RSOCK_MARK(window_closed);
  stalled_at_ = snd_nxt_;
  mine_.stalls.store(mine_.stalls.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool TxStream::offer(RingOffer& offer) const noexcept {
  const std::uint32_t number = theirs_.ring_number.load(std::memory_order_acquire);
  if (number == offer_seen_) return false;
  offer = {.number = number,
           .bytes = theirs_.ring_bytes.load(std::memory_order_relaxed),
           .place = theirs_.ring_place.load(std::memory_order_relaxed)};
  return true;
}

bool TxStream::may_change_ring() const noexcept {
  return in_ring() && half_ == Half::open && (!ring_changed_ || snd_una_ > ring_.from);
}

void TxStream::change_ring(std::uint32_t number, std::uint32_t bytes) noexcept {
  RSOCK_DCHECK(may_change_ring());
  ring_changed_ = true;
  ring_ = {.number = number, .bytes = bytes, .from = snd_nxt_};
  // In this order, and both before the tail moves on: the reader looks for a change whenever it
  // finds a new tail.
  mine_.ring_from.store(snd_nxt_.value(), std::memory_order_relaxed);
  mine_.ring_number.store(number, std::memory_order_release);
}

void TxStream::take_ring(const RingOffer& offer) noexcept {
  offer_seen_ = offer.number;
  change_ring(offer.number, offer.bytes);
}

void TxStream::return_to_first_ring() noexcept {
  if (ring_.number != 0) change_ring(0, first_ring_bytes_);
}

}  // namespace rsock::stream
