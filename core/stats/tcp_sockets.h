#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rsock::stats {

// What the kernel knows of a TCP socket: a line of /proc/PID/net/tcp or tcp6 (proc(5)).
struct TcpSocket {
  std::string local;  // "127.0.0.1:80", "[::1]:80"; "-" if the kernel does not tell
  std::string peer;
  std::string state;  // as ss(8) names it: "established", "listening"
};

using TcpSockets = std::unordered_map<std::uint64_t, TcpSocket>;  // by inode

inline constexpr char kListening[] = "listening";

// "0100007F:1F90" and the like, with 8 or 32 hexadecimal digits before the colon. IPv4 addresses
// mapped into IPv6 are written as what they are.
[[nodiscard]] std::optional<std::string> parse_address(std::string_view text);

// Adds the sockets of one such file. Lines that make no sense are left out.
void parse_tcp_sockets(std::istream& file, TcpSockets& sockets);

// The sockets of the network namespace of process `pid`; nothing if the process has ended.
[[nodiscard]] std::optional<TcpSockets> tcp_sockets_of(int pid);

}  // namespace rsock::stats
