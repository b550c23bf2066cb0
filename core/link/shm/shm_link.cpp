#include "core/link/shm/shm_link.h"

#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

#include "core/os/inode.h"
#include "core/os/or_error.h"

namespace rsock::link::shm {

namespace {

using os::or_error;
using os::sys;
using os::UniqueFd;
using wire::Closed;
using wire::Hello;

// Where the descriptors are that come with a HELLO.
constexpr std::size_t kSegmentFd = 0;
constexpr std::size_t kBellFd = 1;

}  // namespace

Result<std::unique_ptr<ShmLink>> ShmLink::make(UniqueFd socket) noexcept {
  std::unique_ptr<ShmLink> link(new (std::nothrow) ShmLink(std::move(socket)));
  if (link == nullptr) return Error(-ENOMEM);
  Result<Segment> segment = Segment::create();
  if (!segment.ok()) return Error(segment.error());
  link->segments_.mine = std::move(segment).value();
  return link;
}

Result<std::unique_ptr<ShmLink>> ShmLink::connect(UniqueFd socket) noexcept {
  Result<std::unique_ptr<ShmLink>> link = make(std::move(socket));
  if (!link.ok()) return link;
  int bells[2];
  const int error = or_error(sys().socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, bells));
  if (error < 0) return Error(error);
  const UniqueFd their_bell(bells[1]);
  link.value()->segments_.bell = UniqueFd(bells[0]);
  link.value()->connects_ = true;
  const Result<void> greeted = link.value()->greet(their_bell.get());
  if (!greeted.ok()) return Error(greeted.error());
  return link;
}

Result<std::unique_ptr<ShmLink>> ShmLink::accept(UniqueFd socket) noexcept {
  return make(std::move(socket));
}

Result<void> ShmLink::greet(int bell) noexcept {
  Hello hello;
  hello.process_id = static_cast<std::uint32_t>(sys().getpid());
  const int fds[] = {segments_.mine.fd(), bell};
  return control_.send(hello, std::span(fds).first(bell < 0 ? 1 : 2));
}

int ShmLink::be_greeted(const Hello& hello, ControlChannel::Received& received) noexcept {
  Result<Segment> segment = Segment::attach(std::move(received.fds[kSegmentFd]));
  if (!segment.ok()) return segment.error();
  segments_.theirs = std::move(segment).value();
  if (!connects_) {
    // Ringing is a send(2) that never blocks, on whatever socket they gave.
    if (!os::is_socket(received.fds[kBellFd].get())) return -EPROTO;
    segments_.bell = std::move(received.fds[kBellFd]);
    const Result<void> greeted = greet(-1);
    if (!greeted.ok()) return greeted.error();
  }
  peer_process_id_ = hello.process_id;
  state_ = State::established;
  return 0;
}

Result<wire::Message> ShmLink::receive() noexcept {
  if (state_ == State::lost) return Error(-ECONNRESET);
  int error = 0;
  for (;;) {
    Result<ControlChannel::Received> received = control_.receive();
    error = received.error();
    if (error == -EAGAIN) return Error(-EAGAIN);
    if (error != 0) break;
    wire::Message& message = received.value().message;
    const Hello* hello = std::get_if<Hello>(&message);
    error = -EPROTO;
    // The greeting comes first, and once.
    if ((hello != nullptr) != (state_ == State::greeting)) break;
    if (hello != nullptr) {
      error = be_greeted(*hello, received.value());
      if (error != 0) break;
      continue;
    }
    if (const Closed* closed = std::get_if<Closed>(&message)) {
      if (!indices_.close_there(closed->stream)) break;
    }
    return message;
  }
  state_ = State::lost;
  return Error(error);
}

Result<void> ShmLink::lost_if_failed(Result<void> result) noexcept {
  if (!result.ok()) state_ = State::lost;
  return result;
}

std::uint32_t ShmLink::take_index() noexcept {
  const std::uint32_t index = indices_.take();
  if (index != IndexPool::kNone) segments_.mine.reset_block(index);
  return index;
}

Result<void> ShmLink::close_stream(std::uint32_t index, std::uint32_t their_index) noexcept {
  static_cast<void>(indices_.close_here(index));
  Closed closed;
  closed.stream = their_index;
  return send(closed);
}

void ShmLink::drop_index(std::uint32_t index) noexcept {
  static_cast<void>(indices_.close_here(index));
  static_cast<void>(indices_.close_there(index));
}

}  // namespace rsock::link::shm
