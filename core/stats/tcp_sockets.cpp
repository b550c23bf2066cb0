#include "core/stats/tcp_sockets.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

namespace rsock::stats {

namespace {

constexpr int kHexadecimal = 16;
constexpr std::size_t kWordDigits = 8;
constexpr std::size_t kV4Digits = 8;
constexpr std::size_t kV6Digits = 32;
constexpr std::size_t kMappedAt = 12;  // where the IPv4 address is in a mapped one

// The states of include/net/tcp_states.h, from 1 on, with ss(8)'s names.
constexpr const char* kStates[] = {
    "",           "established", "syn-sent",    "syn-recv",   "fin-wait-1",
    "fin-wait-2", "time-wait",   "unconnected", "close-wait", "last-ack",
    kListening,   "closing",     "syn-recv",
};

template <typename T>
bool parse_number(std::string_view text, int base, T& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// The kernel prints addresses as words in the machine's order.
bool parse_words(std::string_view digits, unsigned char* bytes) {
  for (std::size_t at = 0; at < digits.size(); at += kWordDigits) {
    std::uint32_t word = 0;
    if (!parse_number(digits.substr(at, kWordDigits), kHexadecimal, word)) return false;
    std::memcpy(bytes + at / 2, &word, sizeof(word));
  }
  return true;
}

std::string v4_text(const void* bytes) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, bytes, text, sizeof(text));
  return text;
}

std::string v6_text(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return v4_text(address.s6_addr + kMappedAt);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address, text, sizeof(text));
  return std::string("[") + text + "]";
}

std::string state_name(std::string_view digits) {
  std::size_t number = 0;
  if (!parse_number(digits, kHexadecimal, number) || number == 0 || number >= std::size(kStates)) {
    return "unknown";
  }
  return kStates[number];
}

}  // namespace

std::optional<std::string> parse_address(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != kV4Digits && colon != kV6Digits) return std::nullopt;
  in6_addr bytes{};
  std::uint16_t port = 0;
  if (!parse_words(text.substr(0, colon), bytes.s6_addr)) return std::nullopt;
  if (!parse_number(text.substr(colon + 1), kHexadecimal, port)) return std::nullopt;
  const std::string host = colon == kV4Digits ? v4_text(bytes.s6_addr) : v6_text(bytes);
  return host + ":" + std::to_string(port);
}

void parse_tcp_sockets(std::istream& file, TcpSockets& sockets) {
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    // sl local rem st tx:rx tr:when retrnsmt uid timeout inode ...
    std::istringstream fields(line);
    std::string slot, local, peer, state, queues, timer, retransmits, user, timeout, inode;
    fields >> slot >> local >> peer >> state >> queues >> timer >> retransmits >> user >> timeout >>
        inode;
    std::uint64_t number = 0;
    const auto local_text = parse_address(local);
    const auto peer_text = parse_address(peer);
    if (!local_text || !peer_text || !parse_number(std::string_view(inode), 10, number)) continue;
    if (number != 0) sockets[number] = {*local_text, *peer_text, state_name(state)};
  }
}

std::optional<TcpSockets> tcp_sockets_of(int pid) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/net/";
  std::ifstream v4(directory + "tcp");
  if (!v4) return std::nullopt;
  TcpSockets sockets;
  parse_tcp_sockets(v4, sockets);
  std::ifstream v6(directory + "tcp6");  // absent from a kernel without IPv6
  parse_tcp_sockets(v6, sockets);
  return sockets;
}

}  // namespace rsock::stats
