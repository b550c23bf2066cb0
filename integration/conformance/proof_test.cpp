// What rsock-stat says of the tested connection, in the modes where there is something to say.
#include <unistd.h>

#include "integration/conformance/harness.h"
#include "integration/conformance/modes.h"
#include "integration/conformance/rsock_stat.h"

using namespace rsock::conformance;

namespace {

std::string text_of(const Address& address) {
  const std::string host = address.storage.ss_family == AF_INET ? "127.0.0.1" : "[::1]";
  return host + ":" + std::to_string(port_of(address));
}

void check_statistics(pid_t pid, int fd, std::uint64_t sent, std::uint64_t received) {
  const auto connection = connection_statistics(pid, fd);
  REQUIRE(connection.is_object());
  CHECK(connection["path"] == "tcp");
  CHECK(connection["tx_tcp_bytes"] == sent);
  CHECK(connection["rx_tcp_bytes"] == received);
}

}  // namespace

CONFORMANCE_CASE(
    "proof: each end runs with the library as the mode says, and its bytes are counted") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  CHECK(library_is_mapped(getpid()) == mode().local_is_preloaded);
  // The peer has answered, so it has started for good.
  CHECK(library_is_mapped(connection.peer().pid()) == mode().peer_is_preloaded);

  send_all(connection.fd(), pattern(1, 0, 1000));
  CHECK(connection.remote_receives(1000) == pattern(1, 0, 1000));
  connection.remote_sends("seven b");
  CHECK(receive_all(connection.fd(), 7) == "seven b");

  if (mode().local_is_preloaded) {
    check_statistics(getpid(), connection.fd(), 1000, 7);
    const auto shown = connection_statistics(getpid(), connection.fd());
    CHECK(shown["local"] == text_of(local_address(connection.fd())));
    CHECK(shown["peer"] == text_of(peer_address(connection.fd())));
    CHECK(shown["role"] == (role == Role::client ? "client" : "server"));
  }
  if (mode().peer_is_preloaded) {
    check_statistics(connection.peer().pid(), connection.remote(), 7, 1000);
  }
}
