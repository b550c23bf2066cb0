#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/stream/rx_stream.h"
#include "core/stream/tx_stream.h"

// Sending and receiving on one direction of a connection, whatever its path: the one place that
// knows in which order a stream, its ring and the spine are used. It tries once and never waits.
//
// `Io` is the socket with its link, or the simulator. Everything returns what the kernel's calls
// return, with the error as a negative number:
//
//   ssize_t spine_send(uint64_t bytes)         the next bytes of the program's, and moves on
//   ssize_t spine_send_proof(size_t bytes)     the last `bytes` of the proof
//   ssize_t spine_receive(uint64_t bytes)      to the program, and moves on; 0: FIN
//   ssize_t spine_peek(span<std::byte> bytes)  what lies on the spine, left there; 0: FIN
//   ssize_t spine_discard(size_t bytes)        takes it off
//   void fill_ring(uint32_t ring, uint32_t index, uint64_t bytes)    the program's next bytes
//   void empty_ring(uint32_t ring, uint32_t index, uint64_t bytes)   to the program
//   int spine_finish()                         shutdown(SHUT_WR)
//   void tell_receiver(), void tell_sender()   the words have changed: wake whom it concerns
//   bool spine_is_watched()                    a thread sleeps in the kernel on the spine
//   bool link_keeps_all()                      what a process wrote is there after its end
namespace rsock::stream {

// A lie of the other end's, or its end: the connection is lost. Not an errno value of any call
// that is made here.
inline constexpr int kPeerLied = -EBADMSG;

// Bytes that are copied before the receiver is told: so that it copies while we do.
inline constexpr std::uint64_t kChunkBytes = std::uint64_t{64} * 1024;

// Writes as much of the proof as the spine takes. Zero, or what the spine said.
template <typename Io>
[[nodiscard]] int send_proof(TxStream& tx, Io& io) {
  while (tx.proof_due()) {
    const auto sent = io.spine_send_proof(tx.proof_left_bytes());
    if (sent < 0) return static_cast<int>(sent);
    tx.proof_written(static_cast<std::size_t>(sent));
  }
  return 0;
}

// Sends up to `wanted` bytes. What was sent, or -EAGAIN, kPeerLied, or what the spine said.
template <typename Io>
[[nodiscard]] std::int64_t send_some(TxStream& tx, Io& io, std::uint64_t wanted) {
  std::uint64_t total = 0;
  std::int64_t error = -EAGAIN;
  while (total < wanted) {
    const Room room = tx.room(std::min(wanted - total, kChunkBytes));
    if (room.where == Room::Where::ring) {
      io.fill_ring(room.ring, room.index, room.bytes);
      tx.sent(room.bytes);
      io.tell_receiver();
      total += room.bytes;
      continue;
    }
    if (room.where == Room::Where::spine) {
      const auto sent = io.spine_send(wanted - total);
      if (sent < 0) {
        error = sent;
        break;
      }
      tx.sent(static_cast<std::uint64_t>(sent));
      total += static_cast<std::uint64_t>(sent);
      break;  // The kernel has taken what it can.
    }
    if (room.where == Room::Where::proof) {
      error = send_proof(tx, io);
      if (error < 0) break;
      continue;
    }
    if (room.where == Room::Where::lie) {
      error = kPeerLied;
      break;
    }
    tx.note_stall();
    break;
  }
  return total > 0 ? static_cast<std::int64_t>(total) : error;
}

// Takes the proof off the spine, if it lies there and nobody sleeps on it. Zero, or what the spine
// said.
template <typename Io>
[[nodiscard]] int take_proof(RxStream& rx, Io& io) {
  if (!rx.proof_on_spine() || io.spine_is_watched()) return 0;
  const auto taken = io.spine_discard(wire::kProofBytes);
  if (taken < 0) return static_cast<int>(taken);
  rx.proof_taken();
  return 0;
}

// Looks for the proof at the end of the spine's part of the stream. Zero: there is more to receive
// elsewhere, now; otherwise -EAGAIN, or what the spine said.
template <typename Io>
[[nodiscard]] int look_for_proof(RxStream& rx, Io& io) {
  std::byte bytes[wire::kProofBytes];
  const auto seen = io.spine_peek(bytes);
  const bool ended = seen <= 0 && seen != -EAGAIN;
  if (ended) {
    // The other process ended before it could write the proof.
    rx.peer_gone(!io.link_keeps_all() ? Death::unknown : seen == 0 ? Death::clean : Death::reset);
  }
  const std::size_t count = seen > 0 ? static_cast<std::size_t>(seen) : 0;
  if (rx.proof_seen(std::span(bytes).first(count)) != RxStream::Verdict::more) return 0;
  return !ended ? -EAGAIN : seen == 0 ? -ECONNRESET : static_cast<int>(seen);
}

// What the sending half has to do besides sending: switch over (once `may_switch` says that it is
// this direction's turn), write the proof, go back to the spine when the receiver asks for it, and
// send the FIN that was kept back. Zero, or -EAGAIN, kPeerLied, or what the spine said.
template <typename Io>
[[nodiscard]] int advance_tx(TxStream& tx, bool may_switch, Io& io) {
  if (!tx.observe()) return kPeerLied;
  if (!tx.stopped() && tx.stop_wanted()) {
    tx.stop();
    io.tell_receiver();
  }
  if (may_switch && tx.may_switch()) {
    tx.switch_over();
    io.tell_receiver();
  }
  const int error = send_proof(tx, io);
  if (error < 0) return error;
  return tx.take_spine_fin() ? io.spine_finish() : 0;
}

// What the receiving half has to do while the program does not receive: notice the switch, and the
// proof. Zero, or -EAGAIN, kPeerLied, or what the spine said.
template <typename Io>
[[nodiscard]] int advance_rx(RxStream& rx, Io& io) {
  const Source source = rx.next();
  if (rx.take_news()) io.tell_sender();
  if (source.what == Source::What::lie) return kPeerLied;
  if (source.what == Source::What::proof) {
    const int error = look_for_proof(rx, io);
    if (error < 0) return error;
  }
  return take_proof(rx, io);
}

enum class Consume : std::uint8_t { yes, no };

// Receives up to `wanted` bytes. With Consume::no they stay (MSG_PEEK), and only those of one
// source are seen. What was received, zero at the end of the stream, or -EAGAIN, -ECONNRESET,
// kPeerLied, or what the spine said.
template <typename Io>
[[nodiscard]] std::int64_t receive_some(RxStream& rx, Io& io, std::uint64_t wanted,
                                        Consume consume = Consume::yes) {
  std::uint64_t total = 0;
  std::int64_t error = -EAGAIN;
  while (total < wanted) {
    const Source source = rx.next();
    const std::uint64_t bytes = std::min(source.bytes, wanted - total);
    if (source.what == Source::What::ring) {
      io.empty_ring(source.ring, source.index, bytes);
      total += bytes;
      if (consume == Consume::no) break;
      rx.taken(bytes);
      io.tell_sender();
      continue;
    }
    if (rx.take_news()) io.tell_sender();
    if (source.what == Source::What::spine) {
      const std::int64_t received = io.spine_receive(bytes);
      if (received <= 0) {
        error = received;
        break;
      }
      total += static_cast<std::uint64_t>(received);
      if (consume == Consume::yes) rx.taken(static_cast<std::uint64_t>(received));
      break;
    }
    // What comes at the end of the bytes that we have is for the next call.
    if (total > 0) break;
    if (source.what == Source::What::proof) {
      error = look_for_proof(rx, io);
      if (error < 0) break;
      error = -EAGAIN;
      continue;
    }
    if (source.what == Source::What::proof_left) {
      error = take_proof(rx, io);
      if (error < 0) break;
      error = -EAGAIN;
      if (rx.proof_on_spine()) break;
      continue;
    }
    if (source.what == Source::What::end) error = 0;
    if (source.what == Source::What::reset) error = -ECONNRESET;
    if (source.what == Source::What::lie) error = kPeerLied;
    break;
  }
  return total > 0 ? static_cast<std::int64_t>(total) : error;
}

}  // namespace rsock::stream
