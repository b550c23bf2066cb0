#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/link/shm/mailbox.h"
#include "core/link/shm/segment.h"
#include "core/os/errno_keeper.h"
#include "core/os/futex.h"
#include "core/os/mapping.h"
#include "core/os/own_calls.h"
#include "core/stream/rx_stream.h"
#include "core/stream/tx_stream.h"

namespace rsock::link::shm {

// A link as one of its two processes has it: both segments, and a socket that rings the other.
struct Segments {
  Segment mine;
  Segment theirs;
  os::UniqueFd bell;
};

// Wakes whom `interest` names, after a word has changed that it is about: by a store that is also
// a full fence, as all stores of a stream's are that somebody may sleep for. `index` is the other
// process's, of the stream in question. errno stays.
inline void tell(std::atomic<std::uint32_t>& interest, const Segments& link,
                 std::uint32_t index) noexcept {
  const std::uint32_t wanted = interest.load();
  if (wanted == 0) [[likely]]
    return;
  const os::ErrnoKeeper keeper;
  if ((wanted & wire::kWakeSleeper) != 0 &&
      (interest.fetch_and(~wire::kWakeSleeper) & wire::kWakeSleeper) != 0) {
    os::futex_wake(&interest);
  }
  if ((wanted & wire::kTellMailbox) != 0 && announce(link.theirs.mailbox(), index)) {
    const char ring = 1;
    // A full socket has been rung often enough.
    static_cast<void>(os::send_own(link.bell.get(), &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
  }
}

// Sleeps until `interest` is cleared, unless `ready()` says that what it is about has come
// already. Zero, or -EINTR or -ETIMEDOUT as futex_wait().
template <typename Ready>
[[nodiscard]] int sleep(std::atomic<std::uint32_t>& interest, Deadline deadline, Ready ready) {
  const std::uint32_t armed = interest.fetch_or(wire::kWakeSleeper) | wire::kWakeSleeper;
  if (ready()) return 0;
  const int result = os::futex_wait(&interest, armed, deadline);
  return result == -EAGAIN ? 0 : result;
}

// Wakes those of this process who sleep on `interest`, so that they look at the stream again.
inline void wake(std::atomic<std::uint32_t>& interest) noexcept {
  const os::ErrnoKeeper keeper;
  interest.fetch_and(~wire::kWakeSleeper);
  os::futex_wake(&interest);
}

// The memory of one stream on a link: both ends' words, and its rings.
//
// Thread safety: what has "tx" in its name belongs to whoever holds the sending half, "rx" the
// receiving one; the words are atomics.
class ShmStream {
 public:
  // `index` in this process's segment, which names the stream for the other one, and
  // `their_index` in the other's. errno as mmap(2).
  [[nodiscard]] static Result<ShmStream> open(Segments& link, std::uint32_t index,
                                              std::uint32_t their_index) noexcept;

  // What this end writes, and what it reads.
  [[nodiscard]] wire::SenderWords& tx_words() const noexcept { return their_block().sender; }
  [[nodiscard]] wire::ReceiverWords& rx_words() const noexcept { return their_block().receiver; }
  [[nodiscard]] wire::ReceiverWords& tx_words_of_peer() const noexcept {
    return my_block().receiver;
  }
  [[nodiscard]] wire::SenderWords& rx_words_of_peer() const noexcept { return my_block().sender; }

  // Where a ring is: whole, and once more behind its end.
  [[nodiscard]] std::byte* tx_ring(std::uint32_t number) const noexcept {
    return number == 0 ? tx_first_ : tx_grown_.base();
  }
  [[nodiscard]] std::byte* rx_ring(std::uint32_t number) const noexcept {
    return number == 0 ? rx_first_ : rx_grown_[number % wire::kGrownRingsPerStream].base();
  }

  void tell_receiver() const noexcept {
    tell(tx_words_of_peer().arrival_interest, *link_, their_index_);
  }
  void tell_sender() const noexcept {
    tell(rx_words_of_peer().space_interest, *link_, their_index_);
  }

  // Offers a larger ring, and tells the sender, if the sender has been stalled since the last look
  // and `rx` allows it. Zero, also if there was nothing to do, or errno as mmap(2).
  [[nodiscard]] int offer_ring_if_stalled(stream::RxStream& rx) noexcept;
  // Gives back the memory of a ring that `rx` has left.
  void retire_ring(stream::RxStream& rx) noexcept;

  // Goes to the ring that the receiver offers, if `tx` allows it. -EPROTO: no such ring can be;
  // otherwise zero.
  [[nodiscard]] int take_offered_ring(stream::TxStream& tx) noexcept;
  // Goes back to the first ring, for a stream that is idle. The caller has seen that `tx` is
  // drained.
  void return_to_first_ring(stream::TxStream& tx) noexcept;

 private:
  [[nodiscard]] wire::StreamBlock& my_block() const noexcept { return link_->mine.block(index_); }
  [[nodiscard]] wire::StreamBlock& their_block() const noexcept {
    return link_->theirs.block(their_index_);
  }

  Segments* link_ = nullptr;
  std::uint32_t index_ = 0;
  std::uint32_t their_index_ = 0;
  std::byte* tx_first_ = nullptr;
  std::byte* rx_first_ = nullptr;
  os::Mapping tx_grown_;
  os::Mapping rx_grown_[wire::kGrownRingsPerStream];
  std::uint32_t rings_offered_ = 0;
  std::uint32_t stalls_seen_ = 0;
};

}  // namespace rsock::link::shm
