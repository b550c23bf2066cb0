#include "core/socket/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "core/base/mark.h"
#include "core/os/cancellation.h"
#include "core/os/or_error.h"
#include "core/os/own_calls.h"
#include "core/os/syscalls.h"
#include "core/stream/transfer.h"

namespace rsock::socket {

namespace {

using os::or_error;
using os::sys;
using stream::Consume;
using stream::kPeerLied;
using stream::Path;

constexpr int kTryOnce = MSG_DONTWAIT | MSG_NOSIGNAL;
constexpr int kLooksBetweenClockReadings = 32;

// A lie costs the connection, as if it had been reset.
std::int64_t without_lies(std::int64_t result) {
  return result == kPeerLied ? -ECONNRESET : result;
}

}  // namespace

// What the transfer needs of a socket (stream/transfer.h). `bytes` is null where none are moved.
class Connection::Io {
 public:
  explicit Io(Connection& connection, ProgramBytes* bytes = nullptr, int flags = 0) noexcept
      : connection_(connection), bytes_(bytes), flags_(flags) {}

  ssize_t spine_send(std::uint64_t bytes) noexcept {
    iovec parts[config::kPartsAtOnce];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = bytes_->next_parts(parts, std::size(parts), bytes);
    const ssize_t count = or_error(os::send_message_own(connection_.spine_, &message, kTryOnce));
    if (count > 0) bytes_->skip(static_cast<std::size_t>(count));
    return count;
  }
  ssize_t spine_send_proof(std::size_t bytes) noexcept {
    const wire::Proof& proof = connection_.peer_challenge_;
    return or_error(
        os::send_own(connection_.spine_, &proof[proof.size() - bytes], bytes, kTryOnce));
  }
  ssize_t spine_receive(std::uint64_t bytes) noexcept {
    iovec parts[config::kPartsAtOnce];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = bytes_->next_parts(parts, std::size(parts), bytes);
    const ssize_t count = or_error(os::receive_message_own(
        connection_.spine_, &message, kTryOnce | (flags_ & (MSG_PEEK | MSG_TRUNC))));
    if (count > 0) bytes_->skip(static_cast<std::size_t>(count));
    return count;
  }
  ssize_t spine_peek(std::span<std::byte> bytes) noexcept {
    return or_error(
        os::receive_own(connection_.spine_, bytes.data(), bytes.size(), kTryOnce | MSG_PEEK));
  }
  ssize_t spine_discard(std::size_t bytes) noexcept {
    return or_error(os::receive_own(connection_.spine_, nullptr, bytes, kTryOnce | MSG_TRUNC));
  }
  int spine_finish() noexcept { return or_error(sys().shutdown(connection_.spine_, SHUT_WR)); }

  void fill_ring(std::uint32_t ring, std::uint32_t index, std::uint64_t bytes) noexcept {
    bytes_->copy_to(connection_.shm_.tx_ring(ring) + index, bytes);
    connection_.tx_ring_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void empty_ring(std::uint32_t ring, std::uint32_t index, std::uint64_t bytes) noexcept {
    if ((flags_ & MSG_TRUNC) != 0) {
      bytes_->skip(bytes);
    } else {
      bytes_->copy_from(connection_.shm_.rx_ring(ring) + index, bytes);
    }
    if ((flags_ & MSG_PEEK) == 0) {
      connection_.rx_ring_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
  }
  void tell_receiver() noexcept { connection_.shm_.tell_receiver(); }
  void tell_sender() noexcept { connection_.shm_.tell_sender(); }
  [[nodiscard]] bool spine_is_watched() const noexcept {
    return connection_.spine_watchers_.load() != 0;
  }
  [[nodiscard]] static bool link_keeps_all() noexcept { return true; }

 private:
  Connection& connection_;
  ProgramBytes* bytes_;
  int flags_;
};

Connection::Connection(const Start& start, link::shm::ShmStream&& stream) noexcept
    : spine_(start.spine),
      role_(start.role),
      peer_challenge_(start.peer_challenge),
      shm_(std::move(stream)),
      tx_(shm_.tx_words(), shm_.tx_words_of_peer(), start.sent, config::kFirstRingBytes),
      rx_(shm_.rx_words(), shm_.rx_words_of_peer(), start.received, start.own_challenge,
          config::kFirstRingBytes) {}

Connection::Said Connection::said_about_tx() const noexcept {
  const wire::ReceiverWords& words = shm_.tx_words_of_peer();
  return {.words = {words.head.load(), words.switch_seen.load(), words.ring_number.load(),
                    words.stop_wanted.load()},
          .changes = changes_.load()};
}

Connection::Said Connection::said_about_rx() const noexcept {
  const wire::SenderWords& words = shm_.rx_words_of_peer();
  return {.words = {words.tail.load(), words.switch_at.load(), words.stop_at.load(),
                    words.fin_at.load()},
          .changes = changes_.load()};
}

void Connection::changed() noexcept {
  changes_.fetch_add(1);
  link::shm::wake(shm_.tx_words().space_interest);
  link::shm::wake(shm_.rx_words().arrival_interest);
}

ssize_t Connection::send_in_handler(ProgramBytes& bytes) noexcept {
  RSOCK_MARK(sent_in_interrupting_handler);
  std::uint32_t at = handler_tail_.load(std::memory_order_relaxed);
  std::uint32_t count = 0;
  do {
    const std::uint32_t room = config::kHandlerBytes - (at - handler_head_.load());
    count = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.left_bytes(), room));
    if (count == 0) return -EAGAIN;
    // A handler may be interrupted by another one, which then comes after it.
  } while (!handler_tail_.compare_exchange_weak(at, at + count, std::memory_order_relaxed));
  for (std::uint32_t index = at; index != at + count; ++index) {
    bytes.copy_to(&handler_bytes_[index % config::kHandlerBytes], 1);
  }
  return static_cast<ssize_t>(count);
}

bool Connection::flush_handler_bytes() noexcept {
  for (;;) {
    const std::uint32_t head = handler_head_.load(std::memory_order_relaxed);
    const std::uint32_t tail = handler_tail_.load(std::memory_order_relaxed);
    if (head == tail) return true;
    const std::uint32_t index = head % config::kHandlerBytes;
    const iovec part{.iov_base = &handler_bytes_[index],
                     .iov_len = std::min(tail - head, config::kHandlerBytes - index)};
    ProgramBytes bytes(&part, 1);
    Io io(*this, &bytes);
    const std::int64_t sent = stream::send_some(tx_, io, bytes.left_bytes());
    if (sent == -EAGAIN) return false;
    // Where nothing can be sent any more, nobody is left to be told.
    const auto gone = sent < 0 ? tail - head : static_cast<std::uint32_t>(sent);
    handler_head_.store(head + gone, std::memory_order_relaxed);
  }
}

void Connection::unlock_tx() noexcept {
  tx_lock_.unlock();
  // A handler may have come between the last look and the unlocking.
  while (handler_head_.load(std::memory_order_relaxed) !=
         handler_tail_.load(std::memory_order_relaxed)) {
    if (!tx_lock_.try_lock()) return;
    const bool all = tx_.half() != stream::Half::open || flush_handler_bytes();
    tx_lock_.unlock();
    if (!all) return;
  }
}

std::int64_t Connection::try_send(ProgramBytes& bytes, WaitFor& wait_for) noexcept {
  if (tx_.half() != stream::Half::open) return -EPIPE;
  if (peer_gone_.load() && tx_.path() != Path::tcp) return -EPIPE;
  if (shm_.take_offered_ring(tx_) != 0) return kPeerLied;
  Io io(*this, &bytes);
  std::int64_t result = -EAGAIN;
  if (flush_handler_bytes()) result = stream::send_some(tx_, io, bytes.left_bytes());
  const bool on_spine = tx_.path() == Path::tcp && tx_.proof_left_bytes() == 0;
  wait_for = on_spine ? WaitFor::spine : WaitFor::ring;
  return result;
}

ssize_t Connection::send(ProgramBytes& bytes, const Waiting& waiting) {
  const std::size_t wanted = bytes.left_bytes();
  if (wanted == 0) return 0;
  for (;;) {
    const Said before = said_about_tx();
    if (!tx_lock_.lock()) return send_in_handler(bytes);
    WaitFor wait_for = WaitFor::ring;
    const std::int64_t result = without_lies(try_send(bytes, wait_for));
    unlock_tx();
    const auto done = static_cast<ssize_t>(wanted - bytes.left_bytes());
    if (bytes.left_bytes() == 0 || !waiting.blocks) return done > 0 ? done : result;
    if (result < 0 && result != -EAGAIN) return done > 0 ? done : result;
    if (result > 0 && wait_for == WaitFor::ring) continue;
    const int error = wait_for == WaitFor::spine
                          ? wait_on_spine_to_send(waiting.deadline)
                          : wait_for_other(shm_.tx_words().space_interest, tx_spinner_, before,
                                           waiting.deadline, [this] { return said_about_tx(); });
    if (error != 0) return done > 0 ? done : error;
  }
}

std::int64_t Connection::try_receive(ProgramBytes& bytes, int flags, WaitFor& wait_for) noexcept {
  Io io(*this, &bytes, flags);
  const Consume consume = (flags & MSG_PEEK) != 0 ? Consume::no : Consume::yes;
  const Path before = rx_.path();
  const std::int64_t result = stream::receive_some(rx_, io, bytes.left_bytes(), consume);
  if (result > 0 && rx_.path() == Path::accelerated) {
    // Without memory for a larger ring the present one does.
    static_cast<void>(shm_.offer_ring_if_stalled(rx_));
  }
  shm_.retire_ring(rx_);
  wait_for = rx_.reads_spine() ? WaitFor::spine : WaitFor::ring;
  if (rx_.proven()) rx_proven_.store(true, std::memory_order_release);
  // Others may be asleep where the bytes no longer come (tests/model/stop_wake.pml).
  if (rx_.path() != before) changed();
  return result;
}

ssize_t Connection::receive(ProgramBytes& bytes, int flags, const Waiting& waiting) {
  const std::size_t wanted = bytes.left_bytes();
  if (wanted == 0) return 0;
  const bool waits_for_all = (flags & MSG_WAITALL) != 0 && (flags & MSG_PEEK) == 0;
  for (;;) {
    const Said before = said_about_rx();
    // A handler that receives where its own thread was receiving can't be served.
    if (!rx_lock_.lock()) return waiting.blocks ? -EINTR : -EAGAIN;
    WaitFor wait_for = WaitFor::ring;
    const std::int64_t result = without_lies(try_receive(bytes, flags, wait_for));
    rx_lock_.unlock();
    const auto done = static_cast<ssize_t>(wanted - bytes.left_bytes());
    if (result >= 0 && (!waits_for_all || result == 0 || bytes.left_bytes() == 0)) return done;
    if (result > 0) continue;
    if (result != -EAGAIN || !waiting.blocks) return done > 0 ? done : result;
    const int error = wait_for == WaitFor::spine
                          ? wait_on_spine_to_receive(waiting.deadline)
                          : wait_for_other(shm_.rx_words().arrival_interest, rx_spinner_, before,
                                           waiting.deadline, [this] { return said_about_rx(); });
    if (error != 0) return done > 0 ? done : error;
  }
}

// Spins, and then sleeps, until something is said that was not said `before`.
template <typename Look>
int Connection::wait_for_other(std::atomic<std::uint32_t>& interest, Spinner& spinner,
                               const Said& before, Deadline deadline, Look look) {
  const std::int64_t began_ns = monotonic_now_ns();
  const std::int64_t spin_until_ns = began_ns + spinner.budget_ns();
  std::int64_t now_ns = began_ns;
  while (now_ns < spin_until_ns) {
    for (int count = 0; count < kLooksBetweenClockReadings; ++count) {
      if (look() != before) {
        spinner.came_after(monotonic_now_ns() - began_ns);
        return 0;
      }
      __builtin_ia32_pause();
    }
    now_ns = monotonic_now_ns();
  }
  int error = 0;
  {
    const os::CancellationPoint point;
    error = link::shm::sleep(interest, deadline, [&] { return look() != before; });
  }
  spinner.came_after(monotonic_now_ns() - began_ns);
  return error == -ETIMEDOUT ? -EAGAIN : error;
}

// Asleep in recv(2) itself: the kernel goes on with it after a signal or does not, as the program
// has asked, and libc makes it a cancellation point.
int Connection::wait_on_spine_to_receive(Deadline deadline) {
  char byte = 0;
  int error = 0;
  // Counted first, and then a look: from now on the proof stays, and if the bytes come elsewhere
  // already, sleeping here would be for ever (tests/model/proof_wake.pml).
  spine_watchers_.fetch_add(1);
  if (!receives_from_spine()) {
    spine_watchers_.fetch_sub(1);
    return 0;
  }
  if (deadline.is_never()) {
    error = static_cast<int>(or_error(sys().recv(spine_, &byte, 1, MSG_PEEK)));
  } else {
    pollfd waited{.fd = spine_, .events = POLLIN, .revents = 0};
    const timespec left = deadline.remaining(monotonic_now_ns());
    error = or_error(sys().ppoll(&waited, 1, &left, nullptr));
    if (error == 0) error = -EAGAIN;
  }
  spine_watchers_.fetch_sub(1);
  // Whatever the spine has to say, the next attempt hears it.
  return error == -EINTR || error == -EAGAIN ? error : 0;
}

bool Connection::receives_from_spine() noexcept {
  if (!rx_lock_.lock()) return false;
  const bool from_spine = rx_.reads_spine();
  rx_lock_.unlock();
  return from_spine;
}

int Connection::wait_on_spine_to_send(Deadline deadline) {
  pollfd waited{.fd = spine_, .events = POLLOUT, .revents = 0};
  const timespec left = deadline.remaining(deadline.is_never() ? 0 : monotonic_now_ns());
  const int error =
      or_error(sys().ppoll(&waited, 1, deadline.is_never() ? nullptr : &left, nullptr));
  if (error == 0) return -EAGAIN;
  // There is no call that waits for room and that the kernel would go on with, so without a
  // deadline it is always gone on with.
  return error == -EINTR && !deadline.is_never() ? -EINTR : 0;
}

int Connection::finish() noexcept {
  if (!tx_lock_.lock()) return -EAGAIN;
  int error = 0;
  if (tx_.half() == stream::Half::open) {
    static_cast<void>(flush_handler_bytes());
    tx_.finish();
    Io io(*this);
    io.tell_receiver();
    if (tx_.take_spine_fin()) error = io.spine_finish();
  }
  unlock_tx();
  changed();
  return error;
}

int Connection::advance() noexcept {
  int sending = 0;
  int receiving = 0;
  bool moved = false;
  if (rx_lock_.lock()) {
    const Path before = rx_.path();
    Io io(*this);
    receiving = stream::advance_rx(rx_, io);
    if (rx_.proven()) rx_proven_.store(true, std::memory_order_release);
    moved = rx_.path() != before;
    rx_lock_.unlock();
  }
  if (tx_lock_.lock()) {
    const Path before = tx_.path();
    Io io(*this);
    const bool may_switch =
        role_ == Role::connector ? may_switch_.load(std::memory_order_acquire) : rx_proven_.load();
    sending = stream::advance_tx(tx_, may_switch, io);
    if (tx_.half() == stream::Half::open) static_cast<void>(flush_handler_bytes());
    moved = moved || tx_.path() != before;
    unlock_tx();
  }
  note_halves_on_spine();
  if (moved) changed();
  return sending == kPeerLied || receiving == kPeerLied ? -EPROTO : 0;
}

void Connection::note_halves_on_spine() noexcept {
  if (tx_lock_.lock()) {
    if (tx_.stopped() && tx_.proof_left_bytes() == 0) tx_back_.store(true);
    unlock_tx();
  }
  if (rx_lock_.lock()) {
    if (rx_.stopped() && !rx_.proof_on_spine()) rx_back_.store(true);
    rx_lock_.unlock();
  }
}

void Connection::peer_gone(stream::Death death) noexcept {
  if (rx_lock_.lock()) {
    rx_.peer_gone(death);
    rx_lock_.unlock();
  }
  peer_gone_.store(true);
  changed();
}

void Connection::fall_back() noexcept {
  if (tx_lock_.lock()) {
    if (!tx_.stopped()) tx_.stop();
    shm_.tell_receiver();
    unlock_tx();
  }
  if (rx_lock_.lock()) {
    rx_.want_stop();
    shm_.tell_sender();
    rx_lock_.unlock();
  }
  static_cast<void>(advance());
  changed();
}

Path Connection::tx_path() noexcept {
  if (!tx_lock_.lock()) return Path::tcp;
  const Path path = tx_.path();
  unlock_tx();
  return path;
}

Path Connection::rx_path() noexcept {
  if (!rx_lock_.lock()) return Path::tcp;
  const Path path = rx_.path();
  rx_lock_.unlock();
  return path;
}

}  // namespace rsock::socket
