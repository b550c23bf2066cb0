#include "core/socket/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mark.h"
#include "tests/link/shm/shm_pair.h"
#include "tests/upgrade/tcp_pair.h"

using namespace rsock;
using namespace rsock::socket;
using stream::Path;
using testing::ShmPair;
using testing::TcpPair;

namespace {

constexpr Waiting kNoWait{.blocks = false};

// A TCP connection of which both ends are in this process, with an agreement to upgrade it.
struct Upgraded {
  // What goes over TCP before: `tcp_bytes` each way.
  explicit Upgraded(std::size_t tcp_bytes = 0) {
    wire::Proof of_client;
    wire::Proof of_server;
    of_client.fill(std::byte{0xc1});
    of_server.fill(std::byte{0x5e});
    exchange_over_tcp(tcp_bytes);
    for (const link::shm::Segments& link : pair.links) link.mine.reset_block(0);
    for (int side = 0; side < 2; ++side) {
      Result<link::shm::ShmStream> stream = link::shm::ShmStream::open(pair.links[side], 0, 0);
      REQUIRE(stream.ok());
      const Connection::Start start{
          .spine = side == 0 ? tcp.client.get() : tcp.server.get(),
          .role = side == 0 ? Connection::Role::connector : Connection::Role::acceptor,
          .sent = StreamOffset(tcp_bytes),
          .received = StreamOffset(tcp_bytes),
          .own_challenge = side == 0 ? of_client : of_server,
          .peer_challenge = side == 0 ? of_server : of_client};
      ends[side] = std::make_unique<Connection>(start, std::move(stream).value());
    }
    client().accepted();
  }

  void exchange_over_tcp(std::size_t bytes) {
    std::string text(bytes, 't');
    if (bytes == 0) return;
    REQUIRE(::send(tcp.client.get(), text.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    REQUIRE(::recv(tcp.server.get(), text.data(), bytes, MSG_WAITALL) ==
            static_cast<ssize_t>(bytes));
    REQUIRE(::send(tcp.server.get(), text.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    REQUIRE(::recv(tcp.client.get(), text.data(), bytes, MSG_WAITALL) ==
            static_cast<ssize_t>(bytes));
  }

  Connection& client() { return *ends[0]; }
  Connection& server() { return *ends[1]; }

  // What the service threads of both processes do.
  void advance() {
    for (int round = 0; round < 10; ++round) {
      REQUIRE(client().advance() == 0);
      REQUIRE(server().advance() == 0);
    }
  }
  void accelerate() {
    advance();
    for (Connection* end : {&client(), &server()}) {
      REQUIRE(end->tx_path() == Path::accelerated);
      REQUIRE(end->rx_path() == Path::accelerated);
    }
  }

  ShmPair pair;
  TcpPair tcp;
  std::unique_ptr<Connection> ends[2];
};

ssize_t send(Connection& connection, const std::string& text, const Waiting& waiting = {}) {
  const iovec part{const_cast<char*>(text.data()), text.size()};
  ProgramBytes bytes(&part, 1);
  return connection.send(bytes, waiting);
}

struct Received {
  ssize_t result;
  std::string text;
};

Received receive(Connection& connection, std::size_t count, int flags = 0,
                 const Waiting& waiting = {}) {
  std::string text(count, '\0');
  const iovec part{text.data(), text.size()};
  ProgramBytes bytes(&part, 1);
  const ssize_t result = connection.receive(bytes, flags, waiting);
  text.resize(result > 0 ? static_cast<std::size_t>(result) : 0);
  return {result, text};
}

std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t at = 0; at < bytes; ++at) text[at] = static_cast<char>(at * 131 + at / 251);
  return text;
}

Deadline soon() { return Deadline::after(20'000'000, monotonic_now_ns()); }

void on_signal(int) {}

void install(int flags) {
  struct sigaction action {};
  action.sa_handler = &on_signal;
  action.sa_flags = flags;
  REQUIRE(sigaction(SIGUSR1, &action, nullptr) == 0);
}

}  // namespace

TEST_CASE("a connection moves from TCP to shared memory between two bytes") {
  Upgraded both(7);
  CHECK(send(both.client(), "over tcp ") == 9);
  both.advance();  // The server has not read it: no proof yet.
  CHECK(send(both.client(), "and then by the ring") == 20);
  CHECK(receive(both.server(), 100).text == "over tcp ");
  both.advance();
  CHECK(receive(both.server(), 100).text == "and then by the ring");
  both.accelerate();
  CHECK(send(both.server(), "back") == 4);
  CHECK(receive(both.client(), 100).text == "back");
  CHECK(both.client().tx_ring_bytes() == 20);
  CHECK(both.server().rx_ring_bytes() == 20);
  CHECK(both.server().tx_ring_bytes() == 4);
}

TEST_CASE("a receive that does not wait says so") {
  Upgraded both;
  CHECK(receive(both.server(), 10, 0, kNoWait).result == -EAGAIN);
  both.accelerate();
  CHECK(receive(both.server(), 10, 0, kNoWait).result == -EAGAIN);
  REQUIRE(send(both.client(), "here") == 4);
  CHECK(receive(both.server(), 10, 0, kNoWait).text == "here");
}

TEST_CASE("a send without room sends what fits, and then says so") {
  Upgraded both;
  both.accelerate();
  const std::string text = pattern(100'000);
  CHECK(send(both.client(), text, kNoWait) == config::kFirstRingBytes);
  CHECK(send(both.client(), text, kNoWait) == -EAGAIN);
  CHECK(receive(both.server(), 100'000).text == text.substr(0, config::kFirstRingBytes));
}

TEST_CASE("a blocked reader wakes when bytes come, on either path and in between") {
  const bool accelerated = GENERATE(false, true);
  Upgraded both;
  if (accelerated) both.accelerate();
  Received received{};
  std::thread reader([&] { received = receive(both.server(), 10); });
  if (!accelerated) both.advance();
  CHECK(send(both.client(), "wake up") == 7);
  if (!accelerated) both.advance();
  reader.join();
  CHECK(received.text == "wake up");
}

TEST_CASE("a reader that fell asleep on TCP wakes when the bytes come by the ring") {
  Upgraded both;
  Received received{};
  std::atomic<bool> asleep{false};
  std::thread reader([&] {
    asleep = true;
    received = receive(both.server(), 10);
  });
  while (!asleep) std::this_thread::yield();
  for (int round = 0; round < 50; ++round) both.advance();
  REQUIRE(both.client().tx_path() == Path::accelerated);
  CHECK(send(both.client(), "ring") == 4);
  reader.join();
  CHECK(received.text == "ring");
  CHECK(both.server().rx_ring_bytes() == 4);
  both.accelerate();
}

TEST_CASE("many bytes both ways at once, and rings that grow on the way") {
  Upgraded both(100);
  both.accelerate();
  const std::string text = pattern(3'000'000);
  const auto move_all = [&](Connection& from, Connection& to, std::size_t piece) {
    std::thread sender([&] {
      for (std::size_t at = 0; at < text.size();) {
        const ssize_t sent = send(from, text.substr(at, piece));
        if (sent <= 0) return;
        at += static_cast<std::size_t>(sent);
      }
    });
    std::string all;
    while (all.size() < text.size()) {
      const Received received = receive(to, 70'000);
      if (received.result <= 0) break;
      all += received.text;
    }
    sender.join();
    return all == text;
  };
  bool there = false;
  std::thread other([&] { there = move_all(both.client(), both.server(), 100'000); });
  const bool back = move_all(both.server(), both.client(), 999);
  other.join();
  CHECK(there);
  CHECK(back);
  CHECK(both.client().tx_ring_bytes() == text.size());
  CHECK(both.client().rx_ring_bytes() == text.size());
}

TEST_CASE("MSG_PEEK leaves the bytes, MSG_TRUNC drops them, MSG_WAITALL waits for all") {
  const bool accelerated = GENERATE(false, true);
  Upgraded both;
  if (accelerated) both.accelerate();
  REQUIRE(send(both.client(), "abcdef") == 6);
  CHECK(receive(both.server(), 3, MSG_PEEK).text == "abc");
  CHECK(receive(both.server(), 3, MSG_PEEK).text == "abc");
  CHECK(receive(both.server(), 2, MSG_TRUNC).result == 2);
  CHECK(receive(both.server(), 1).text == "c");
  Received received{};
  std::thread reader([&] { received = receive(both.server(), 9, MSG_WAITALL); });
  REQUIRE(send(both.client(), "ghi") == 3);
  REQUIRE(send(both.client(), "jkl") == 3);
  reader.join();
  CHECK(received.text == "defghijkl");
}

TEST_CASE("a wait ends with its time limit") {
  const bool accelerated = GENERATE(false, true);
  Upgraded both;
  if (accelerated) both.accelerate();
  CHECK(receive(both.server(), 1, 0, {.deadline = soon()}).result == -EAGAIN);
  if (!accelerated) return;
  REQUIRE(send(both.client(), pattern(config::kFirstRingBytes)) == config::kFirstRingBytes);
  CHECK(send(both.client(), "x", {.deadline = soon()}) == -EAGAIN);
}

TEST_CASE("a signal ends a wait, unless its handler is one after which calls go on") {
  const bool accelerated = GENERATE(false, true);
  Upgraded both;
  if (accelerated) both.accelerate();
  const bool goes_on = GENERATE(false, true);
  install(goes_on ? SA_RESTART : 0);
  Received received{};
  std::atomic<bool> over{false};
  std::thread reader([&] {
    received = receive(both.server(), 10);
    over = true;
  });
  if (goes_on) {
    for (int count = 0; count < 20; ++count) {
      pthread_kill(reader.native_handle(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    CHECK_FALSE(over);
    REQUIRE(send(both.client(), "x") == 1);
  } else {
    while (!over) {
      pthread_kill(reader.native_handle(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  reader.join();
  CHECK(received.result == (goes_on ? 1 : -EINTR));
  std::signal(SIGUSR1, SIG_DFL);
}

// AddressSanitizer takes the stack of a thread that is unwound through code without exceptions for
// still in use.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a cancelled thread leaves its wait, and the connection works on") {
  const bool accelerated = GENERATE(false, true);
  Upgraded both;
  if (accelerated) both.accelerate();
  pthread_t reader{};
  const auto wait_for_ever = [](void* connection) -> void* {
    static_cast<void>(receive(*static_cast<Connection*>(connection), 1));
    return nullptr;
  };
  REQUIRE(pthread_create(&reader, nullptr, wait_for_ever, &both.server()) == 0);
  REQUIRE(pthread_cancel(reader) == 0);
  void* result = nullptr;
  REQUIRE(pthread_join(reader, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  REQUIRE(send(both.client(), "still") == 5);
  CHECK(receive(both.server(), 10).text == "still");
}
#endif

TEST_CASE("the end of what one side sends is seen behind its last byte") {
  const bool accelerated = GENERATE(false, true);
  Upgraded both;
  if (accelerated) both.accelerate();
  REQUIRE(send(both.client(), "last") == 4);
  REQUIRE(both.client().finish() == 0);
  CHECK(send(both.client(), "more") == -EPIPE);
  CHECK(receive(both.server(), 10).text == "last");
  CHECK(receive(both.server(), 10).result == 0);
  CHECK(receive(both.server(), 10).result == 0);
  REQUIRE(send(both.server(), "answer") == 6);
  CHECK(receive(both.client(), 10).text == "answer");
}

TEST_CASE("a blocked sender is woken when the sending half is shut down") {
  Upgraded both;
  both.accelerate();
  REQUIRE(send(both.client(), pattern(config::kFirstRingBytes)) == config::kFirstRingBytes);
  ssize_t result = 0;
  std::thread sender([&] { result = send(both.client(), "more"); });
  REQUIRE(both.client().finish() == 0);
  sender.join();
  CHECK(result == -EPIPE);
}

TEST_CASE("a connection falls back to TCP between two bytes, with bytes unread") {
  Upgraded both(3);
  both.accelerate();
  REQUIRE(send(both.client(), "in the ring, ") == 13);
  REQUIRE(send(both.server(), "here too, ") == 10);
  both.client().fall_back();
  both.advance();
  REQUIRE(send(both.client(), "on tcp") == 6);
  REQUIRE(send(both.server(), "and here") == 8);
  std::string there;
  while (there.size() < 19) there += receive(both.server(), 100).text;
  CHECK(there == "in the ring, on tcp");
  std::string back;
  while (back.size() < 18) back += receive(both.client(), 100).text;
  CHECK(back == "here too, and here");
  both.advance();
  CHECK(both.client().back_on_spine());
  CHECK(both.server().back_on_spine());
  // Plain TCP from here on, with nothing in between.
  REQUIRE(::send(both.tcp.client.get(), "plain", 5, 0) == 5);
  char buffer[10];
  CHECK(::recv(both.tcp.server.get(), buffer, sizeof(buffer), 0) == 5);
}

TEST_CASE("a blocked reader lives through a fallback") {
  Upgraded both;
  both.accelerate();
  Received received{};
  std::thread reader([&] { received = receive(both.server(), 10); });
  both.client().fall_back();
  both.advance();
  REQUIRE(send(both.client(), "tcp") == 3);
  reader.join();
  CHECK(received.text == "tcp");
}

TEST_CASE("when the other process is gone, what it wrote is read and then the end") {
  Upgraded both;
  both.accelerate();
  REQUIRE(send(both.client(), "last words") == 10);
  Received first{};
  Received second{};
  std::thread reader([&] {
    first = receive(both.server(), 100);
    second = receive(both.server(), 100);
  });
  both.server().peer_gone(stream::Death::clean);
  reader.join();
  CHECK(first.text == "last words");
  CHECK(second.result == 0);
  CHECK(send(both.server(), "anybody?") == -EPIPE);
}

TEST_CASE("a process that lies loses the connection and nothing else") {
  Upgraded both;
  both.accelerate();
  both.pair.links[1].mine.block(0).sender.tail = 1 << 30;
  CHECK(receive(both.server(), 10).result == -ECONNRESET);
  CHECK(both.server().advance() == -EPROTO);
  both.pair.links[0].mine.block(0).receiver.head = 1 << 30;
  CHECK(both.client().advance() == -EPROTO);
}

namespace {

Connection* interrupted = nullptr;
ssize_t sent_in_handler = 0;

void send_in_handler(int) { sent_in_handler += send(*interrupted, "!", kNoWait) == 1 ? 1 : 0; }

}  // namespace

TEST_CASE("a signal handler sends on the connection that it has interrupted") {
  Upgraded both;
  both.accelerate();
  interrupted = &both.client();
  sent_in_handler = 0;
  struct sigaction action {};
  action.sa_handler = &send_in_handler;
  action.sa_flags = SA_RESTART;
  REQUIRE(sigaction(SIGUSR2, &action, nullptr) == 0);
  const auto before = marks::hit_count(marks::Mark::sent_in_interrupting_handler);
  std::atomic<bool> done{false};
  ssize_t sent = 0;
  std::thread sender([&] {
    const std::string piece(3'000, '.');
    // Until a signal has come in the middle of a send, which is most of the time.
    for (int round = 0; round < 200'000; ++round) {
      sent += send(both.client(), piece);
      if (marks::hit_count(marks::Mark::sent_in_interrupting_handler) > before + 3) break;
    }
    done = true;
  });
  std::thread signaller([&] {
    while (!done) {
      pthread_kill(sender.native_handle(), SIGUSR2);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  std::size_t dots = 0;
  std::size_t marks_seen = 0;
  const auto take = [&](const Received& received) {
    for (const char byte : received.text) (byte == '.' ? dots : marks_seen) += 1;
  };
  while (!done) take(receive(both.server(), 100'000, 0, {.deadline = soon()}));
  signaller.join();
  sender.join();
  REQUIRE(both.client().advance() == 0);
  while (receive(both.server(), 1, MSG_PEEK, kNoWait).result > 0) {
    take(receive(both.server(), 100'000, 0, kNoWait));
    REQUIRE(both.client().advance() == 0);
  }
  CHECK(dots == static_cast<std::size_t>(sent));
  CHECK(marks_seen == static_cast<std::size_t>(sent_in_handler));
  CHECK(marks::hit_count(marks::Mark::sent_in_interrupting_handler) > before);
  std::signal(SIGUSR2, SIG_DFL);
}
