// PROTOCOL.md and the code say the same.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "core/wire/shm_layout.h"
#include "core/wire/stream_words.h"
#include "tests/wire/document.h"

using namespace rsock;
using testing::protocol_document;
using testing::protocol_example;

namespace {

struct Field {
  std::size_t at;
  std::size_t bytes;
  bool operator==(const Field&) const = default;
};
using Table = std::map<std::string, Field>;

// The rows "| at | bytes | `name` | ... |" of the table that follows the first mention of `title`.
Table table_after(const std::string& text, const std::string& title) {
  std::size_t begin = text.find(title);
  REQUIRE(begin != std::string::npos);
  begin = text.find("| --- |", begin);
  const std::string rows = text.substr(begin, text.find("\n\n", begin) - begin);
  const std::regex row(R"(\| (\d+) \| (\d+) \| `?([a-z_]+)`? \|)");
  Table table;
  for (std::sregex_iterator match(rows.begin(), rows.end(), row), end; match != end; ++match) {
    table[(*match)[3]] = {std::stoul((*match)[1]), std::stoul((*match)[2])};
  }
  return table;
}

#define RSOCK_FIELD(type, name)                         \
  {                                                     \
#name, { offsetof(type, name), sizeof(type::name) } \
  }

}  // namespace

TEST_CASE("the sender's line is what PROTOCOL.md says") {
  using Words = wire::SenderWords;
  CHECK(table_after(protocol_document(), "`SenderWords`") ==
        Table{RSOCK_FIELD(Words, tail), RSOCK_FIELD(Words, switch_at), RSOCK_FIELD(Words, stop_at),
              RSOCK_FIELD(Words, fin_at), RSOCK_FIELD(Words, ring_from),
              RSOCK_FIELD(Words, ring_number), RSOCK_FIELD(Words, stalls),
              RSOCK_FIELD(Words, space_interest), RSOCK_FIELD(Words, zero)});
}

TEST_CASE("the receiver's line is what PROTOCOL.md says") {
  using Words = wire::ReceiverWords;
  CHECK(table_after(protocol_document(), "`ReceiverWords`") ==
        Table{RSOCK_FIELD(Words, head), RSOCK_FIELD(Words, ring_place),
              RSOCK_FIELD(Words, ring_bytes), RSOCK_FIELD(Words, ring_number),
              RSOCK_FIELD(Words, switch_seen), RSOCK_FIELD(Words, stop_wanted),
              RSOCK_FIELD(Words, arrival_interest), RSOCK_FIELD(Words, zero)});
}

TEST_CASE("the example of a sender's line reads as PROTOCOL.md says") {
  const std::vector<std::byte> bytes = protocol_example("a sender's line");
  REQUIRE(bytes.size() == sizeof(wire::SenderWords));
  wire::SenderWords words;
  std::memcpy(static_cast<void*>(&words), bytes.data(), bytes.size());
  CHECK(words.tail == 5100);
  CHECK(words.switch_at == 1000);
  CHECK(words.stop_at == wire::kOffsetUnset);
  CHECK(words.fin_at == 5100);
  CHECK(words.ring_from == 4660);
  CHECK(words.ring_number == 1);
  CHECK(words.stalls == 2);
  CHECK(words.space_interest == 0);
}

TEST_CASE("the example of a receiver's line reads as PROTOCOL.md says") {
  const std::vector<std::byte> bytes = protocol_example("a receiver's line");
  REQUIRE(bytes.size() == sizeof(wire::ReceiverWords));
  wire::ReceiverWords words;
  std::memcpy(static_cast<void*>(&words), bytes.data(), bytes.size());
  CHECK(words.head == 4700);
  CHECK(words.ring_place == 65536);
  CHECK(words.ring_bytes == 16384);
  CHECK(words.ring_number == 1);
  CHECK(words.switch_seen == 1);
  CHECK(words.stop_wanted == 0);
  CHECK(words.arrival_interest == (wire::kWakeSleeper | wire::kTellMailbox));
}

TEST_CASE("the segment is laid out as PROTOCOL.md says") {
  const std::string text = protocol_document();
  const auto row = [](std::size_t at) { return "| " + std::to_string(at) + " | "; };
  CHECK(text.find(row(offsetof(wire::SegmentHeader, mailbox)) + "the mailbox") !=
        std::string::npos);
  CHECK(text.find(row(wire::kBlocksAt) + "a block of 128 bytes for each of 65,536 streams") !=
        std::string::npos);
  CHECK(text.find(row(wire::kFirstRingsAt) + "the first rings, 4,096 bytes") != std::string::npos);
  CHECK(text.find(row(wire::kGrownRingsAt) + "room for two grown rings of up to 1 MiB") !=
        std::string::npos);
  CHECK(sizeof(wire::StreamBlock) == 128);
  CHECK(config::kStreamsPerLinkMax == 65536);
  CHECK(config::kFirstRingBytes == 4096);
  CHECK(config::kRingBytesMax == 1 << 20);
  CHECK(std::memcmp(&wire::kSegmentMagic, "SOCKSHM1", 8) == 0);
}

TEST_CASE("words that nobody has set yet say so") {
  const wire::SenderWords sender;
  CHECK(sender.switch_at == wire::kOffsetUnset);
  CHECK(sender.stop_at == wire::kOffsetUnset);
  CHECK(sender.fin_at == wire::kOffsetUnset);
  CHECK(sender.tail == 0);
  const wire::ReceiverWords receiver;
  CHECK(receiver.head == 0);
  CHECK(receiver.switch_seen == 0);
}
