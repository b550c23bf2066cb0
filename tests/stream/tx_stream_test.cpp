#include "core/stream/tx_stream.h"

#include <catch2/catch.hpp>

#include "tests/sim/choices.h"

using namespace rsock;
using namespace rsock::stream;

namespace {

// A sender that went over the spine up to `start`, and the words that it and its receiver write.
struct Sender {
  explicit Sender(std::uint64_t start = 100, std::uint32_t ring_bytes = 8)
      : tx(mine, theirs, StreamOffset(start), ring_bytes) {}

  void accelerate() {
    tx.switch_over();
    theirs.switch_seen = 1;
    REQUIRE(tx.observe());
    tx.proof_written(wire::kProofBytes);
  }

  wire::SenderWords mine;
  wire::ReceiverWords theirs;
  TxStream tx;
};

}  // namespace

TEST_CASE("before the switchover bytes go to the spine") {
  Sender sender;
  const Room room = sender.tx.room(10);
  CHECK(room.where == Room::Where::spine);
  CHECK(room.bytes == 10);
  sender.tx.sent(10);
  CHECK(sender.tx.snd_nxt() == StreamOffset(110));
  CHECK(sender.mine.tail == 0);
  CHECK(sender.mine.switch_at == wire::kOffsetUnset);
}

TEST_CASE("after the switchover bytes go to the ring, as many as it has room for") {
  Sender sender;
  sender.tx.switch_over();
  CHECK(sender.mine.switch_at == 100);
  Room room = sender.tx.room(10);
  CHECK(room.where == Room::Where::ring);
  CHECK(room.bytes == 8);
  CHECK(room.index == 100 % 8);
  sender.tx.sent(8);
  CHECK(sender.mine.tail == 108);
  CHECK(sender.tx.room(1).where == Room::Where::nowhere);
  sender.theirs.head = 103;
  room = sender.tx.room(10);
  CHECK(room.where == Room::Where::ring);
  CHECK(room.bytes == 3);
  CHECK(room.index == 108 % 8);
}

TEST_CASE("the proof waits until the receiver has seen the switchover") {
  Sender sender;
  sender.tx.switch_over();
  REQUIRE(sender.tx.observe());
  CHECK_FALSE(sender.tx.proof_due());
  sender.theirs.switch_seen = 1;
  REQUIRE(sender.tx.observe());
  CHECK(sender.tx.proof_due());
  sender.tx.proof_written(5);
  CHECK(sender.tx.path() == Path::switching);
  CHECK(sender.tx.proof_left_bytes() == wire::kProofBytes - 5);
  sender.tx.proof_written(wire::kProofBytes - 5);
  CHECK(sender.tx.path() == Path::accelerated);
  CHECK_FALSE(sender.tx.proof_due());
}

TEST_CASE("after a stop bytes go to the spine, behind a proof that is still owed") {
  Sender sender;
  sender.tx.switch_over();
  sender.tx.sent(3);
  sender.tx.stop();
  CHECK(sender.mine.stop_at == 103);
  CHECK(sender.tx.room(1).where == Room::Where::nowhere);
  sender.theirs.switch_seen = 1;
  CHECK(sender.tx.room(1).where == Room::Where::proof);
  sender.tx.proof_written(wire::kProofBytes);
  CHECK(sender.tx.room(1).where == Room::Where::spine);
  sender.tx.sent(4);
  CHECK(sender.mine.tail == 103);
  CHECK_FALSE(sender.tx.drained());
  sender.theirs.head = 103;
  REQUIRE(sender.tx.observe());
  CHECK(sender.tx.drained());
}

TEST_CASE("a direction that stopped before it switched never switches") {
  Sender sender;
  sender.tx.stop();
  CHECK(sender.mine.stop_at != wire::kOffsetUnset);
  CHECK_FALSE(sender.tx.may_switch());
  CHECK(sender.tx.room(1).where == Room::Where::spine);
}

TEST_CASE("the FIN is where the bytes end, and closes when the receiver is there") {
  Sender sender;
  sender.accelerate();
  sender.tx.sent(2);
  sender.tx.finish();
  CHECK(sender.mine.fin_at == 102);
  CHECK(sender.tx.half() == Half::fin_queued);
  CHECK_FALSE(sender.tx.take_spine_fin());
  sender.theirs.head = 102;
  REQUIRE(sender.tx.observe());
  CHECK(sender.tx.half() == Half::closed);
}

TEST_CASE("the spine's own FIN is due once, when the direction is on the spine") {
  Sender sender;
  sender.accelerate();
  sender.tx.finish();
  CHECK_FALSE(sender.tx.take_spine_fin());
  sender.tx.stop();
  CHECK(sender.tx.take_spine_fin());
  CHECK_FALSE(sender.tx.take_spine_fin());
}

TEST_CASE("a stall is said once for each time the window closes") {
  Sender sender;
  sender.accelerate();
  sender.tx.sent(8);
  sender.tx.note_stall();
  sender.tx.note_stall();
  CHECK(sender.mine.stalls == 1);
  sender.theirs.head = 108;
  REQUIRE(sender.tx.room(8).bytes == 8);
  sender.tx.sent(8);
  sender.tx.note_stall();
  CHECK(sender.mine.stalls == 2);
}

TEST_CASE("a ring that is offered holds the bytes from the change on") {
  Sender sender;
  sender.accelerate();
  sender.tx.sent(5);
  sender.theirs.ring_bytes = 32;
  sender.theirs.ring_place = 4096;
  sender.theirs.ring_number = 1;
  RingOffer offer;
  REQUIRE(sender.tx.offer(offer));
  CHECK(offer.bytes == 32);
  CHECK(offer.place == 4096);
  REQUIRE(sender.tx.may_change_ring());
  sender.tx.take_ring(offer);
  CHECK(sender.mine.ring_from == 105);
  CHECK(sender.mine.ring_number == 1);
  CHECK_FALSE(sender.tx.offer(offer));
  // Five bytes in the old ring take no room in the new one.
  const Room room = sender.tx.room(100);
  CHECK(room.ring == 1);
  CHECK(room.bytes == 32);
  CHECK(room.index == 105 % 32);

  sender.tx.sent(1);
  sender.theirs.head = 105;
  REQUIRE(sender.tx.observe());
  CHECK_FALSE(sender.tx.may_change_ring());  // The receiver need not have seen the change yet.
  sender.theirs.head = 106;
  REQUIRE(sender.tx.observe());
  CHECK(sender.tx.may_change_ring());
  sender.tx.return_to_first_ring();
  CHECK(sender.mine.ring_from == 106);
  CHECK(sender.mine.ring_number == 0);
  CHECK(sender.tx.room(100).bytes == 8);
}

TEST_CASE("a receiver that says what can't be true is found out") {
  Sender sender;
  sender.accelerate();
  sender.tx.sent(6);
  SECTION("it has consumed more than was sent") {
    sender.theirs.head = 107;
    CHECK_FALSE(sender.tx.observe());
  }
  SECTION("it takes back what it said") {
    sender.theirs.head = 104;
    REQUIRE(sender.tx.observe());
    sender.theirs.head = 103;
    CHECK_FALSE(sender.tx.observe());
    CHECK(sender.tx.room(8).where == Room::Where::lie);
  }
  SECTION("it has seen a switchover that there was not") {
    Sender early;
    early.theirs.switch_seen = 1;
    CHECK_FALSE(early.tx.observe());
  }
}

TEST_CASE("whatever a receiver says, no more is put into a ring than it holds") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    sim::SeededChoices choices(seed);
    Sender sender(choices.below(20), 8);
    std::uint64_t truly_read = sender.tx.snd_nxt().value();
    for (int step = 0; step < 60; ++step) {
      if (choices.one_in(4)) sender.theirs.head = choices.below(64);
      if (choices.one_in(8)) sender.theirs.switch_seen = choices.below(3);
      if (choices.one_in(8)) sender.theirs.stop_wanted = choices.below(2);
      if (sender.tx.may_switch() && choices.one_in(4)) sender.tx.switch_over();
      if (!sender.tx.observe()) break;
      if (!sender.tx.stopped() && sender.tx.stop_wanted()) sender.tx.stop();
      if (sender.tx.proof_due()) sender.tx.proof_written(1);
      const Room room = sender.tx.room(choices.between(1, 20));
      if (room.where == Room::Where::lie) break;
      if (room.where != Room::Where::ring) continue;
      truly_read = std::max(truly_read, sender.theirs.head.load());
      REQUIRE(room.bytes <= 8);
      REQUIRE(room.index < 8);
      sender.tx.sent(room.bytes);
      REQUIRE(sender.mine.tail - sender.tx.snd_una().value() <= 8);
    }
  }
}
