#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/link/shm/control_channel.h"
#include "core/link/shm/index_pool.h"
#include "core/link/shm/shm_stream.h"

namespace rsock::link::shm {

// A link to another process of this host, from the greeting to its end.
//
// Thread safety: none; it belongs to the service thread. The segments, once there, do not move,
// and streams on them are used by other threads.
class ShmLink {
 public:
  enum class State : std::uint8_t {
    greeting,     // the other side's HELLO has not come
    established,  // streams can be opened
    lost,         // the other process is gone, or has told lies
  };

  // A link over a connected SOCK_SEQPACKET, and our part of the greeting. The connecting side
  // speaks first. -ENOMEM, or errno as for Segment::create(), socketpair(2) and sendmsg(2).
  [[nodiscard]] static Result<std::unique_ptr<ShmLink>> connect(os::UniqueFd socket) noexcept;
  [[nodiscard]] static Result<std::unique_ptr<ShmLink>> accept(os::UniqueFd socket) noexcept;

  ShmLink(const ShmLink&) = delete;
  ShmLink& operator=(const ShmLink&) = delete;

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] Segments& segments() noexcept { return segments_; }
  // Readable when there are messages, and when the other process has ended.
  [[nodiscard]] int control_fd() const noexcept { return control_.fd(); }
  // Readable when the other process has rung.
  [[nodiscard]] int bell_fd() const noexcept { return segments_.bell.get(); }
  [[nodiscard]] std::uint32_t peer_process_id() const noexcept { return peer_process_id_; }

  // The next message about streams. -EAGAIN: none has come. Any other error: the link is lost.
  [[nodiscard]] Result<wire::Message> receive() noexcept;

  // Tells the other side. Any error: the link is lost.
  template <typename Part>
  [[nodiscard]] Result<void> send(const Part& message) noexcept {
    return lost_if_failed(control_.send(message));
  }

  // The index of a new stream of ours, its block made new; IndexPool::kNone if there is none.
  [[nodiscard]] std::uint32_t take_index() noexcept;
  // This end is through with its stream `index`, and the other end with it as `their_index`.
  [[nodiscard]] Result<void> close_stream(std::uint32_t index, std::uint32_t their_index) noexcept;
  // What was opened and not accepted.
  void drop_index(std::uint32_t index) noexcept;

 private:
  explicit ShmLink(os::UniqueFd socket) noexcept : control_(std::move(socket)) {}

  [[nodiscard]] static Result<std::unique_ptr<ShmLink>> make(os::UniqueFd socket) noexcept;
  [[nodiscard]] Result<void> greet(int bell) noexcept;
  [[nodiscard]] int be_greeted(const wire::Hello& hello,
                               ControlChannel::Received& received) noexcept;
  [[nodiscard]] Result<void> lost_if_failed(Result<void> result) noexcept;

  ControlChannel control_;
  Segments segments_;
  IndexPool indices_;
  std::uint32_t peer_process_id_ = 0;
  State state_ = State::greeting;
  bool connects_ = false;
};

}  // namespace rsock::link::shm
