#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/offset.h"
#include "core/stream/path.h"
#include "core/stream/ring.h"
#include "core/wire/stream_words.h"

namespace rsock::stream {

// Where a receiver finds the next bytes.
struct Source {
  enum class What : std::uint8_t {
    spine,       // at most `bytes` of what the spine has
    proof,       // look at the next bytes of the spine, leave them there, and call proof_seen()
    proof_left,  // take the proof off the spine, and call proof_taken()
    ring,        // `bytes` of them, at `index` in ring number `ring`
    nothing,     // not yet
    end,         // the FIN
    reset,       // the other end is gone without a FIN
    lie,         // the sender says what can't be true
  };
  What what = What::nothing;
  std::uint32_t ring = 0;
  std::uint32_t index = 0;
  std::uint64_t bytes = 0;
};

// What the end of the other process means for the stream.
enum class Death : std::uint8_t {
  clean,    // as TCP's FIN, and all that it wrote is here
  reset,    // as TCP's RST, and all that it wrote is here
  unknown,  // bytes that it wrote may be lost
};

// The receiving end of one direction of a connection: where the next byte comes from, and what the
// other end is told (wire/PROTOCOL.md).
//
// Thread safety: none; it belongs to whoever holds the socket's receiving half, which is also whom
// every read of the spine belongs to: so no read is under way when a switch is noticed. The other
// process changes the words it reads at any time.
//
// Invariants:
//   1. Bytes are given out in the order of their offsets, each from the path and ring that its
//      offset says.
//   2. A byte that is not in the stream (the proof) is never given out.
//   3. No more is ever read from a ring than it holds, whatever the sender says.
class RxStream {
 public:
  // `rcv_nxt`: how many bytes were taken off the spine so far. `proof`: what the sender has to
  // write into the spine. `ring_bytes`: size of the first ring.
  RxStream(wire::ReceiverWords& mine, const wire::SenderWords& theirs, StreamOffset rcv_nxt,
           const wire::Proof& proof, std::uint32_t ring_bytes) noexcept
      : mine_(mine),
        theirs_(theirs),
        rcv_nxt_(rcv_nxt),
        placed_(rcv_nxt),
        first_ring_bytes_(ring_bytes),
        proof_(proof) {}
  RxStream(const RxStream&) = delete;
  RxStream& operator=(const RxStream&) = delete;

  [[nodiscard]] Path path() const noexcept { return path_; }
  [[nodiscard]] Half half() const noexcept { return half_; }
  [[nodiscard]] StreamOffset rcv_nxt() const noexcept { return rcv_nxt_; }
  [[nodiscard]] const Ring& ring() const noexcept { return ring_; }
  // The sender has proved that it holds both the link and the connection.
  [[nodiscard]] bool proven() const noexcept { return proven_; }
  // The proof lies on the spine before anything else.
  [[nodiscard]] bool proof_on_spine() const noexcept { return proof_on_spine_; }
  // The next bytes, or the proof, come from the spine.
  [[nodiscard]] bool reads_spine() const noexcept {
    return path_ == Path::tcp || path_ == Path::switching;
  }
  // The direction is on the spine for good.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  // This end was told something that it has to tell the other end of (switch_seen): whoever
  // clears it wakes the other end.
  [[nodiscard]] bool take_news() noexcept {
    const bool news = news_;
    news_ = false;
    return news;
  }

  [[nodiscard]] Source next() noexcept {
    if (path_ == Path::accelerated && rcv_nxt_ < readable_to()) [[likely]]
      return in_ring();
    return look();
  }

  // `bytes` of what next() said were taken, from the spine or the ring. The sender gets their
  // place back.
  void taken(std::uint64_t bytes) noexcept;

  enum class Verdict : std::uint8_t { more, proven, refused };
  // What the spine has after the last stream byte: a beginning of the proof (more), all of it
  // (proven), or bytes of the program (refused: the stream stays on the spine).
  [[nodiscard]] Verdict proof_seen(std::span<const std::byte> bytes) noexcept;
  void proof_taken() noexcept { proof_on_spine_ = false; }

  // The process at the other end is gone; nothing more will be said. Where all is here that it
  // wrote, a proof for which it had no time is not missed.
  void peer_gone(Death death) noexcept;

  // Asks the sender to go back to the spine.
  void want_stop() noexcept { mine_.stop_wanted.store(1); }

  // How often the window has been too small for the sender.
  [[nodiscard]] std::uint32_t stalls() const noexcept {
    return theirs_.stalls.load(std::memory_order_acquire);
  }
  // Offers a ring; none may be on offer or in use besides the first one.
  [[nodiscard]] bool may_offer_ring() const noexcept;
  void offer_ring(std::uint32_t number, std::uint32_t bytes, std::uint64_t place) noexcept;
  // The number of a ring that will not be used again, once for each; zero: none.
  [[nodiscard]] std::uint32_t take_retired_ring() noexcept {
    const std::uint32_t retired = retired_;
    retired_ = 0;
    return retired;
  }

 private:
  // Up to where the bytes in the current ring are placed.
  [[nodiscard]] StreamOffset readable_to() const noexcept {
    return has_next_ && next_.from < placed_ ? next_.from : placed_;
  }
  [[nodiscard]] Source in_ring() const noexcept {
    return {.what = Source::What::ring,
            .ring = ring_.number,
            .index = ring_.index(rcv_nxt_),
            .bytes = readable_to() - rcv_nxt_};
  }
  [[nodiscard]] Source look() noexcept;
  [[nodiscard]] bool look_for_switch() noexcept;
  [[nodiscard]] bool look_for_bytes() noexcept;
  [[nodiscard]] bool look_for_ring() noexcept;
  [[nodiscard]] Source at_end_of_ring() noexcept;
  [[nodiscard]] Source at_stop() noexcept;
  [[nodiscard]] Source after_death() noexcept;
  void enter_next_ring() noexcept;
  void leave_ring() noexcept;
  void prove() noexcept;

  wire::ReceiverWords& mine_;
  const wire::SenderWords& theirs_;
  StreamOffset rcv_nxt_;
  StreamOffset placed_;  // up to where bytes are in rings, in any of them
  Ring ring_;
  Ring next_;
  StreamOffset switch_at_;
  std::uint32_t first_ring_bytes_;
  std::uint32_t offered_number_ = 0;
  std::uint32_t offered_bytes_ = 0;
  std::uint32_t retired_ = 0;
  wire::Proof proof_;
  Path path_ = Path::tcp;
  Half half_ = Half::open;
  bool has_next_ = false;
  bool offer_open_ = false;  // offered, and the sender has not gone there yet
  bool switched_ = false;
  bool stopped_ = false;
  bool proven_ = false;
  bool proof_on_spine_ = false;
  Death death_ = Death::unknown;
  bool peer_gone_ = false;
  bool proof_cut_short_ = false;
  bool news_ = false;
};

}  // namespace rsock::stream
