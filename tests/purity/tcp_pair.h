#pragma once

#include <cstddef>

namespace rsock::purity {

// A listening TCP socket on the loopback address, at a port of the kernel's choice. No memory, no
// lock: may be called in a signal handler. Each function fails the case when it can't do it.
[[nodiscard]] int tcp_listen();

// A TCP socket that is connected to `listener`.
[[nodiscard]] int tcp_connect(int listener);

// Two connected TCP sockets. Closing either resets the connection, so that thousands leave
// nothing behind.
struct TcpPair {
  int client = -1;
  int server = -1;
};
[[nodiscard]] TcpPair tcp_pair();

// All of `bytes` bytes (of no meaning) through the pair, and their arrival.
void tcp_send(const TcpPair& pair, std::size_t bytes);

}  // namespace rsock::purity
