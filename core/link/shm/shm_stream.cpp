#include "core/link/shm/shm_stream.h"

#include <algorithm>
#include <utility>

namespace rsock::link::shm {

namespace {

// Two grown rings take turns in the two places that a stream has for them.
std::uint32_t place_number(std::uint32_t ring) { return ring % wire::kGrownRingsPerStream; }

}  // namespace

Result<ShmStream> ShmStream::open(Segments& link, std::uint32_t index,
                                  std::uint32_t their_index) noexcept {
  ShmStream stream;
  stream.link_ = &link;
  stream.index_ = index;
  stream.their_index_ = their_index;
  const Result<std::byte*> rx_ring = link.mine.map_first_ring(index);
  if (!rx_ring.ok()) return Error(rx_ring.error());
  const Result<std::byte*> tx_ring = link.theirs.map_first_ring(their_index);
  if (!tx_ring.ok()) return Error(tx_ring.error());
  stream.rx_first_ = rx_ring.value();
  stream.tx_first_ = tx_ring.value();
  return stream;
}

int ShmStream::offer_ring_if_stalled(stream::RxStream& rx) noexcept {
  retire_ring(rx);  // The new one may need its place.
  const std::uint32_t stalls = rx.stalls();
  if (stalls == stalls_seen_ || !rx.may_offer_ring()) return 0;
  // From the size that is in use: an idle stream has gone back to the first ring.
  const std::uint32_t bytes =
      std::min(rx.ring().bytes * config::kRingGrowthFactor, config::kRingBytesMax);
  if (bytes == rx.ring().bytes) return 0;
  const std::uint32_t number = rings_offered_ + 1;
  const std::uint64_t place = Segment::place_of_ring(index_, place_number(number));
  Result<os::Mapping> ring = link_->mine.map_ring(place, bytes);
  if (!ring.ok()) return ring.error();
  stalls_seen_ = stalls;
  rings_offered_ = number;
  rx_grown_[place_number(number)] = std::move(ring).value();
  rx.offer_ring(number, bytes, place);
  tell_sender();
  return 0;
}

void ShmStream::retire_ring(stream::RxStream& rx) noexcept {
  const std::uint32_t number = rx.take_retired_ring();
  if (number == 0) return;
  os::Mapping& ring = rx_grown_[place_number(number)];
  link_->mine.give_back_ring(Segment::place_of_ring(index_, place_number(number)),
                             static_cast<std::uint32_t>(ring.bytes() / 2));
  ring.reset();
}

int ShmStream::take_offered_ring(stream::TxStream& tx) noexcept {
  stream::RingOffer offer;
  if (!tx.may_change_ring() || !tx.offer(offer)) return 0;
  Result<os::Mapping> ring = link_->theirs.map_ring(offer.place, offer.bytes);
  if (!ring.ok()) {
    tx.pass_over(offer);
    return ring.error() == -EPROTO ? -EPROTO : 0;
  }
  tx_grown_ = std::move(ring).value();
  tx.take_ring(offer);
  return 0;
}

void ShmStream::return_to_first_ring(stream::TxStream& tx) noexcept {
  if (tx.ring().number == 0 || !tx.may_change_ring()) return;
  tx.return_to_first_ring();
  tx_grown_.reset();
}

}  // namespace rsock::link::shm
