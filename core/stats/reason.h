#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rsock::stats {

// Why a connection is on TCP. Each value has one counter in the stats page, one text in
// rsock-stat and one line in the manual (design.md section 11). The numbers are part of the
// page's format: append, never reorder.
//
//   X(name, text)
#define RSOCK_REASONS(X)                                                   \
  X(none, "")                                                              \
  X(no_transport, "this version of librsock has no accelerated transport") \
  X(disabled, "switched off by RSOCK_TRANSPORT=tcp or RSOCK_UPGRADE=off")  \
  X(mptcp, "MPTCP socket")                                                 \
  X(tcp_ulp, "TCP_ULP (kernel TLS or another upper layer protocol)")       \
  X(zerocopy, "SO_ZEROCOPY")                                               \
  X(out_of_band, "out-of-band data (MSG_OOB or SO_OOBINLINE)")             \
  X(tcp_repair, "TCP_REPAIR")                                              \
  X(bound_to_device, "SO_BINDTODEVICE")                                    \
  X(marked, "SO_MARK")                                                     \
  X(transparent, "IP_TRANSPARENT or IPV6_TRANSPARENT")                     \
  X(ipsec_policy, "IPsec policy on the socket")                            \
  X(stdio, "fdopen: stdio reads and writes the socket inside libc")        \
  X(posix_aio, "POSIX asynchronous I/O")                                   \
  X(io_uring, "the process uses io_uring, whose system calls are not seen")

enum class Reason : std::uint16_t {
#define RSOCK_REASON_VALUE(name, text) name,
  RSOCK_REASONS(RSOCK_REASON_VALUE)
#undef RSOCK_REASON_VALUE
};

inline constexpr std::string_view kReasonNames[] = {
#define RSOCK_REASON_NAME(name, text) #name,
    RSOCK_REASONS(RSOCK_REASON_NAME)
#undef RSOCK_REASON_NAME
};

inline constexpr std::string_view kReasonTexts[] = {
#define RSOCK_REASON_TEXT(name, text) text,
    RSOCK_REASONS(RSOCK_REASON_TEXT)
#undef RSOCK_REASON_TEXT
};

inline constexpr std::size_t kReasonCount = std::size(kReasonNames);

}  // namespace rsock::stats
