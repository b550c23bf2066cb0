#include "core/link/shm/shm_stream.h"

#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/link/shm/shm_pair.h"

using namespace rsock;
using link::shm::Segment;
using link::shm::Segments;
using testing::ShmConnection;
using testing::ShmEnd;
using testing::ShmPair;

namespace {

std::size_t memory_bytes(const Segment& segment) {
  struct stat status {};
  REQUIRE(fstat(segment.fd(), &status) == 0);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

// Sends `total` bytes in pieces of `piece`, asleep while there is no room.
void send_all(ShmEnd& end, std::uint64_t total, std::uint64_t piece) {
  while (end.sent < total) {
    const std::int64_t sent = end.send(std::min(piece, total - end.sent));
    if (sent == -EAGAIN) {
      static_cast<void>(
          link::shm::sleep(end.shm->tx_words().space_interest, Deadline::never(),
                           [&] { return end.tx->room(1).where != stream::Room::Where::nowhere; }));
      continue;
    }
    if (sent < 0) return;
  }
}

// Receives `total` bytes in pieces of up to `piece`, asleep while there are none.
void receive_all(ShmEnd& end, std::uint64_t total, std::uint64_t piece) {
  while (end.received < total) {
    if (end.shm->offer_ring_if_stalled(*end.rx) != 0) return;
    const std::int64_t received = end.receive(piece);
    if (received == -EAGAIN) {
      static_cast<void>(
          link::shm::sleep(end.shm->rx_words().arrival_interest, Deadline::never(),
                           [&] { return end.rx->next().what != stream::Source::What::nothing; }));
      continue;
    }
    if (received <= 0) return;
  }
}

}  // namespace

TEST_CASE("bytes go through shared memory and the spine is silent") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  CHECK(connection.client->send(1000) == 1000);
  CHECK(connection.server->receive(5000) == 1000);
  CHECK(connection.server->send(10) == 10);
  CHECK(connection.client->receive(5000) == 10);
  CHECK(connection.client->receive(1) == -EAGAIN);
  CHECK(connection.server->intact);
  CHECK(connection.client->intact);
  std::byte byte;
  CHECK(connection.client->spine_peek(std::span(&byte, 1)) == -EAGAIN);
  CHECK(connection.server->spine_peek(std::span(&byte, 1)) == -EAGAIN);
}

TEST_CASE("a stream that fills its ring waits, and gets a larger one") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  ShmEnd& client = *connection.client;
  ShmEnd& server = *connection.server;
  CHECK(client.send(10'000) == config::kFirstRingBytes);
  CHECK(client.send(1) == -EAGAIN);
  REQUIRE(server.shm->offer_ring_if_stalled(*server.rx) == 0);
  // The new ring takes bytes although the old one is full.
  const std::uint64_t grown = config::kFirstRingBytes * config::kRingGrowthFactor;
  CHECK(client.send(100'000) == static_cast<std::int64_t>(grown));
  CHECK(client.tx->ring().number == 1);
  CHECK(server.receive(100'000) == static_cast<std::int64_t>(config::kFirstRingBytes + grown));
  CHECK(server.intact);
}

TEST_CASE("rings grow to the limit under load, and their memory is given back") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  ShmEnd& client = *connection.client;
  ShmEnd& server = *connection.server;
  const std::size_t at_first = memory_bytes(pair.links[1].mine);
  for (int round = 0; round < 100; ++round) {
    while (client.send(1 << 22) > 0) {
    }
    REQUIRE(server.shm->offer_ring_if_stalled(*server.rx) == 0);
    while (server.receive(1 << 22) > 0) {
    }
  }
  CHECK(client.tx->ring().bytes == config::kRingBytesMax);
  CHECK(server.intact);
  CHECK(memory_bytes(pair.links[1].mine) >= config::kRingBytesMax);
  // Idle: the sender goes back to the first ring; with the next byte the receiver sees it.
  REQUIRE(client.tx->observe());
  REQUIRE(client.tx->drained());
  client.shm->return_to_first_ring(*client.tx);
  CHECK(client.send(1) == 1);
  CHECK(server.receive(1) == 1);
  CHECK(memory_bytes(pair.links[1].mine) <= at_first + 2 * wire::kPageBytes);
  CHECK(server.intact);
}

TEST_CASE("two threads move many bytes both ways, asleep while they must wait") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  constexpr std::uint64_t kTotal = 3'000'000;
  ShmEnd& client = *connection.client;
  ShmEnd& server = *connection.server;
  std::thread threads[] = {
      std::thread([&] { send_all(client, kTotal, 60'001); }),
      std::thread([&] { receive_all(server, kTotal, 7'919); }),
      std::thread([&] { send_all(server, kTotal, 333); }),
      std::thread([&] { receive_all(client, kTotal, 100'000); }),
  };
  for (std::thread& thread : threads) thread.join();
  CHECK(server.received == kTotal);
  CHECK(client.received == kTotal);
  CHECK(server.intact);
  CHECK(client.intact);
}

TEST_CASE("a wake-up is never lost in many short exchanges") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  constexpr std::uint64_t kRounds = 20'000;
  std::thread echo([&] {
    ShmEnd& server = *connection.server;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      receive_all(server, round, 64);
      send_all(server, round, 64);
    }
  });
  ShmEnd& client = *connection.client;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    send_all(client, round, 64);
    receive_all(client, round, 64);
  }
  echo.join();
  CHECK(client.received == kRounds);
  CHECK(client.intact);
}

TEST_CASE("a mailbox that wants to know is told of each stream, and its bell is rung") {
  ShmPair pair;
  ShmConnection first(pair, 0, 3);
  ShmConnection second(pair, 1, 70);
  first.accelerate();
  second.accelerate();
  wire::Mailbox& mailbox = pair.links[1].mine.mailbox();
  for (ShmConnection* connection : {&first, &second}) {
    connection->server->shm->rx_words().arrival_interest = wire::kTellMailbox;
  }
  REQUIRE(link::shm::may_sleep(mailbox));
  CHECK(first.client->send(1) == 1);
  CHECK(second.client->send(1) == 1);
  char ring = 0;
  CHECK(recv(pair.links[1].bell.get(), &ring, 1, MSG_DONTWAIT) == 1);
  CHECK(recv(pair.links[1].bell.get(), &ring, 1, MSG_DONTWAIT) == -1);
  std::vector<std::uint32_t> told;
  link::shm::collect(mailbox, [&](std::uint32_t index) { told.push_back(index); });
  CHECK(told == std::vector<std::uint32_t>{3, 70});
}

TEST_CASE("nobody is woken who did not ask for it") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  CHECK(connection.client->send(1) == 1);
  CHECK(pair.links[1].mine.mailbox().top == 0);
  char ring = 0;
  CHECK(recv(pair.links[1].bell.get(), &ring, 1, MSG_DONTWAIT) == -1);
}

TEST_CASE("a sleeper wakes by its deadline, and when this process wakes it") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  auto& interest = connection.server->shm->rx_words().arrival_interest;
  const auto never = [] { return false; };
  CHECK(link::shm::sleep(interest, Deadline::after(1'000'000, monotonic_now_ns()), never) ==
        -ETIMEDOUT);
  std::atomic<bool> stop{false};
  std::thread sleeper([&] {
    while (!stop)
      static_cast<void>(link::shm::sleep(interest, Deadline::never(), [&] { return stop.load(); }));
  });
  stop = true;
  link::shm::wake(interest);
  sleeper.join();
}

TEST_CASE("an offer of a ring that can't be is a lie") {
  ShmPair pair;
  ShmConnection connection(pair);
  connection.accelerate();
  ShmEnd& client = *connection.client;
  wire::ReceiverWords& offer = pair.links[0].mine.block(0).receiver;
  offer.ring_place = 12345;
  offer.ring_bytes = 4096;
  offer.ring_number = 1;
  CHECK(client.shm->take_offered_ring(*client.tx) == -EPROTO);
  CHECK(client.tx->ring().number == 0);
  CHECK(client.shm->take_offered_ring(*client.tx) == 0);
}

TEST_CASE("5,000 idle streams take at most 16 KiB each") {
  constexpr std::uint32_t kStreams = 5000;
  ShmPair pair;
  for (std::uint32_t index = 0; index < kStreams; ++index) {
    ShmConnection connection(pair, index, index);
    connection.accelerate();
    REQUIRE(connection.client->send(64) == 64);
    REQUIRE(connection.server->receive(64) == 64);
    REQUIRE(connection.server->send(64) == 64);
    REQUIRE(connection.client->receive(64) == 64);
  }
  const std::size_t both = memory_bytes(pair.links[0].mine) + memory_bytes(pair.links[1].mine);
  CHECK(both / kStreams <= 16 * 1024);
}
