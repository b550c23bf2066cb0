#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/offset.h"
#include "core/stream/path.h"
#include "core/stream/ring.h"
#include "core/wire/stream_words.h"

namespace rsock::stream {

// Where a sender may put the next bytes, and how many of them.
struct Room {
  enum class Where : std::uint8_t {
    spine,    // any number of bytes
    proof,    // first the rest of the proof must go to the spine
    ring,     // `bytes` of them, at `index` in ring number `ring`
    nowhere,  // the window is closed, or the proof may not be written yet
    lie,      // the receiver says what can't be true
  };
  Where where = Where::nowhere;
  std::uint32_t ring = 0;
  std::uint32_t index = 0;
  std::uint64_t bytes = 0;
};

// A ring that the receiver offers. `place` is the link's affair.
struct RingOffer {
  std::uint32_t number = 0;
  std::uint32_t bytes = 0;
  std::uint64_t place = 0;
};

// The sending end of one direction of a connection: which byte goes where, and what the other end
// is told (wire/PROTOCOL.md).
//
// Thread safety: none; it belongs to whoever holds the socket's sending half. The other process
// changes the words it reads at any time.
//
// Invariants:
//   1. snd_una <= snd_nxt, and between them no more bytes than the ring holds.
//   2. A byte's path and ring never change: they follow from its offset.
//   3. Nothing follows the FIN.
//   4. The proof is written after the last byte of the spine and before the next one.
class TxStream {
 public:
  // `snd_nxt`: how many bytes went over the spine so far. `ring_bytes`: size of the first ring.
  TxStream(wire::SenderWords& mine, const wire::ReceiverWords& theirs, StreamOffset snd_nxt,
           std::uint32_t ring_bytes) noexcept
      : mine_(mine), theirs_(theirs), snd_nxt_(snd_nxt), first_ring_bytes_(ring_bytes) {}
  TxStream(const TxStream&) = delete;
  TxStream& operator=(const TxStream&) = delete;

  [[nodiscard]] Path path() const noexcept { return path_; }
  [[nodiscard]] Half half() const noexcept { return half_; }
  [[nodiscard]] StreamOffset snd_nxt() const noexcept { return snd_nxt_; }
  // Bytes before this one are out of the ring; cf. TCP's SND.UNA.
  [[nodiscard]] StreamOffset snd_una() const noexcept { return snd_una_; }
  [[nodiscard]] const Ring& ring() const noexcept { return ring_; }
  // Nothing lies in a ring.
  [[nodiscard]] bool drained() const noexcept { return snd_una_ == ring_end(); }

  // Takes notice of what the receiver has said since. False: it can't be true.
  [[nodiscard]] bool observe() noexcept;

  // Where up to `wanted` bytes may go now. Looks at the receiver's words only when the window that
  // it knows of is too small.
  [[nodiscard]] Room room(std::uint64_t wanted) noexcept;

  // `bytes` were put where room() said; those in the ring are published.
  void sent(std::uint64_t bytes) noexcept;

  // The bytes from the next one on go to the ring. Once, and not after the FIN.
  [[nodiscard]] bool may_switch() const noexcept {
    return !switched_ && !stopped_ && half_ == Half::open;
  }
  void switch_over() noexcept;
  // The rest of the proof may be written to the spine now.
  [[nodiscard]] bool proof_due() const noexcept { return proof_left_ > 0 && switch_seen_; }
  [[nodiscard]] std::size_t proof_left_bytes() const noexcept { return proof_left_; }
  void proof_written(std::size_t bytes) noexcept;

  // The bytes from the next one on go to the spine, for good. Before the switchover: there will be
  // none.
  void stop() noexcept;
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  // The receiver asks for that.
  [[nodiscard]] bool stop_wanted() const noexcept {
    return theirs_.stop_wanted.load(std::memory_order_acquire) != 0;
  }

  // No byte follows.
  void finish() noexcept;
  // The spine's own FIN is due: said once.
  [[nodiscard]] bool take_spine_fin() noexcept {
    const bool due =
        half_ != Half::open && path_ == Path::tcp && proof_left_ == 0 && !spine_fin_taken_;
    spine_fin_taken_ = spine_fin_taken_ || due;
    return due;
  }

  // The window was too small for what the program wanted: said once for each time it closes.
  void note_stall() noexcept;

  // The newest ring offered, if it is another than the last one taken or passed over.
  [[nodiscard]] bool offer(RingOffer& offer) const noexcept;
  // Whether the ring may be changed now: the receiver has come past the last change. That it has
  // come up to it is not enough, for then it need not have seen it.
  [[nodiscard]] bool may_change_ring() const noexcept;
  // The bytes from the next one on go to the offered ring, or back to the first one.
  void take_ring(const RingOffer& offer) noexcept;
  void return_to_first_ring() noexcept;
  // An offer that can't be used (no memory to map it).
  void pass_over(const RingOffer& offer) noexcept { offer_seen_ = offer.number; }

 private:
  [[nodiscard]] bool in_ring() const noexcept {
    return path_ == Path::switching || path_ == Path::accelerated;
  }
  // Where the bytes in rings end.
  [[nodiscard]] StreamOffset ring_end() const noexcept { return in_ring() ? snd_nxt_ : stop_at_; }
  [[nodiscard]] std::uint64_t window_bytes() const noexcept;
  [[nodiscard]] bool take_head() noexcept;
  void change_ring(std::uint32_t number, std::uint32_t bytes) noexcept;

  wire::SenderWords& mine_;
  const wire::ReceiverWords& theirs_;
  StreamOffset snd_nxt_;
  StreamOffset snd_una_;
  StreamOffset stop_at_;
  Ring ring_;
  std::uint64_t head_seen_ = 0;
  StreamOffset stalled_at_;
  std::uint32_t first_ring_bytes_;
  std::uint32_t offer_seen_ = 0;
  std::uint32_t proof_left_ = 0;
  Path path_ = Path::tcp;
  Half half_ = Half::open;
  bool switched_ = false;
  bool switch_seen_ = false;
  bool stopped_ = false;
  bool ring_changed_ = false;
  bool spine_fin_taken_ = false;
};

inline std::uint64_t TxStream::window_bytes() const noexcept {
  // Bytes that are still in an older ring take no place in this one.
  return ring_.bytes - (snd_nxt_ - (snd_una_ > ring_.from ? snd_una_ : ring_.from));
}

inline Room TxStream::room(std::uint64_t wanted) noexcept {
  RSOCK_DCHECK(half_ == Half::open);
  if (!in_ring()) {
    if (proof_left_ == 0) return {.where = Room::Where::spine, .bytes = wanted};
    if (!observe()) return {.where = Room::Where::lie};
    return {.where = proof_due() ? Room::Where::proof : Room::Where::nowhere};
  }
  std::uint64_t window = window_bytes();
  if (window < wanted) {
    if (!take_head()) return {.where = Room::Where::lie};
    window = window_bytes();
  }
  if (window == 0) return {};
  return {.where = Room::Where::ring,
          .ring = ring_.number,
          .index = ring_.index(snd_nxt_),
          .bytes = window < wanted ? window : wanted};
}

inline void TxStream::sent(std::uint64_t bytes) noexcept {
  snd_nxt_ += bytes;
  if (!in_ring()) return;
  RSOCK_DCHECK(snd_nxt_ - (snd_una_ > ring_.from ? snd_una_ : ring_.from) <= ring_.bytes);
  mine_.tail.store(snd_nxt_.value());
}

}  // namespace rsock::stream
