#include "core/socket/pinning.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <atomic>
#include <cstring>

#include "core/config/config.h"
#include "core/os/libc_names.h"
#include "core/stats/publisher.h"

namespace rsock::socket {

namespace {

using stats::Reason;

constinit std::atomic<bool> uses_io_uring{false};

// An option that makes a connection one that only the kernel's TCP can carry.
struct PinningOption {
  int level;
  int name;
  Reason reason;
  // Whether setting it to zero leaves the socket as it was.
  bool is_switch;
};

constexpr PinningOption kPinningOptions[] = {
    {IPPROTO_TCP, TCP_ULP, Reason::tcp_ulp, false},
    {IPPROTO_TCP, TCP_REPAIR, Reason::tcp_repair, true},
    {SOL_SOCKET, SO_ZEROCOPY, Reason::zerocopy, true},
    {SOL_SOCKET, SO_OOBINLINE, Reason::out_of_band, true},
    {SOL_SOCKET, SO_BINDTODEVICE, Reason::bound_to_device, false},
    {SOL_SOCKET, SO_BINDTOIFINDEX, Reason::bound_to_device, true},
    {SOL_SOCKET, SO_MARK, Reason::marked, true},
    {IPPROTO_IP, IP_TRANSPARENT, Reason::transparent, true},
    {IPPROTO_IPV6, IPV6_TRANSPARENT, Reason::transparent, true},
    {IPPROTO_IP, IP_IPSEC_POLICY, Reason::ipsec_policy, false},
    {IPPROTO_IP, IP_XFRM_POLICY, Reason::ipsec_policy, false},
    {IPPROTO_IPV6, IPV6_IPSEC_POLICY, Reason::ipsec_policy, false},
    {IPPROTO_IPV6, IPV6_XFRM_POLICY, Reason::ipsec_policy, false},
};

bool is_zero(const void* value, unsigned int length) {
  int number = 0;
  if (value == nullptr) return true;
  std::memcpy(&number, value, length < sizeof(number) ? length : sizeof(number));
  return number == 0;
}

// A general reason, which any reason of the socket's own replaces.
bool is_general(Reason reason) {
  return reason == Reason::none || reason == Reason::no_transport || reason == Reason::disabled ||
         reason == Reason::io_uring;
}

Reason general_reason() {
  const config::Config& settings = config::config();
  if (settings.transport == config::Transport::tcp ||
      settings.upgrade == config::UpgradePolicy::off) {
    return Reason::disabled;
  }
  return uses_io_uring.load(std::memory_order_relaxed) ? Reason::io_uring : Reason::no_transport;
}

// Changes the reason from `expected`; false when it has changed meanwhile.
bool set_reason(const SocketRef& socket, Reason expected, Reason reason) {
  if (!socket.row().reason.compare_exchange_strong(expected, reason, std::memory_order_relaxed)) {
    return false;
  }
  stats::publisher().count(reason);
  return true;
}

}  // namespace

void pin(const SocketRef& socket, Reason reason) noexcept {
  Reason current = socket.row().reason.load(std::memory_order_relaxed);
  while (is_general(current) && !set_reason(socket, current, reason)) {
    current = socket.row().reason.load(std::memory_order_relaxed);
  }
}

Reason reason_of_option(int level, int name, const void* value, unsigned int length) noexcept {
  for (const PinningOption& option : kPinningOptions) {
    if (option.level != level || option.name != name) continue;
    return option.is_switch && is_zero(value, length) ? Reason::none : option.reason;
  }
  return Reason::none;
}

void settle_on_tcp(const SocketRef& socket) noexcept {
  static_cast<void>(set_reason(socket, Reason::none, general_reason()));
}

void note_io_uring() noexcept { uses_io_uring.store(true, std::memory_order_relaxed); }

}  // namespace rsock::socket
