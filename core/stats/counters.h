#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rsock::stats {

// What is counted for the whole process since it started (or was forked). The numbers are part
// of the page's format: append, never reorder.
//
//   X(name, text)
#define RSOCK_COUNTERS(X)                                                             \
  X(sockets_tracked, "TCP sockets that the shim has followed")                        \
  X(sockets_closed, "followed sockets whose last descriptor went away")               \
  X(sockets_untracked, "TCP sockets not followed: no memory or descriptor too large") \
  X(stale_purged, "descriptors that had been closed behind the shim's back")          \
  X(connections_connected, "connections begun by connect()")                          \
  X(connections_accepted, "connections that came from accept()")                      \
  X(sockets_adopted, "sockets inherited or received from another process")            \
  X(closed_tx_tcp_bytes, "bytes sent over TCP by sockets that are closed by now")     \
  X(closed_rx_tcp_bytes, "bytes received over TCP by sockets that are closed by now")

enum class Counter : std::uint16_t {
#define RSOCK_COUNTER_VALUE(name, text) name,
  RSOCK_COUNTERS(RSOCK_COUNTER_VALUE)
#undef RSOCK_COUNTER_VALUE
};

inline constexpr std::string_view kCounterNames[] = {
#define RSOCK_COUNTER_NAME(name, text) #name,
    RSOCK_COUNTERS(RSOCK_COUNTER_NAME)
#undef RSOCK_COUNTER_NAME
};

inline constexpr std::size_t kCounterCount = std::size(kCounterNames);

}  // namespace rsock::stats
