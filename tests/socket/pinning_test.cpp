#include "core/socket/pinning.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <catch2/catch.hpp>
#include <iterator>

#include "core/config/config.h"
#include "tests/death.h"
#include "tests/socket/own_page.h"
#include "tests/socket/sockets.h"

namespace {

using namespace rsock;
using socket::reason_of_option;
using socket::SocketRef;
using socket::table;
using stats::Reason;
using stats::Role;
using testing::counted;
using testing::tcp_socket;
using testing::TestFd;

TEST_CASE("options that only the kernel's TCP can honour pin the socket") {
  const int one = 1;
  const int zero = 0;
  const struct {
    int level, name;
    Reason reason, reason_of_zero;
  } expected[] = {
      {IPPROTO_TCP, TCP_ULP, Reason::tcp_ulp, Reason::tcp_ulp},
      {IPPROTO_TCP, TCP_REPAIR, Reason::tcp_repair, Reason::none},
      {SOL_SOCKET, SO_ZEROCOPY, Reason::zerocopy, Reason::none},
      {SOL_SOCKET, SO_OOBINLINE, Reason::out_of_band, Reason::none},
      {SOL_SOCKET, SO_BINDTODEVICE, Reason::bound_to_device, Reason::bound_to_device},
      {SOL_SOCKET, SO_MARK, Reason::marked, Reason::none},
      {IPPROTO_IP, IP_TRANSPARENT, Reason::transparent, Reason::none},
      {IPPROTO_IPV6, IPV6_TRANSPARENT, Reason::transparent, Reason::none},
      {IPPROTO_IP, IP_XFRM_POLICY, Reason::ipsec_policy, Reason::ipsec_policy},
      {IPPROTO_IPV6, IPV6_XFRM_POLICY, Reason::ipsec_policy, Reason::ipsec_policy},
      {IPPROTO_TCP, TCP_NODELAY, Reason::none, Reason::none},
      {SOL_SOCKET, SO_KEEPALIVE, Reason::none, Reason::none},
      {IPPROTO_UDP, TCP_ULP, Reason::none, Reason::none},
  };
  for (const auto& option : expected) {
    INFO("level " << option.level << " name " << option.name);
    CHECK(reason_of_option(option.level, option.name, &one, sizeof(one)) == option.reason);
    CHECK(reason_of_option(option.level, option.name, &zero, sizeof(zero)) ==
          option.reason_of_zero);
  }
}

TEST_CASE("a value shorter than an int is read no further than it goes") {
  const char one_byte[] = {1};
  CHECK(reason_of_option(SOL_SOCKET, SO_MARK, one_byte, 1) == Reason::marked);
  CHECK(reason_of_option(SOL_SOCKET, SO_MARK, nullptr, 0) == Reason::none);
}

TEST_CASE("the first reason of a socket's own stays, and replaces a general one") {
  const TestFd fd = tcp_socket();
  const SocketRef ref = table().track(fd, Role::fresh);
  const auto marked_before = counted(Reason::marked);
  const auto zerocopy_before = counted(Reason::zerocopy);
  const auto general_before = counted(Reason::no_transport);
  socket::settle_on_tcp(ref);
  CHECK(ref.row().reason.load() == Reason::no_transport);
  socket::settle_on_tcp(ref);
  CHECK(counted(Reason::no_transport) == general_before + 1);
  socket::pin(ref, Reason::marked);
  socket::pin(ref, Reason::zerocopy);
  socket::settle_on_tcp(ref);
  CHECK(ref.row().reason.load() == Reason::marked);
  CHECK(counted(Reason::marked) == marked_before + 1);
  CHECK(counted(Reason::zerocopy) == zerocopy_before);
  table().forget(fd);
}

TEST_CASE("the configuration and io_uring are general reasons") {
  const testing::Death death = testing::run_in_child([] {
    const TestFd fd = tcp_socket();
    const SocketRef ref = table().track(fd, Role::fresh);
    socket::note_io_uring();
    socket::settle_on_tcp(ref);
    if (ref.row().reason.load() != Reason::io_uring) _exit(1);
    const TestFd second = tcp_socket();
    const SocketRef second_ref = table().track(second, Role::fresh);
    config::Config settings;
    settings.transport = config::Transport::tcp;
    config::set_config(settings);
    socket::settle_on_tcp(second_ref);
    if (second_ref.row().reason.load() != Reason::disabled) _exit(2);
  });
  CHECK(death.signal == 0);
  CHECK(death.exit_code == 0);
}

TEST_CASE("each reason has a name and a text") {
  STATIC_REQUIRE(std::size(stats::kReasonNames) == std::size(stats::kReasonTexts));
  for (std::size_t index = 1; index < stats::kReasonCount; ++index) {
    CHECK_FALSE(stats::kReasonTexts[index].empty());
  }
}

}  // namespace
