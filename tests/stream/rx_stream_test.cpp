#include "core/stream/rx_stream.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/base/mark.h"
#include "tests/sim/choices.h"

using namespace rsock;
using namespace rsock::stream;
using What = Source::What;
using marks::hit_count;
using marks::Mark;

namespace {

wire::Proof some_proof() {
  wire::Proof proof;
  for (std::size_t at = 0; at < proof.size(); ++at) proof[at] = static_cast<std::byte>(at + 1);
  return proof;
}

// A receiver that took everything up to `start` off the spine, and the words of both ends.
struct Receiver {
  explicit Receiver(std::uint64_t start = 100, std::uint32_t ring_bytes = 8)
      : rx(mine, theirs, StreamOffset(start), some_proof(), ring_bytes) {}

  void switch_at(std::uint64_t offset) {
    theirs.tail = offset;
    theirs.ring_from = offset;
    theirs.switch_at = offset;
  }
  // To where the ring begins, at the present offset.
  void accelerate() {
    switch_at(rx.rcv_nxt().value());
    REQUIRE(rx.next().what == What::proof);
    REQUIRE(rx.proof_seen(some_proof()) == RxStream::Verdict::proven);
  }

  wire::ReceiverWords mine;
  wire::SenderWords theirs;
  RxStream rx;
};

}  // namespace

TEST_CASE("before a switchover is seen all comes from the spine") {
  Receiver receiver;
  CHECK(receiver.rx.next().what == What::spine);
  CHECK(receiver.rx.next().bytes == UINT64_MAX);
  CHECK_FALSE(receiver.rx.take_news());
  CHECK(receiver.mine.switch_seen == 0);
}

TEST_CASE("from then on the spine is read up to the switch offset and no further") {
  Receiver receiver;
  receiver.switch_at(105);
  Source source = receiver.rx.next();
  CHECK(source.what == What::spine);
  CHECK(source.bytes == 5);
  CHECK(receiver.mine.switch_seen == 1);
  CHECK(receiver.rx.take_news());
  CHECK_FALSE(receiver.rx.take_news());
  receiver.rx.taken(5);
  CHECK(receiver.rx.next().what == What::proof);
  CHECK_FALSE(receiver.rx.proven());
}

TEST_CASE("the proof may come in pieces; then the ring is read") {
  Receiver receiver;
  receiver.switch_at(100);
  receiver.theirs.tail = 103;
  REQUIRE(receiver.rx.next().what == What::proof);
  const wire::Proof proof = some_proof();
  CHECK(receiver.rx.proof_seen({}) == RxStream::Verdict::more);
  CHECK(receiver.rx.proof_seen(std::span(proof).first(7)) == RxStream::Verdict::more);
  CHECK(receiver.rx.next().what == What::proof);
  CHECK(receiver.rx.proof_seen(proof) == RxStream::Verdict::proven);
  CHECK(receiver.rx.proven());
  CHECK(receiver.rx.proof_on_spine());
  const Source source = receiver.rx.next();
  CHECK(source.what == What::ring);
  CHECK(source.bytes == 3);
  CHECK(source.index == 100 % 8);
}

TEST_CASE("the first byte that is not the proof's is the program's") {
  const std::uint64_t before = hit_count(Mark::proof_refused);
  Receiver receiver;
  receiver.switch_at(100);
  receiver.theirs.tail = 103;
  REQUIRE(receiver.rx.next().what == What::proof);
  const std::byte other[] = {std::byte{1}, std::byte{99}};
  CHECK(receiver.rx.proof_seen(other) == RxStream::Verdict::refused);
  CHECK(receiver.rx.next().what == What::spine);
  CHECK(receiver.rx.stopped());
  CHECK_FALSE(receiver.rx.proven());
  CHECK(hit_count(Mark::proof_refused) == before + 1);
}

TEST_CASE("what was taken out of the ring is said, and not more") {
  Receiver receiver;
  receiver.accelerate();
  receiver.theirs.tail = 106;
  CHECK(receiver.rx.next().bytes == 6);
  receiver.rx.taken(4);
  CHECK(receiver.mine.head == 104);
  CHECK(receiver.rx.next().bytes == 2);
  receiver.rx.taken(2);
  CHECK(receiver.rx.next().what == What::nothing);
}

TEST_CASE("the end of the stream comes after its last byte") {
  Receiver receiver;
  receiver.accelerate();
  receiver.theirs.tail = 102;
  receiver.theirs.fin_at = 102;
  CHECK(receiver.rx.next().what == What::ring);
  receiver.rx.taken(2);
  CHECK(receiver.rx.next().what == What::end);
  CHECK(receiver.rx.half() == Half::closed);
  CHECK(receiver.rx.next().what == What::end);
}

TEST_CASE("after a stop the ring is drained, the proof taken off, and the spine read") {
  Receiver receiver;
  receiver.accelerate();
  receiver.theirs.tail = 102;
  receiver.theirs.stop_at = 102;
  CHECK(receiver.rx.next().what == What::ring);
  receiver.rx.taken(2);
  CHECK(receiver.rx.next().what == What::proof_left);
  CHECK(receiver.rx.path() == Path::fencing);
  receiver.rx.proof_taken();
  CHECK(receiver.rx.next().what == What::spine);
  CHECK(receiver.rx.stopped());
  CHECK(receiver.rx.next().bytes == UINT64_MAX);
}

TEST_CASE("an end where the direction also stopped stays an end, whatever the spine says") {
  Receiver receiver;
  receiver.accelerate();
  receiver.theirs.tail = 102;
  receiver.theirs.fin_at = 102;
  receiver.theirs.stop_at = 102;
  receiver.rx.taken(receiver.rx.next().bytes);
  CHECK(receiver.rx.next().what == What::end);
  CHECK_FALSE(receiver.rx.stopped());
  receiver.rx.proof_taken();
  CHECK(receiver.rx.next().what == What::end);
  CHECK(receiver.rx.stopped());
  CHECK(receiver.rx.next().what == What::end);
}

TEST_CASE("a piece of the proof is never left to be read, not even behind the end") {
  Receiver receiver;
  receiver.switch_at(100);
  receiver.theirs.tail = 101;
  receiver.theirs.fin_at = 101;
  receiver.theirs.stop_at = 101;
  REQUIRE(receiver.rx.next().what == What::proof);
  receiver.rx.peer_gone(Death::reset);
  const wire::Proof proof = some_proof();
  REQUIRE(receiver.rx.proof_seen(std::span(proof).first(7)) == RxStream::Verdict::proven);
  receiver.rx.taken(receiver.rx.next().bytes);
  CHECK(receiver.rx.next().what == What::end);
  CHECK_FALSE(receiver.rx.stopped());
}

TEST_CASE("a ring is left where the next one begins") {
  Receiver receiver;
  receiver.accelerate();
  REQUIRE(receiver.rx.may_offer_ring());
  receiver.rx.offer_ring(1, 32, 8192);
  CHECK(receiver.mine.ring_number == 1);
  CHECK(receiver.mine.ring_place == 8192);
  CHECK_FALSE(receiver.rx.may_offer_ring());

  receiver.theirs.ring_from = 103;
  receiver.theirs.ring_number = 1;
  receiver.theirs.tail = 113;
  Source source = receiver.rx.next();
  CHECK(source.ring == 0);
  CHECK(source.bytes == 3);
  receiver.rx.taken(3);
  CHECK(receiver.rx.take_retired_ring() == 0);  // The first ring is kept.
  source = receiver.rx.next();
  CHECK(source.ring == 1);
  CHECK(source.bytes == 10);
  CHECK(source.index == 103 % 32);
  receiver.rx.taken(10);

  receiver.theirs.ring_from = 113;
  receiver.theirs.ring_number = 0;
  receiver.theirs.tail = 115;
  source = receiver.rx.next();
  CHECK(source.ring == 0);
  CHECK(source.bytes == 2);
  CHECK(receiver.rx.take_retired_ring() == 1);
  CHECK(receiver.rx.take_retired_ring() == 0);
}

TEST_CASE("the death of the sender ends the stream after what it wrote") {
  Receiver receiver;
  receiver.accelerate();
  receiver.theirs.tail = 102;
  SECTION("as a FIN") {
    receiver.rx.peer_gone(Death::clean);
    REQUIRE(receiver.rx.next().what == What::ring);
    receiver.rx.taken(2);
    CHECK(receiver.rx.next().what == What::end);
  }
  SECTION("as a reset") {
    receiver.rx.peer_gone(Death::reset);
    REQUIRE(receiver.rx.next().what == What::ring);
    receiver.rx.taken(2);
    CHECK(receiver.rx.next().what == What::reset);
    CHECK(receiver.rx.half() == Half::reset);
  }
  SECTION("unless its FIN had come") {
    receiver.theirs.fin_at = 102;
    receiver.rx.peer_gone(Death::reset);
    receiver.rx.taken(receiver.rx.next().bytes);
    CHECK(receiver.rx.next().what == What::end);
  }
}

TEST_CASE("a sender that dies before its proof is believed only where nothing gets lost") {
  Receiver receiver;
  receiver.switch_at(100);
  receiver.theirs.tail = 104;
  REQUIRE(receiver.rx.next().what == What::proof);
  const wire::Proof proof = some_proof();
  SECTION("shared memory") {
    receiver.rx.peer_gone(Death::clean);
    CHECK(receiver.rx.proof_seen(std::span(proof).first(3)) == RxStream::Verdict::proven);
    CHECK_FALSE(receiver.rx.proof_on_spine());
    CHECK(receiver.rx.next().bytes == 4);
    receiver.rx.taken(4);
    CHECK(receiver.rx.next().what == What::end);
  }
  SECTION("RDMA") {
    receiver.rx.peer_gone(Death::unknown);
    CHECK(receiver.rx.proof_seen(std::span(proof).first(3)) == RxStream::Verdict::more);
  }
}

TEST_CASE("a sender that says what can't be true is found out") {
  Receiver receiver;
  SECTION("a switch offset that is behind us") {
    receiver.switch_at(99);
    CHECK(receiver.rx.next().what == What::lie);
  }
  SECTION("more bytes than the ring holds") {
    receiver.accelerate();
    receiver.theirs.tail = 109;
    CHECK(receiver.rx.next().what == What::lie);
  }
  SECTION("fewer bytes than before") {
    receiver.accelerate();
    receiver.theirs.tail = 104;
    receiver.rx.taken(receiver.rx.next().bytes);
    receiver.theirs.tail = 103;
    CHECK(receiver.rx.next().what == What::lie);
  }
  SECTION("an end that is behind us") {
    receiver.accelerate();
    receiver.theirs.tail = 104;
    receiver.rx.taken(receiver.rx.next().bytes);
    receiver.theirs.fin_at = 103;
    CHECK(receiver.rx.next().what == What::lie);
  }
  SECTION("a stop that is behind us") {
    receiver.accelerate();
    receiver.theirs.tail = 104;
    receiver.rx.taken(receiver.rx.next().bytes);
    receiver.theirs.stop_at = 103;
    CHECK(receiver.rx.next().what == What::lie);
  }
  SECTION("a ring that was never offered") {
    receiver.accelerate();
    receiver.theirs.ring_from = 100;
    receiver.theirs.ring_number = 7;
    receiver.theirs.tail = 104;
    CHECK(receiver.rx.next().what == What::lie);
  }
  SECTION("more bytes than the offered ring holds") {
    receiver.accelerate();
    receiver.rx.offer_ring(1, 16, 0);
    receiver.theirs.ring_from = 102;
    receiver.theirs.ring_number = 1;
    receiver.theirs.tail = 119;
    CHECK(receiver.rx.next().what == What::lie);
  }
}

TEST_CASE("whatever a sender says, no more is read from a ring than it holds") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    sim::SeededChoices choices(seed);
    Receiver receiver(choices.below(20), 8);
    const auto offset = [&] {
      return choices.one_in(10) ? wire::kOffsetUnset : std::uint64_t{choices.below(64)};
    };
    std::uint32_t offered = 0;
    for (int step = 0; step < 60; ++step) {
      if (choices.one_in(2)) receiver.theirs.tail = offset();
      if (choices.one_in(4)) receiver.theirs.switch_at = offset();
      if (choices.one_in(8)) receiver.theirs.stop_at = offset();
      if (choices.one_in(8)) receiver.theirs.fin_at = offset();
      if (choices.one_in(4)) receiver.theirs.ring_from = offset();
      if (choices.one_in(4)) receiver.theirs.ring_number = choices.below(3);
      if (offered < 2 && receiver.rx.may_offer_ring()) receiver.rx.offer_ring(++offered, 16, 0);
      if (choices.one_in(10)) receiver.rx.peer_gone(static_cast<Death>(choices.below(3)));
      const Source source = receiver.rx.next();
      if (source.what == What::lie) break;
      if (source.what == What::proof && choices.one_in(2)) {
        static_cast<void>(receiver.rx.proof_seen(some_proof()));
      }
      if (source.what == What::proof_left) receiver.rx.proof_taken();
      if (source.what == What::spine) receiver.rx.taken(choices.one_in(2) ? 1 : 0);
      if (source.what != What::ring) continue;
      const std::uint32_t ring_bytes = source.ring == 0 ? 8 : 16;
      REQUIRE(source.bytes >= 1);
      REQUIRE(source.bytes <= ring_bytes);
      REQUIRE(source.index < ring_bytes);
      receiver.rx.taken(choices.between(1, static_cast<std::uint32_t>(source.bytes)));
    }
  }
}
