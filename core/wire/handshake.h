#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <variant>

#include "core/base/result.h"
#include "core/wire/stream_words.h"

namespace rsock::wire {

// The messages by which two processes make a link and open streams on it (PROTOCOL.md, section 2).
// Each is a fixed structure; on shared memory it is one packet of a Unix SOCK_SEQPACKET.
static_assert(std::endian::native == std::endian::little, "the fields are little-endian");

inline constexpr std::uint64_t kHelloMagic = 0x4b'4e'49'4c'4b'43'4f'53;  // "SOCKLINK"
inline constexpr std::uint16_t kProtocolVersion = 1;

enum class Kind : std::uint16_t {
  hello = 1,
  open = 2,
  accept = 3,
  decline = 4,
  closed = 5,
};

// A connection as its client sees it. IPv4 addresses are mapped into IPv6 (RFC 4291, 2.5.5.2), so
// that a socket of either family has one form.
struct FourTuple {
  std::array<std::uint8_t, 16> client_address{};
  std::array<std::uint8_t, 16> server_address{};
  std::uint16_t client_port = 0;
  std::uint16_t server_port = 0;
  friend bool operator==(const FourTuple&, const FourTuple&) = default;
};

// The first message of each side. It brings the sender's segment and, from the connecting side, the
// other end of the bell.
struct Hello {
  static constexpr Kind kKind = Kind::hello;
  std::uint16_t kind = static_cast<std::uint16_t>(kKind);
  std::uint16_t version = kProtocolVersion;
  std::uint32_t features = 0;  // none is known yet
  std::uint64_t magic = kHelloMagic;
  std::uint32_t process_id = 0;  // for logs only
  std::uint32_t zero = 0;
};

struct Open {
  static constexpr Kind kKind = Kind::open;
  std::uint16_t kind = static_cast<std::uint16_t>(kKind);
  std::uint16_t zero = 0;
  std::uint32_t stream = 0;  // index in the sender's segment
  FourTuple connection;
  std::uint32_t zero_too = 0;
  std::uint64_t inode = 0;  // of the acceptor's TCP socket
  Proof challenge{};
};

struct Accept {
  static constexpr Kind kKind = Kind::accept;
  std::uint16_t kind = static_cast<std::uint16_t>(kKind);
  std::uint16_t zero = 0;
  std::uint32_t stream = 0;      // that of the OPEN
  std::uint32_t own_stream = 0;  // index in the sender's segment
  std::uint32_t zero_too = 0;
  Proof challenge{};
};

enum class DeclineReason : std::uint16_t {
  not_here = 1,  // no such connection in this process
  pinned = 2,    // it has to stay on TCP
  busy = 3,      // not now
};

struct Decline {
  static constexpr Kind kKind = Kind::decline;
  std::uint16_t kind = static_cast<std::uint16_t>(kKind);
  std::uint16_t reason = 0;
  std::uint32_t stream = 0;  // that of the OPEN
};

// The sender will not touch the stream any more. When both have said so, its index is free.
struct Closed {
  static constexpr Kind kKind = Kind::closed;
  std::uint16_t kind = static_cast<std::uint16_t>(kKind);
  std::uint16_t zero = 0;
  std::uint32_t stream = 0;  // index in the receiver's segment
};

static_assert(sizeof(FourTuple) == 36 && sizeof(Hello) == 24 && sizeof(Open) == 72);
static_assert(sizeof(Accept) == 32 && sizeof(Decline) == 8 && sizeof(Closed) == 8);
static_assert(offsetof(Hello, magic) == 8 && offsetof(Hello, process_id) == 16);
static_assert(offsetof(Open, connection) == 8 && offsetof(Open, inode) == 48);
static_assert(offsetof(Open, challenge) == 56 && offsetof(Accept, own_stream) == 8);
static_assert(offsetof(Accept, challenge) == 16 && offsetof(Decline, reason) == 2);
static_assert(std::is_trivially_copyable_v<Open> && std::is_trivially_copyable_v<Hello>);

using Message = std::variant<Hello, Open, Accept, Decline, Closed>;
inline constexpr std::size_t kMessageBytesMax = sizeof(Open);

// The bytes of a message, for the wire.
template <typename Part>
[[nodiscard]] std::span<const std::byte> bytes_of(const Part& message) noexcept {
  return std::as_bytes(std::span(&message, 1));
}

// The message that `bytes` are, exactly. -EPROTO if they are none; a Hello of another protocol
// version is none.
[[nodiscard]] Result<Message> decode(std::span<const std::byte> bytes) noexcept;

}  // namespace rsock::wire
