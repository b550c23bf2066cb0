#include "core/wire/handshake.h"

#include <cerrno>

#include "core/config/limits.h"

namespace rsock::wire {

namespace {

bool is_index(std::uint32_t stream) { return stream < config::kStreamsPerLinkMax; }

bool is_valid(const Hello& hello) {
  return hello.magic == kHelloMagic && hello.version == kProtocolVersion && hello.zero == 0;
}
bool is_valid(const Open& open) {
  return open.zero == 0 && open.zero_too == 0 && is_index(open.stream);
}
bool is_valid(const Accept& accept) {
  return accept.zero == 0 && accept.zero_too == 0 && is_index(accept.stream) &&
         is_index(accept.own_stream);
}
bool is_valid(const Decline& decline) { return is_index(decline.stream); }
bool is_valid(const Closed& closed) { return closed.zero == 0 && is_index(closed.stream); }

template <typename Part>
Result<Message> decode_as(std::span<const std::byte> bytes) {
  Part part;
  if (bytes.size() != sizeof(part)) return Error(-EPROTO);
  std::memcpy(&part, bytes.data(), sizeof(part));
  if (!is_valid(part)) return Error(-EPROTO);
  return Message(part);
}

}  // namespace

Result<Message> decode(std::span<const std::byte> bytes) noexcept {
  std::uint16_t kind = 0;
  if (bytes.size() < sizeof(kind)) return Error(-EPROTO);
  std::memcpy(&kind, bytes.data(), sizeof(kind));
  switch (kind) {
    case static_cast<std::uint16_t>(Kind::hello):
      return decode_as<Hello>(bytes);
    case static_cast<std::uint16_t>(Kind::open):
      return decode_as<Open>(bytes);
    case static_cast<std::uint16_t>(Kind::accept):
      return decode_as<Accept>(bytes);
    case static_cast<std::uint16_t>(Kind::decline):
      return decode_as<Decline>(bytes);
    case static_cast<std::uint16_t>(Kind::closed):
      return decode_as<Closed>(bytes);
    default:
      return Error(-EPROTO);
  }
}

}  // namespace rsock::wire
