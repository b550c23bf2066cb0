#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "core/base/deadline.h"
#include "core/link/shm/shm_stream.h"
#include "core/socket/half_lock.h"
#include "core/socket/program_bytes.h"
#include "core/socket/spinner.h"
#include "core/stream/rx_stream.h"
#include "core/stream/tx_stream.h"
#include "core/wire/stream_words.h"

namespace rsock::socket {

// How a call waits: as the program asked by flags, by O_NONBLOCK and by the socket's timeouts.
struct Waiting {
  bool blocks = true;
  Deadline deadline = Deadline::never();
};

// A connection on a link: its spine, both halves of its stream, and waiting for them. From the
// OPEN on, all that the program sends and receives goes through it.
//
// Sizes and errors are returned as by the system calls, with the error negated; a sending call that
// gives -EPIPE is the caller's to follow by SIGPIPE.
//
// A thread may be cancelled in send() and receive() while it waits: they are not noexcept.
//
// Thread safety: every function by any thread; send() also by a signal handler, even one that has
// interrupted send() or receive() on the same connection. Two halves never wait for each other.
//
// Invariants:
//   1. tx_ is touched with tx_lock_ held only, rx_ with rx_lock_; nobody sleeps with either.
//   2. A thread that sleeps in the kernel on the spine is counted in spine_watchers_.
class Connection {
 public:
  enum class Role : std::uint8_t { connector, acceptor };

  struct Start {
    int spine = -1;  // stays the caller's
    Role role = Role::connector;
    StreamOffset sent;      // over the spine so far
    StreamOffset received;  // over the spine so far
    wire::Proof own_challenge{};
    wire::Proof peer_challenge{};
  };

  Connection(const Start& start, link::shm::ShmStream&& stream) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The connector has its ACCEPT: its direction may switch.
  void accepted() noexcept { may_switch_.store(true, std::memory_order_release); }

  // As sendmsg(2). In a signal handler that has interrupted a send of its own thread: -EAGAIN when
  // the bytes that such handlers have left to be sent have no more room.
  [[nodiscard]] ssize_t send(ProgramBytes& bytes, const Waiting& waiting);

  // As recvmsg(2) with `flags` of MSG_PEEK, MSG_WAITALL and MSG_TRUNC.
  [[nodiscard]] ssize_t receive(ProgramBytes& bytes, int flags, const Waiting& waiting);

  // As shutdown(2) of the sending half.
  [[nodiscard]] int finish() noexcept;

  // What goes on without the program: the switchover, the proof, the fallback, the FIN. Called when
  // the other process has rung, and when the spine is readable. Zero, or -EPROTO: the other process
  // has lied.
  [[nodiscard]] int advance() noexcept;

  // The other process is gone.
  void peer_gone(stream::Death death) noexcept;

  // Both directions are to go back to the spine. back_on_spine() says when they are.
  void fall_back() noexcept;
  [[nodiscard]] bool back_on_spine() const noexcept {
    return tx_back_.load(std::memory_order_acquire) && rx_back_.load(std::memory_order_acquire);
  }

  // What a look from outside shows: the bytes that went through rings, and the present paths.
  [[nodiscard]] std::uint64_t tx_ring_bytes() const noexcept { return tx_ring_bytes_.load(); }
  [[nodiscard]] std::uint64_t rx_ring_bytes() const noexcept { return rx_ring_bytes_.load(); }
  [[nodiscard]] stream::Path tx_path() noexcept;
  [[nodiscard]] stream::Path rx_path() noexcept;

 private:
  class Io;
  enum class WaitFor : std::uint8_t { spine, ring };

  // What has been said about a half, by the other process or by this one. A wait begins with a look
  // before the attempt, and ends when there is something else.
  struct Said {
    std::uint64_t words[4];
    std::uint32_t changes;
    friend bool operator==(const Said&, const Said&) = default;
  };
  [[nodiscard]] Said said_about_tx() const noexcept;
  [[nodiscard]] Said said_about_rx() const noexcept;
  // This process has changed something that others may wait for.
  void changed() noexcept;

  [[nodiscard]] ssize_t send_in_handler(ProgramBytes& bytes) noexcept;
  // False: some of the bytes have to wait.
  [[nodiscard]] bool flush_handler_bytes() noexcept RSOCK_REQUIRES(tx_lock_);
  void unlock_tx() noexcept RSOCK_RELEASE(tx_lock_);

  [[nodiscard]] std::int64_t try_send(ProgramBytes& bytes, WaitFor& wait_for) noexcept
      RSOCK_REQUIRES(tx_lock_);
  [[nodiscard]] std::int64_t try_receive(ProgramBytes& bytes, int flags, WaitFor& wait_for) noexcept
      RSOCK_REQUIRES(rx_lock_);
  template <typename Look>
  [[nodiscard]] int wait_for_other(std::atomic<std::uint32_t>& interest, Spinner& spinner,
                                   const Said& before, Deadline deadline, Look look);
  [[nodiscard]] int wait_on_spine_to_receive(Deadline deadline);
  [[nodiscard]] int wait_on_spine_to_send(Deadline deadline);
  [[nodiscard]] bool receives_from_spine() noexcept;
  void note_halves_on_spine() noexcept;

  const int spine_;
  const Role role_;
  const wire::Proof peer_challenge_;
  link::shm::ShmStream shm_;

  HalfLock tx_lock_;
  stream::TxStream tx_ RSOCK_GUARDED_BY(tx_lock_);
  // What signal handlers sent while their own thread held the lock: a ring, from the first number
  // up to the second.
  std::byte handler_bytes_[config::kHandlerBytes];
  std::atomic<std::uint32_t> handler_head_{0};
  std::atomic<std::uint32_t> handler_tail_{0};
  Spinner tx_spinner_;

  HalfLock rx_lock_;
  stream::RxStream rx_ RSOCK_GUARDED_BY(rx_lock_);
  Spinner rx_spinner_;

  std::atomic<std::uint32_t> spine_watchers_{0};
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<bool> may_switch_{false};
  std::atomic<bool> rx_proven_{false};
  std::atomic<bool> peer_gone_{false};
  std::atomic<bool> tx_back_{false};
  std::atomic<bool> rx_back_{false};
  std::atomic<std::uint64_t> tx_ring_bytes_{0};
  std::atomic<std::uint64_t> rx_ring_bytes_{0};
};

}  // namespace rsock::socket
