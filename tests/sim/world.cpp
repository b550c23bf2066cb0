#include "tests/sim/world.h"

#include <algorithm>
#include <vector>

#include "core/stream/transfer.h"

namespace rsock::sim {

namespace {

constexpr std::size_t kEventsKept = 50;

// The byte at `offset` of the direction that `side` sends: any other place has most likely another.
std::byte pattern(Side side, std::uint64_t offset) {
  const std::uint64_t mixed = (offset + 1) * 0x9e3779b97f4a7c15 + (side == Side::acceptor ? 77 : 0);
  return static_cast<std::byte>(mixed >> 56);
}

std::vector<std::byte> patterns(Side side, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::uint64_t at = 0; at < bytes; ++at) all[at] = pattern(side, offset + at);
  return all;
}

const char* name(Side side) { return side == Side::connector ? "connector" : "acceptor"; }

}  // namespace

Options Options::draw(Choices& choices) {
  Options options;
  options.ring_bytes = 1U << choices.below(6);
  options.ring_bytes_max = options.ring_bytes << choices.below(4);
  // The receiver looks at the whole proof before it takes it: that much every kernel has room for.
  options.spine_bytes = wire::kProofBytes + (choices.one_in(2) ? choices.below(16) : 200);
  options.stream_bytes = choices.one_in(8) ? 0 : choices.between(1, 500);
  options.upgrades = choices.between(1, 5);
  options.steps = choices.between(50, 900);
  for (bool* feature : {&options.declines, &options.peeks, &options.finishes, &options.fallbacks,
                        &options.ring_changes, &options.watchers, &options.kill, &options.pieces}) {
    *feature = choices.one_in(2);
  }
  return options;
}

std::string Options::describe() const {
  std::string text = "ring " + std::to_string(ring_bytes) + ".." + std::to_string(ring_bytes_max) +
                     ", spine " + std::to_string(spine_bytes) + ", stream " +
                     std::to_string(stream_bytes) + ", steps " + std::to_string(steps);
  const auto add = [&](bool on, const char* what) {
    if (on) text += std::string(", ") + what;
  };
  add(declines, "declines");
  add(peeks, "peeks");
  add(finishes, "finishes");
  add(fallbacks, "fallbacks");
  add(ring_changes, "ring changes");
  add(watchers, "watchers");
  add(kill, "kill");
  add(pieces, "pieces");
  return text;
}

Epoch::Epoch(std::uint32_t epoch_number, std::uint32_t ring_bytes)
    : number(epoch_number), writer{LinkWriter(memory[1]), LinkWriter(memory[0])} {
  for (int side = 0; side < 2; ++side) {
    memory[side].rings[0].resize(ring_bytes);
    for (std::size_t at = 0; at < wire::kProofBytes; ++at) {
      challenge[side][at] = static_cast<std::byte>(number * 31 + at * 7 + (side == 0 ? 3 : 101));
    }
  }
}

End::Stream::Stream(std::shared_ptr<Epoch> in, Side side, std::uint64_t snd_nxt,
                    std::uint64_t rcv_nxt, std::uint32_t ring_bytes)
    : epoch(std::move(in)),
      tx(epoch->writer[static_cast<int>(side)].sender(),
         epoch->memory[static_cast<int>(side)].receiver, StreamOffset(snd_nxt), ring_bytes),
      rx(epoch->writer[static_cast<int>(side)].receiver(),
         epoch->memory[static_cast<int>(side)].sender, StreamOffset(rcv_nxt),
         epoch->challenge[static_cast<int>(side)], ring_bytes) {}

World::World(Choices& choices, const Options& options)
    : choices_(choices),
      options_(options),
      spines_{Spine(options.spine_bytes), Spine(options.spine_bytes)} {
  ends_[0].side = Side::connector;
  ends_[1].side = Side::acceptor;
}

// What send_some() and receive_some() need of a socket.
class World::Io {
 public:
  Io(World& world, End& end, bool consume = true) : world_(world), end_(end), consume_(consume) {}

  ssize_t spine_send(std::uint64_t bytes) {
    const ssize_t count =
        world_.out(end_).send(patterns(end_.side, end_.sent, std::min<std::uint64_t>(bytes, 4096)));
    if (count > 0) end_.sent += static_cast<std::uint64_t>(count);
    return count;
  }
  ssize_t spine_send_proof(std::size_t bytes) {
    const wire::Proof& proof = epoch().challenge[1 - index()];
    return world_.out(end_).send(std::span(proof).last(bytes));
  }
  ssize_t spine_receive(std::uint64_t bytes) {
    std::vector<std::byte> buffer(std::min<std::uint64_t>(bytes, 4096));
    const ssize_t count = consume_ ? world_.in(end_).receive(buffer) : world_.in(end_).peek(buffer);
    if (count > 0) give(std::span(buffer).first(static_cast<std::size_t>(count)));
    return count;
  }
  ssize_t spine_peek(std::span<std::byte> bytes) { return world_.in(end_).peek(bytes); }
  ssize_t spine_discard(std::size_t bytes) {
    std::vector<std::byte> buffer(bytes);
    const ssize_t count = world_.in(end_).receive(buffer);
    world_.require(count == static_cast<ssize_t>(bytes), "the proof was not there to be taken");
    world_.require(std::equal(buffer.begin(), buffer.end(), epoch().challenge[index()].begin()),
                   "something else was taken for the proof");
    return count;
  }
  int spine_finish() {
    world_.out(end_).finish();
    return 0;
  }
  void fill_ring(std::uint32_t ring, std::uint32_t index, std::uint64_t bytes) {
    world_.ring_bytes_ += bytes;
    const std::uint64_t from = end_.sent;
    End& reader = world_.other(end_);
    const std::uint64_t ring_from = end_.stream->tx.ring().from.value();
    auto check = [this_world = &world_, &reader, from, bytes, ring_from,
                  ring_bytes = end_.stream->tx.ring().bytes] {
      // What the reader has not read yet of this ring begins here.
      const std::uint64_t unread = std::max(reader.received, ring_from);
      this_world->require(reader.dead || from + bytes <= unread + ring_bytes,
                          "a write touched bytes that the reader has not released");
    };
    writer().write_ring(ring, index, patterns(end_.side, end_.sent, bytes), check);
    end_.sent += bytes;
  }
  void empty_ring(std::uint32_t ring, std::uint32_t index, std::uint64_t bytes) {
    const std::vector<std::byte>& memory = epoch().memory[this->index()].rings.at(ring);
    world_.require(bytes <= memory.size(), "more was read from a ring than it holds");
    std::vector<std::byte> buffer(bytes);
    for (std::uint64_t at = 0; at < bytes; ++at)
      buffer[at] = memory.at((index + at) % memory.size());
    give(buffer);
  }
  void tell_receiver() { writer().ship(); }
  void tell_sender() { writer().ship(); }
  bool spine_is_watched() const { return end_.watchers > 0; }
  bool link_keeps_all() const { return true; }

 private:
  int index() const { return static_cast<int>(end_.side); }
  Epoch& epoch() { return *end_.stream->epoch; }
  LinkWriter& writer() { return epoch().writer[index()]; }
  void give(std::span<const std::byte> bytes) {
    world_.accept_bytes(end_, bytes, end_.received + peeked_);
    if (consume_) {
      end_.received += bytes.size();
    } else {
      peeked_ += bytes.size();
    }
  }

  World& world_;
  End& end_;
  bool consume_;
  std::uint64_t peeked_ = 0;
};

void World::require(bool condition, const char* what) {
  if (!condition) throw Violation(what);
}

std::string World::describe() const {
  std::string text;
  for (const End& end : ends_) {
    const Spine& incoming = spines_[1 - static_cast<int>(end.side)];
    text += std::string("  ") + name(end.side) + ": sent " + std::to_string(end.sent) +
            ", received " + std::to_string(end.received) + ", unread on the spine " +
            std::to_string(incoming.unread_bytes()) + ", asleep " + std::to_string(end.watchers);
    if (end.stream) {
      const End::Stream& own = *end.stream;
      text += ", epoch " + std::to_string(own.epoch->number) + ", sending by " +
              std::string(to_string(own.tx.path())) + ", proof left " +
              std::to_string(own.tx.proof_left_bytes()) + ", una " +
              std::to_string(own.tx.snd_una().value()) + ", ring " +
              std::to_string(own.tx.ring().number) + ", receiving by " +
              std::string(to_string(own.rx.path())) + ", ring " +
              std::to_string(own.rx.ring().number);
    }
    text += "\n";
  }
  return text;
}

void World::note(std::string event) {
  // While it waits for the end, the same happens again and again.
  if (!events_.empty() && events_.back() == event) return;
  events_.push_back(std::move(event));
  if (events_.size() > kEventsKept) events_.pop_front();
}

void World::accept_bytes(End& end, std::span<const std::byte> bytes, std::uint64_t at) {
  const End& sender = other(end);
  require(at + bytes.size() <= sender.sent, "bytes were received that nobody sent");
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    require(bytes[index] == pattern(sender.side, at + index), "a wrong byte was received");
  }
  require(!end.end_seen && !end.reset_seen, "bytes were received after the end");
}

void World::saw_end(End& end) {
  const End& sender = other(end);
  require(sender.finished || sender.dead, "end-of-file without a FIN");
  require(end.received == sender.sent, "end-of-file before the last byte");
  end.end_seen = true;
}

LinkWriter& World::writer(const End& end) {
  return end.stream->epoch->writer[static_cast<int>(end.side)];
}

void World::send(End& end, std::uint64_t bytes) {
  if (end.finished) return;
  bytes = std::min<std::uint64_t>(bytes, options_.stream_bytes - end.sent);
  if (bytes == 0) return;
  Io io(*this, end);
  const std::uint64_t before = end.sent;
  const std::int64_t result =
      end.stream ? stream::send_some(end.stream->tx, io, bytes) : io.spine_send(bytes);
  if (!healing_ || result > 0) {
    note(std::string(name(end.side)) + " sends " + std::to_string(bytes) + " at " +
         std::to_string(before) + ": " + std::to_string(result));
  }
  require(result != stream::kPeerLied, "the sender takes the receiver for a liar");
  require(result != 0, "a send of some bytes sent none, without an error");
  require(result < 0 || before + static_cast<std::uint64_t>(result) == end.sent,
          "a send did not return what it sent");
}

void World::receive(End& end, std::uint64_t bytes) {
  if (end.reset_seen) return;
  using What = stream::Source::What;
  Io io(*this, end);
  What what = What::spine;
  if (end.stream) what = end.stream->rx.next().what;
  const std::uint64_t before = end.received;
  const std::int64_t result =
      end.stream ? stream::receive_some(end.stream->rx, io, bytes) : io.spine_receive(bytes);
  if (!healing_ || result > 0) {
    note(std::string(name(end.side)) + " receives up to " + std::to_string(bytes) + " at " +
         std::to_string(before) + ": " + std::to_string(result));
  }
  require(result != stream::kPeerLied, "the receiver takes the sender for a liar");
  require(end.end_seen || !((what == What::ring || what == What::end) && result < 0),
          "the stream was readable and a receive found nothing");
  require(result <= 0 || before + static_cast<std::uint64_t>(result) == end.received,
          "a receive did not return what it received");
  if (result == 0) saw_end(end);
  if (result == -ECONNRESET) {
    require(other(end).dead, "a reset without a cause");
    end.reset_seen = true;
  }
  if (end.stream) {
    const std::uint32_t retired = end.stream->rx.take_retired_ring();
    if (retired != 0) {
      note(std::string(name(end.side)) + " frees ring " + std::to_string(retired));
      end.stream->epoch->memory[static_cast<int>(end.side)].rings.erase(retired);
    }
  }
}

void World::peek(End& end, std::uint64_t bytes) {
  if (!end.stream || end.end_seen || end.reset_seen) return;
  Io io(*this, end, false);
  const std::int64_t result = stream::receive_some(end.stream->rx, io, bytes, stream::Consume::no);
  note(std::string(name(end.side)) + " peeks " + std::to_string(bytes) + ": " +
       std::to_string(result));
  require(result != stream::kPeerLied, "a peek takes the sender for a liar");
}

void World::finish(End& end) {
  if (end.finished) return;
  note(std::string(name(end.side)) + " finishes at " + std::to_string(end.sent));
  end.finished = true;
  if (!end.stream) {
    out(end).finish();
    return;
  }
  end.stream->tx.finish();
  writer(end).ship();
  advance(end);
}

void World::advance(End& end) {
  if (!end.stream) return;
  End::Stream& own = *end.stream;
  Io io(*this, end);
  const bool may_switch =
      !own.falls_back && (end.side == Side::connector ? own.accepted : own.rx.proven());
  const bool had_stopped = own.tx.stopped();
  const int sending = stream::advance_tx(own.tx, may_switch, io);
  if (own.tx.stopped() && !had_stopped) note(std::string(name(end.side)) + " goes along");
  require(sending != stream::kPeerLied, "advancing takes the receiver for a liar");
  if (!end.reset_seen) {
    const int receiving = stream::advance_rx(own.rx, io);
    require(receiving != stream::kPeerLied, "advancing takes the sender for a liar");
  }
  leave_stream_if_over(end);
}

void World::fall_back(End& end) {
  if (!end.stream) return;
  // A connector that has not been answered yet can't know whether there is anybody to tell.
  if (end.side == Side::connector && !end.stream->accepted) return;
  if (end.stream->falls_back) return;
  note(std::string(name(end.side)) + " falls back at " + std::to_string(end.sent));
  ++fallbacks_;
  end.stream->falls_back = true;
  if (!end.stream->tx.stopped()) end.stream->tx.stop();
  end.stream->rx.want_stop();
  writer(end).ship();
  advance(end);
}

void World::change_rings(End& end) {
  if (!end.stream) return;
  End::Stream& own = *end.stream;
  if (own.rx.may_offer_ring() && choices_.one_in(2)) {
    const std::uint32_t number = ++own.rings_offered;
    std::uint32_t bytes = options_.ring_bytes;
    while (bytes < options_.ring_bytes_max && choices_.one_in(2)) bytes *= 2;
    own.epoch->memory[static_cast<int>(end.side)].rings[number].resize(bytes);
    own.rx.offer_ring(number, bytes, 0);
    note(std::string(name(end.side)) + " offers ring " + std::to_string(number) + " of " +
         std::to_string(bytes));
    writer(end).ship();
  }
  stream::RingOffer offer;
  if (own.tx.may_change_ring()) {
    if (own.tx.offer(offer) && choices_.one_in(2)) {
      note(std::string(name(end.side)) + " takes ring " + std::to_string(offer.number) + " at " +
           std::to_string(end.sent));
      own.tx.take_ring(offer);
    } else if (choices_.one_in(4)) {
      own.tx.return_to_first_ring();
      note(std::string(name(end.side)) + " returns to the first ring at " +
           std::to_string(end.sent));
    }
    writer(end).ship();
  }
}

void World::watch(End& end) {
  // A thread goes to sleep in the kernel only while the bytes come from the spine, and when there
  // is nothing.
  const bool on_spine = !end.stream || (end.stream->rx.path() == stream::Path::tcp);
  if (!on_spine || in(end).readable() || end.watchers >= 3) return;
  note(std::string(name(end.side)) + " sleeps in the kernel");
  ++end.watchers;
}

void World::leave(End& end) {
  if (end.watchers == 0 || !in(end).readable()) return;
  note(std::string(name(end.side)) + " wakes up");
  --end.watchers;
}

void World::open() {
  End& connector = end(Side::connector);
  if (connector.stream || opening_ != Opening::none || epochs_.size() == options_.upgrades) return;
  if (connector.dead || end(Side::acceptor).dead || connector.finished) return;
  const auto number = static_cast<std::uint32_t>(epochs_.size() + 1);
  opening_epoch_ = std::make_shared<Epoch>(number, options_.ring_bytes);
  epochs_.push_back(opening_epoch_);
  connector.stream.emplace(opening_epoch_, Side::connector, connector.sent, connector.received,
                           options_.ring_bytes);
  opening_ = Opening::sent;
  note("connector opens " + std::to_string(number) + " at " + std::to_string(connector.sent));
}

void World::deliver_open() {
  End& acceptor = end(Side::acceptor);
  const bool declines = acceptor.stream || acceptor.dead || acceptor.finished ||
                        (options_.declines && choices_.one_in(2));
  note(declines ? "acceptor declines" : "acceptor accepts");
  opening_ = declines ? Opening::declined : Opening::accepted;
  if (declines) return;
  acceptor.stream.emplace(opening_epoch_, Side::acceptor, acceptor.sent, acceptor.received,
                          options_.ring_bytes);
  require(opening_epoch_->number > acceptor.epochs, "an epoch came back");
  acceptor.epochs = opening_epoch_->number;
}

void World::deliver_answer() {
  End& connector = end(Side::connector);
  if (!connector.dead) {
    if (opening_ == Opening::accepted) {
      connector.stream->accepted = true;
      note("connector has the ACCEPT");
    } else {
      connector.stream.reset();
      note("connector has the DECLINE");
    }
  }
  opening_ = Opening::none;
  opening_epoch_.reset();
}

void World::leave_stream_if_over(End& end) {
  const End::Stream& own = *end.stream;
  if (!own.tx.stopped() || own.tx.proof_left_bytes() > 0) return;
  if (!own.rx.stopped() || own.rx.proof_on_spine()) return;
  if (end.side == Side::connector && opening_ != Opening::none) return;
  note(std::string(name(end.side)) + " is back on the spine");
  end.stream.reset();
}

void World::kill(End& end) {
  note(std::string(name(end.side)) + " dies");
  end.dead = true;
  end.watchers = 0;
  // Shared memory has what it wrote, before its end can be seen on the spine.
  for (const auto& epoch : epochs_) epoch->writer[static_cast<int>(end.side)].deliver(SIZE_MAX);
  const bool unread = in(end).unread_bytes() > 0;
  out(end).finish();
  if (unread) out(end).reset();
  in(end).reset();
}

void World::notice_death(End& end) {
  End& dead = other(end);
  if (!dead.dead || !end.stream || end.stream->rx.half() != stream::Half::open) return;
  const bool all_here =
      end.stream->epoch->writer[static_cast<int>(dead.side)].moving() == 0 && !out(dead).moving();
  if (!all_here) return;
  const bool was_reset = out(dead).is_reset();
  end.stream->rx.peer_gone(was_reset ? stream::Death::reset : stream::Death::clean);
}

void World::deliver(End& end, std::uint32_t count) {
  out(end).deliver(options_.pieces && !healing_ ? count : SIZE_MAX);
  // What is under way of an older epoch still comes.
  for (const auto& epoch : epochs_) {
    epoch->writer[static_cast<int>(end.side)].deliver(options_.pieces && !healing_ ? count
                                                                                   : SIZE_MAX);
  }
}

void World::check(const End& end) {
  require(end.received <= other(end).sent, "more was received than sent");
  if (!end.stream) return;
  const End::Stream& own = *end.stream;
  require(end.dead || own.tx.snd_nxt().value() == end.sent, "snd_nxt is not what was sent");
  require(end.dead || own.rx.rcv_nxt().value() == end.received, "rcv_nxt is not what was received");
}

void World::act(End& end) {
  if (end.dead) return;
  const std::uint32_t sizes[] = {1, options_.ring_bytes - 1, options_.ring_bytes,
                                 options_.ring_bytes + 1, options_.ring_bytes * 3};
  switch (choices_.below(12)) {
    case 0:
    case 1:
    case 2:
      send(end, sizes[choices_.below(5)]);
      break;
    case 3:
    case 4:
    case 5:
      receive(end, std::max(1U, sizes[choices_.below(5)]));
      break;
    case 6:
    case 7:
      advance(end);
      break;
    case 8:
      if (options_.peeks) peek(end, choices_.between(1, options_.ring_bytes));
      break;
    case 9:
      if (options_.fallbacks && choices_.one_in(6)) fall_back(end);
      if (options_.finishes && choices_.one_in(15)) finish(end);
      break;
    case 10:
      if (options_.ring_changes) change_rings(end);
      break;
    default:
      if (options_.watchers && choices_.one_in(2)) {
        watch(end);
      } else {
        leave(end);
      }
      break;
  }
}

void World::step() {
  End& chosen = ends_[choices_.below(2)];
  switch (choices_.below(8)) {
    case 0:
      open();
      break;
    case 1:
      if (opening_ == Opening::sent) {
        deliver_open();
      } else if (opening_ != Opening::none) {
        deliver_answer();
      }
      break;
    case 2:
    case 3:
      deliver(chosen, choices_.between(1, 4));
      break;
    case 4:
      if (options_.kill && !other(chosen).dead && !chosen.dead && choices_.one_in(60)) kill(chosen);
      notice_death(chosen);
      break;
    default:
      act(chosen);
      break;
  }
  for (const End& end : ends_) check(end);
}

void World::small_step() {
  End& connector = end(Side::connector);
  End& acceptor = end(Side::acceptor);
  switch (choices_.below(kSmallSteps)) {
    case 0:
      send(connector, 1);
      break;
    case 1:
      send(connector, options_.ring_bytes + 1);
      break;
    case 2:
      receive(acceptor, 2);
      break;
    case 3:
      advance(connector);
      break;
    case 4:
      advance(acceptor);
      break;
    case 5:
      deliver(connector, 1);
      break;
    case 6:
      deliver(acceptor, 1);
      break;
    case 7:
      fall_back(connector);
      break;
    case 8:
      fall_back(acceptor);
      break;
    default:
      finish(connector);
      break;
  }
  for (const End& each : ends_) check(each);
}

void World::go_towards_rings(std::uint32_t count) {
  End& connector = end(Side::connector);
  End& acceptor = end(Side::acceptor);
  const std::function<void()> deliver_both = [&] {
    deliver(connector, UINT32_MAX);
    deliver(acceptor, UINT32_MAX);
  };
  const std::function<void()> advance_connector = [&] { advance(connector); };
  const std::function<void()> advance_acceptor = [&] { advance(acceptor); };
  const std::function<void()> steps[] = {
      [&] { open(); },
      [&] { send(connector, 2); },
      [&] { deliver_open(); },
      [&] { deliver_answer(); },
      [&] { send(acceptor, 1); },
      advance_connector,  // sets switch_at
      deliver_both,
      advance_acceptor,  // sets switch_seen
      deliver_both,
      advance_connector,  // writes the proof
      deliver_both,
      [&] { receive(acceptor, 2); },
      advance_acceptor,  // sees the proof, and sets switch_at
      deliver_both,
      [&] { receive(connector, 1); },  // and sets switch_seen
      deliver_both,
      advance_acceptor,  // writes the proof
  };
  static_assert(std::size(steps) == kStepsToRings);
  for (std::uint32_t at = 0; at < count; ++at) steps[at]();
}

void World::settle(End& end) {
  if (end.dead) return;
  deliver(end, 1);
  deliver(other(end), 1);
  notice_death(end);
  while (end.watchers > 0 && in(end).readable()) leave(end);
  if (end.stream && end.watchers > 0) {
    const auto what = end.stream->rx.next().what;
    require(what != stream::Source::What::ring && what != stream::Source::What::end,
            "bytes have come and a thread sleeps on");
  }
  advance(end);
  send(end, options_.ring_bytes);
  receive(end, options_.ring_bytes);
}

void World::heal() {
  note("the world heals");
  healing_ = true;
  // Each round moves at least one byte of what is left, and a handshake takes a few of them.
  const std::uint32_t rounds = options_.stream_bytes * 8 + 200;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    if (opening_ == Opening::sent) deliver_open();
    if (opening_ != Opening::none) deliver_answer();
    for (End& end : ends_) settle(end);
    bool over = true;
    for (End& end : ends_) {
      if (!end.dead && end.sent == options_.stream_bytes) finish(end);
      check(end);
      over = over && (end.dead || ((end.end_seen || end.reset_seen) && end.watchers == 0 &&
                                   !(end.stream && end.stream->falls_back)));
    }
    if (over) break;
  }
  for (End& end : ends_) {
    if (end.dead) continue;
    const End& sender = other(end);
    require(end.received == sender.sent, "bytes that were accepted have not arrived");
    require(end.end_seen || end.reset_seen, "the end of the stream was never seen");
    require(sender.dead || !end.reset_seen, "a reset from a process that lives");
    require(end.watchers == 0, "a thread sleeps in the kernel for ever");
    require(sender.dead || !end.stream || !end.stream->falls_back, "a fallback never ended");
  }
}

}  // namespace rsock::sim
