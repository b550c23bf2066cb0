// Much data, many messages, many connections: bytes are neither lost, repeated nor swapped.
#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

constexpr std::uint64_t kBulkBytes = 8 << 20;
constexpr std::size_t kMostPerCall = 100'000;

// Sizes of all magnitudes.
std::size_t random_size(std::mt19937& random, std::size_t most) {
  const auto bits = random() % 17;
  return std::min<std::size_t>(most, 1 + random() % (std::size_t{1} << bits));
}

// Two buffers of random share for `count` bytes at `bytes`.
struct Halves {
  iovec vectors[2];
};
Halves halves(std::mt19937& random, char* bytes, std::size_t count) {
  const std::size_t first = random() % (count + 1);
  return {{{bytes, first}, {bytes + first, count - first}}};
}

ssize_t send_somehow(std::mt19937& random, int fd, char* bytes, std::size_t count) {
  Halves parts = halves(random, bytes, count);
  msghdr message{};
  message.msg_iov = parts.vectors;
  message.msg_iovlen = 2;
  switch (random() % 5) {
    case 0:
      return write(fd, bytes, count);
    case 1:
      return send(fd, bytes, count, random() % 2 == 0 ? MSG_MORE : 0);
    case 2:
      return sendto(fd, bytes, count, 0, nullptr, 0);
    case 3:
      return writev(fd, parts.vectors, 2);
    default:
      return sendmsg(fd, &message, 0);
  }
}

ssize_t receive_somehow(std::mt19937& random, int fd, char* bytes, std::size_t count) {
  Halves parts = halves(random, bytes, count);
  msghdr message{};
  message.msg_iov = parts.vectors;
  message.msg_iovlen = 2;
  switch (random() % 5) {
    case 0:
      return read(fd, bytes, count);
    case 1:
      return recv(fd, bytes, count, 0);
    case 2:
      // What is looked at is there a second time.
      return recv(fd, bytes, count, MSG_PEEK) < 0 ? -1
                                                  : recvfrom(fd, bytes, count, 0, nullptr, nullptr);
    case 3:
      return readv(fd, parts.vectors, 2);
    default:
      return recvmsg(fd, &message, 0);
  }
}

// Sends the pattern of `seed`; returns how many bytes went.
std::uint64_t send_pattern(int fd, std::uint64_t seed, std::uint64_t bytes) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::uint64_t sent = 0;
  while (sent < bytes) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(kMostPerCall, bytes - sent));
    std::string chunk = pattern(seed, sent, random_size(random, most));
    const ssize_t put = send_somehow(random, fd, chunk.data(), chunk.size());
    if (put <= 0) break;
    sent += static_cast<std::uint64_t>(put);
  }
  return sent;
}

// Receives until the end or `bytes`; returns how many were right before the first wrong one.
std::uint64_t receive_pattern(int fd, std::uint64_t seed, std::uint64_t bytes) {
  std::mt19937 random(static_cast<unsigned>(seed + 1));
  std::vector<char> buffer(kMostPerCall);
  std::uint64_t received = 0;
  std::uint64_t right = 0;
  while (received < bytes) {
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(kMostPerCall, bytes - received));
    const ssize_t got = receive_somehow(random, fd, buffer.data(), random_size(random, most));
    if (got <= 0) break;
    const auto count = static_cast<std::size_t>(got);
    // After wrong bytes it only goes on so that the sender can end.
    if (right == received) right += matching(seed, received, buffer.data(), count);
    received += count;
  }
  return right;
}

}  // namespace

CONFORMANCE_CASE("bulk: megabytes both ways at once, in calls and sizes of all kinds") {
  const LocalPair pair = local_pair(TestType::family);
  std::uint64_t sent[2] = {};
  std::uint64_t received[2] = {};
  {
    std::thread threads[] = {
        std::thread([&] { sent[0] = send_pattern(pair.client, 1, kBulkBytes); }),
        std::thread([&] { sent[1] = send_pattern(pair.server, 2, kBulkBytes); }),
        std::thread([&] { received[0] = receive_pattern(pair.server, 1, kBulkBytes); }),
        std::thread([&] { received[1] = receive_pattern(pair.client, 2, kBulkBytes); }),
    };
    for (std::thread& thread : threads) thread.join();
  }
  for (const int way : {0, 1}) {
    CHECK(sent[way] == kBulkBytes);
    CHECK(received[way] == kBulkBytes);
  }
}

CONFORMANCE_CASE("bulk: megabytes to the other process") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  connection.peer().start_receive_pattern_to_end(connection.remote(), 3);
  CHECK(send_pattern(connection.fd(), 3, kBulkBytes) == kBulkBytes);
  CHECK(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome outcome = connection.peer().finish();
  CHECK(outcome.result == static_cast<std::int64_t>(kBulkBytes));
  CHECK(outcome.error == 0);
}

CONFORMANCE_CASE("bulk: megabytes from the other process") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  connection.peer().start_send_pattern(connection.remote(), 4, 0, kBulkBytes);
  CHECK(receive_pattern(connection.fd(), 4, kBulkBytes) == kBulkBytes);
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(kBulkBytes));
}

CONFORMANCE_CASE("bulk: megabytes there and back through an echo in the other process") {
  Connection connection(TestType::family);
  connection.peer().start_echo(connection.remote(), kBulkBytes);
  std::uint64_t sent = 0;
  std::thread sender([&] { sent = send_pattern(connection.fd(), 5, kBulkBytes); });
  const std::uint64_t received = receive_pattern(connection.fd(), 5, kBulkBytes);
  sender.join();
  CHECK(sent == kBulkBytes);
  CHECK(received == kBulkBytes);
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(kBulkBytes));
}

CONFORMANCE_CASE("bulk: five thousand bytes, one at a time") {
  constexpr std::size_t kBytes = 5000;
  const LocalPair pair = local_pair(TestType::family);
  std::thread sender([&] {
    for (std::size_t index = 0; index < kBytes; ++index) {
      const char byte = pattern_byte(6, index);
      if (send(pair.client, &byte, 1, 0) != 1) return;
    }
  });
  std::size_t right = 0;
  char byte = 0;
  while (right < kBytes && recv(pair.server, &byte, 1, 0) == 1 && byte == pattern_byte(6, right)) {
    ++right;
  }
  sender.join();
  CHECK(right == kBytes);
}

CONFORMANCE_CASE("bulk: messages of sizes around the powers of two") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  std::uint64_t offset = 0;
  for (std::size_t power = 2; power <= (1 << 18); power *= 2) {
    for (const std::size_t size : {power - 1, power, power + 1}) {
      connection.peer().start_echo(connection.remote(), size);
      const std::string message = pattern(7, offset, size);
      std::string echoed;
      std::thread receiver([&] { echoed = receive_all(connection.fd(), size); });
      send_all(connection.fd(), message);
      receiver.join();
      CHECK(echoed == message);
      CHECK(connection.peer().finish().result == static_cast<std::int64_t>(size));
      offset += size;
    }
  }
}

CONFORMANCE_CASE("bulk: two thousand requests and responses") {
  constexpr int kRounds = 2000;
  constexpr std::size_t kBytes = 64;
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  connection.peer().start_echo(connection.remote(), kRounds * kBytes);
  int right = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::string request = pattern(8, round * kBytes, kBytes);
    send_all(connection.fd(), request);
    right += receive_all(connection.fd(), kBytes) == request ? 1 : 0;
  }
  CHECK(right == kRounds);
  CHECK(connection.peer().finish().result == kRounds * static_cast<std::int64_t>(kBytes));
}

CONFORMANCE_CASE("bulk: two hundred connections at once, echoed through one epoll set") {
  constexpr std::size_t kConnections = 200;
  constexpr std::size_t kBytes = 20'000;
  const Fd listener = listening_socket(TestType::family, kConnections);
  const Address address = local_address(listener);
  std::vector<LocalPair> pairs;
  for (std::size_t index = 0; index < kConnections; ++index) {
    Fd client = tcp_socket(TestType::family);
    REQUIRE(connect(client, address.generic(), address.length) == 0);
    Fd server(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    REQUIRE(server >= 0);
    pairs.push_back({std::move(client), std::move(server)});
  }
  const Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  for (std::size_t index = 0; index < kConnections; ++index) {
    epoll_event event{EPOLLIN, {.u64 = index}};
    REQUIRE(epoll_ctl(epoll, EPOLL_CTL_ADD, pairs[index].server, &event) == 0);
    send_all(pairs[index].client, pattern(index, 0, kBytes));
    REQUIRE(shutdown(pairs[index].client, SHUT_WR) == 0);
  }
  std::vector<char> buffer(kBytes);
  for (std::size_t open = kConnections; open > 0;) {
    epoll_event events[16];
    const int ready = epoll_wait(epoll, events, 16, kSoonMs);
    REQUIRE(ready > 0);
    for (int event = 0; event < ready; ++event) {
      LocalPair& pair = pairs[events[event].data.u64];
      const ssize_t got = recv(pair.server, buffer.data(), 7000, 0);
      REQUIRE(got >= 0);
      if (got == 0) {
        pair.server.reset();
        --open;
      } else {
        send_all(pair.server, {buffer.data(), static_cast<std::size_t>(got)});
      }
    }
  }
  for (std::size_t index = 0; index < kConnections; ++index) {
    CHECK(receive_all(pairs[index].client, kBytes + 1) == pattern(index, 0, kBytes));
  }
}

CONFORMANCE_CASE("bulk: eight threads, each with its own connection") {
  constexpr std::size_t kThreads = 8;
  constexpr std::uint64_t kBytes = 1 << 20;
  std::vector<LocalPair> pairs;
  for (std::size_t index = 0; index < kThreads; ++index) {
    pairs.push_back(local_pair(TestType::family));
  }
  std::uint64_t right[kThreads] = {};
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] { send_pattern(pairs[index].client, index, kBytes); });
    threads.emplace_back(
        [&, index] { right[index] = receive_pattern(pairs[index].server, index, kBytes); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t bytes : right) CHECK(bytes == kBytes);
}

CONFORMANCE_CASE("bulk: data sent before the close arrives before the end") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  connection.peer().start_receive_pattern_to_end(connection.remote(), 9);
  CHECK(send_pattern(connection.fd(), 9, 1 << 20) == 1 << 20);
  connection.local().reset();
  const Outcome outcome = connection.peer().finish();
  CHECK(outcome.result == 1 << 20);
  CHECK(outcome.error == 0);
}
