#include "core/wire/handshake.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <vector>

#include "core/config/limits.h"
#include "tests/sim/choices.h"
#include "tests/wire/document.h"

using namespace rsock;
using namespace rsock::wire;
using testing::protocol_example;

namespace {

// The message that PROTOCOL.md has as an example, which must also be what we would send.
template <typename Part>
Part from_document(const char* name) {
  const std::vector<std::byte> bytes = protocol_example(name);
  const Result<Message> message = decode(bytes);
  REQUIRE(message.ok());
  const Part* part = std::get_if<Part>(&message.value());
  REQUIRE(part != nullptr);
  const auto again = bytes_of(*part);
  CHECK(std::vector<std::byte>(again.begin(), again.end()) == bytes);
  return *part;
}

template <typename Part>
int error_of(const Part& part) {
  return decode(bytes_of(part)).error();
}

}  // namespace

TEST_CASE("HELLO reads as PROTOCOL.md says") {
  const auto hello = from_document<Hello>("HELLO");
  CHECK(hello.process_id == 4711);
  CHECK(hello.features == 0);
}

TEST_CASE("OPEN reads as PROTOCOL.md says") {
  const auto open = from_document<Open>("OPEN");
  CHECK(open.stream == 5);
  CHECK(open.inode == 98765);
  CHECK(open.connection.client_port == 54321);
  CHECK(open.connection.server_port == 6379);
  CHECK(open.connection.client_address ==
        std::array<std::uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1});
  CHECK(open.connection.server_address[15] == 2);
  CHECK(open.challenge[15] == std::byte{15});
}

TEST_CASE("the answers read as PROTOCOL.md says") {
  const auto accept = from_document<Accept>("ACCEPT");
  CHECK(accept.stream == 5);
  CHECK(accept.own_stream == 9);
  CHECK(accept.challenge[0] == std::byte{0xf0});
  const auto decline = from_document<Decline>("DECLINE");
  CHECK(decline.stream == 5);
  CHECK(decline.reason == static_cast<std::uint16_t>(DeclineReason::busy));
  CHECK(from_document<Closed>("CLOSED").stream == 9);
}

TEST_CASE("what is no message is refused") {
  CHECK(decode({}).error() == -EPROTO);
  CHECK(decode(bytes_of(std::uint8_t{1})).error() == -EPROTO);
  CHECK(decode(bytes_of(std::uint64_t{77})).error() == -EPROTO);
  Hello hello;
  CHECK(error_of(hello) == 0);
  hello.version = 2;
  CHECK(error_of(hello) == -EPROTO);
  hello = {};
  hello.magic = 1;
  CHECK(error_of(hello) == -EPROTO);
  hello = {};
  hello.zero = 1;
  CHECK(error_of(hello) == -EPROTO);
  Open open;
  CHECK(error_of(open) == 0);
  open.stream = config::kStreamsPerLinkMax;
  CHECK(error_of(open) == -EPROTO);
  open = {};
  open.zero_too = 1;
  CHECK(error_of(open) == -EPROTO);
  Accept accept;
  CHECK(error_of(accept) == 0);
  accept.own_stream = UINT32_MAX;
  CHECK(error_of(accept) == -EPROTO);
  Decline decline;
  decline.stream = config::kStreamsPerLinkMax;
  CHECK(error_of(decline) == -EPROTO);
  Closed closed;
  closed.zero = 1;
  CHECK(error_of(closed) == -EPROTO);
}

TEST_CASE("a message that is cut or too long is refused") {
  for (const char* name : {"HELLO", "OPEN", "ACCEPT", "DECLINE", "CLOSED"}) {
    std::vector<std::byte> bytes = protocol_example(name);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CHECK_FALSE(decode(std::span(bytes).first(size)).ok());
    }
    bytes.push_back(std::byte{0});
    CHECK_FALSE(decode(bytes).ok());
  }
}

TEST_CASE("random bytes are a message or an error, and a message is what was decoded") {
  sim::SeededChoices choices(7);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(choices.below(kMessageBytesMax + 8));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(choices.below(256));
    if (bytes.size() >= 2 && choices.one_in(2)) {
      bytes[0] = static_cast<std::byte>(choices.below(7));
      bytes[1] = std::byte{0};
    }
    const Result<Message> message = decode(bytes);
    if (!message.ok()) continue;
    std::visit(
        [&](const auto& part) {
          const auto again = bytes_of(part);
          CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
        },
        message.value());
  }
}
