#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "core/wire/stream_words.h"

namespace rsock::sim {

using RingMemory = std::map<std::uint32_t, std::vector<std::byte>>;  // by ring number

// What one end of a link has in its memory for one stream: what the other end writes there.
struct StreamMemory {
  wire::SenderWords sender;      // of the direction that this end receives
  wire::ReceiverWords receiver;  // of the direction that this end sends
  RingMemory rings;              // this end's receive rings
};

// What one end writes into the other's memory, in order, and visible there only when the world
// delivers it. The writer keeps the words as it wrote them; ship() sends those that have changed,
// in the order in which they have to be set.
class LinkWriter {
 public:
  explicit LinkWriter(StreamMemory& remote) : remote_(&remote) {}

  wire::SenderWords& sender() { return sender_; }
  wire::ReceiverWords& receiver() { return receiver_; }

  // `check` is called when the bytes land.
  void write_ring(std::uint32_t ring, std::uint32_t index, std::vector<std::byte> bytes,
                  std::function<void()> check);
  void ship();

  void deliver(std::size_t count);
  [[nodiscard]] std::size_t moving() const { return under_way_.size(); }

 private:
  template <typename Word>
  void ship_word(const Word& now, Word& shipped, Word& there);

  StreamMemory* remote_;
  wire::SenderWords sender_;
  wire::SenderWords sender_shipped_;
  wire::ReceiverWords receiver_;
  wire::ReceiverWords receiver_shipped_;
  std::deque<std::function<void()>> under_way_;
};

inline void LinkWriter::write_ring(std::uint32_t ring, std::uint32_t index,
                                   std::vector<std::byte> bytes, std::function<void()> check) {
  under_way_.push_back([this, ring, index, bytes = std::move(bytes), check = std::move(check)] {
    check();
    // at(): a ring that was freed, or never offered, must not be written.
    std::vector<std::byte>& memory = remote_->rings.at(ring);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      memory.at((index + at) % memory.size()) = bytes[at];
    }
  });
}

template <typename Word>
void LinkWriter::ship_word(const Word& now, Word& shipped, Word& there) {
  const auto value = now.load();
  if (value == shipped.load()) return;
  shipped.store(value);
  under_way_.push_back([&there, value] { there.store(value); });
}

inline void LinkWriter::ship() {
  ship_word(sender_.ring_from, sender_shipped_.ring_from, remote_->sender.ring_from);
  ship_word(sender_.ring_number, sender_shipped_.ring_number, remote_->sender.ring_number);
  ship_word(sender_.tail, sender_shipped_.tail, remote_->sender.tail);
  ship_word(sender_.switch_at, sender_shipped_.switch_at, remote_->sender.switch_at);
  ship_word(sender_.fin_at, sender_shipped_.fin_at, remote_->sender.fin_at);
  ship_word(sender_.stop_at, sender_shipped_.stop_at, remote_->sender.stop_at);
  ship_word(sender_.stalls, sender_shipped_.stalls, remote_->sender.stalls);
  ship_word(receiver_.head, receiver_shipped_.head, remote_->receiver.head);
  ship_word(receiver_.ring_place, receiver_shipped_.ring_place, remote_->receiver.ring_place);
  ship_word(receiver_.ring_bytes, receiver_shipped_.ring_bytes, remote_->receiver.ring_bytes);
  ship_word(receiver_.ring_number, receiver_shipped_.ring_number, remote_->receiver.ring_number);
  ship_word(receiver_.switch_seen, receiver_shipped_.switch_seen, remote_->receiver.switch_seen);
  ship_word(receiver_.stop_wanted, receiver_shipped_.stop_wanted, remote_->receiver.stop_wanted);
}

inline void LinkWriter::deliver(std::size_t count) {
  for (; count > 0 && !under_way_.empty(); --count) {
    under_way_.front()();
    under_way_.pop_front();
  }
}

}  // namespace rsock::sim
