#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/link/shm/shm_stream.h"
#include "core/stream/transfer.h"

namespace rsock::testing {

// Both ends of a link in one process, as two processes would have it.
struct ShmPair {
  ShmPair() {
    int bells[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, bells) == 0);
    for (int side = 0; side < 2; ++side) {
      Result<link::shm::Segment> mine = link::shm::Segment::create();
      REQUIRE(mine.ok());
      links[side].mine = std::move(mine).value();
      links[side].bell = os::UniqueFd(bells[side]);
    }
    for (int side = 0; side < 2; ++side) {
      Result<link::shm::Segment> theirs =
          link::shm::Segment::attach(os::UniqueFd(dup(links[1 - side].mine.fd())));
      REQUIRE(theirs.ok());
      links[side].theirs = std::move(theirs).value();
    }
  }

  link::shm::Segments links[2];
};

// One end of a connection, with a socket pair for a spine. What it sends and receives are counted
// bytes: the one at offset o is pattern(o).
class ShmEnd {
 public:
  static std::byte pattern(std::uint64_t offset) {
    return static_cast<std::byte>((offset * 0x9e3779b97f4a7c15) >> 56);
  }

  ShmEnd(link::shm::Segments& link, std::uint32_t index, std::uint32_t their_index, int spine,
         const wire::Proof& mine, const wire::Proof& theirs)
      : spine_(spine), their_challenge_(theirs) {
    Result<link::shm::ShmStream> opened = link::shm::ShmStream::open(link, index, their_index);
    REQUIRE(opened.ok());
    shm.emplace(std::move(opened).value());
    tx.emplace(shm->tx_words(), shm->tx_words_of_peer(), StreamOffset(), config::kFirstRingBytes);
    rx.emplace(shm->rx_words(), shm->rx_words_of_peer(), StreamOffset(), mine,
               config::kFirstRingBytes);
  }

  ssize_t spine_send(std::uint64_t bytes) {
    std::vector<std::byte> buffer(std::min<std::uint64_t>(bytes, 4096));
    for (std::size_t at = 0; at < buffer.size(); ++at) buffer[at] = pattern(sent + at);
    const ssize_t count = ::send(spine_.get(), buffer.data(), buffer.size(), kFlags);
    if (count > 0) sent += static_cast<std::uint64_t>(count);
    return count < 0 ? -errno : count;
  }
  ssize_t spine_send_proof(std::size_t bytes) {
    const std::size_t from = their_challenge_.size() - bytes;
    const ssize_t count = ::send(spine_.get(), &their_challenge_[from], bytes, kFlags);
    return count < 0 ? -errno : count;
  }
  ssize_t spine_receive(std::uint64_t bytes) {
    std::vector<std::byte> buffer(std::min<std::uint64_t>(bytes, 4096));
    const ssize_t count = ::recv(spine_.get(), buffer.data(), buffer.size(), kFlags);
    if (count > 0) give(buffer.data(), static_cast<std::size_t>(count));
    return count < 0 ? -errno : count;
  }
  ssize_t spine_peek(std::span<std::byte> bytes) {
    const ssize_t count = ::recv(spine_.get(), bytes.data(), bytes.size(), kFlags | MSG_PEEK);
    return count < 0 ? -errno : count;
  }
  ssize_t spine_discard(std::size_t bytes) {
    std::byte buffer[wire::kProofBytes];
    const ssize_t count = ::recv(spine_.get(), buffer, bytes, kFlags);
    return count < 0 ? -errno : count;
  }
  int spine_finish() { return shutdown(spine_.get(), SHUT_WR) == 0 ? 0 : -errno; }
  void fill_ring(std::uint32_t ring, std::uint32_t index, std::uint64_t bytes) {
    std::byte* to = shm->tx_ring(ring) + index;
    for (std::uint64_t at = 0; at < bytes; ++at) to[at] = pattern(sent + at);
    sent += bytes;
  }
  void empty_ring(std::uint32_t ring, std::uint32_t index, std::uint64_t bytes) {
    give(shm->rx_ring(ring) + index, bytes);
  }
  void tell_receiver() { shm->tell_receiver(); }
  void tell_sender() { shm->tell_sender(); }
  bool spine_is_watched() { return false; }
  bool link_keeps_all() { return true; }

  int advance(bool may_switch) {
    const int error = stream::advance_tx(*tx, may_switch, *this);
    if (error < 0 && error != -EAGAIN) return error;
    return stream::advance_rx(*rx, *this);
  }
  std::int64_t send(std::uint64_t bytes) {
    REQUIRE(shm->take_offered_ring(*tx) == 0);
    return stream::send_some(*tx, *this, bytes);
  }
  std::int64_t receive(std::uint64_t bytes) {
    const std::int64_t count = stream::receive_some(*rx, *this, bytes);
    shm->retire_ring(*rx);
    return count;
  }

  std::optional<link::shm::ShmStream> shm;
  std::optional<stream::TxStream> tx;
  std::optional<stream::RxStream> rx;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  bool intact = true;

 private:
  static constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;

  void give(const std::byte* bytes, std::uint64_t count) {
    for (std::uint64_t at = 0; at < count; ++at) {
      intact = intact && bytes[at] == pattern(received + at);
    }
    received += count;
  }

  os::UniqueFd spine_;
  wire::Proof their_challenge_;
};

// A connection with both ends, and an upgrade that has been agreed upon.
struct ShmConnection {
  explicit ShmConnection(ShmPair& pair, std::uint32_t client_index = 0,
                         std::uint32_t server_index = 0) {
    int spines[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, spines) == 0);
    wire::Proof of_client;
    wire::Proof of_server;
    of_client.fill(std::byte{0xc1});
    of_server.fill(std::byte{0x5e});
    pair.links[0].mine.reset_block(client_index);
    pair.links[1].mine.reset_block(server_index);
    client = std::make_unique<ShmEnd>(pair.links[0], client_index, server_index, spines[0],
                                      of_client, of_server);
    server = std::make_unique<ShmEnd>(pair.links[1], server_index, client_index, spines[1],
                                      of_server, of_client);
  }

  // Until both directions are in rings. The program must not have bytes under way.
  void accelerate() {
    for (int round = 0; round < 8; ++round) {
      static_cast<void>(client->advance(true));
      static_cast<void>(server->advance(server->rx->proven()));
    }
    for (ShmEnd* end : {client.get(), server.get()}) {
      REQUIRE(end->tx->path() == stream::Path::accelerated);
      REQUIRE(end->rx->path() == stream::Path::accelerated);
    }
  }

  std::unique_ptr<ShmEnd> client;
  std::unique_ptr<ShmEnd> server;
};

}  // namespace rsock::testing
