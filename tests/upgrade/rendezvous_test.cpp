#include "core/upgrade/rendezvous.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <utility>

#include "core/link/shm/shm_link.h"
#include "tests/upgrade/tcp_pair.h"

using namespace rsock;
using namespace rsock::upgrade;
using link::shm::ShmLink;
using os::UniqueFd;

TEST_CASE("a client finds who listens for a port, and each learns who the other is") {
  const testing::TcpPair tcp;  // For a port that nobody else has.
  CHECK(connect_at_rendezvous(tcp.port).error() == -ECONNREFUSED);
  Result<UniqueFd> listener = listen_at_rendezvous(tcp.port);
  REQUIRE(listener.ok());
  CHECK(accept_at_rendezvous(listener.value().get()).error() == -EAGAIN);
  CHECK(listen_at_rendezvous(tcp.port).error() == -EADDRINUSE);

  Result<UniqueFd> client = connect_at_rendezvous(tcp.port);
  REQUIRE(client.ok());
  Result<UniqueFd> server = accept_at_rendezvous(listener.value().get());
  REQUIRE(server.ok());
  CHECK(owner_of_peer(client.value().get()).value() == getuid());
  CHECK(owner_of_peer(server.value().get()).value() == getuid());

  // What they do then: greet each other.
  Result<std::unique_ptr<ShmLink>> connecting = ShmLink::connect(std::move(client).value());
  Result<std::unique_ptr<ShmLink>> accepting = ShmLink::accept(std::move(server).value());
  REQUIRE(connecting.ok());
  REQUIRE(accepting.ok());
  CHECK(accepting.value()->receive().error() == -EAGAIN);
  CHECK(connecting.value()->receive().error() == -EAGAIN);
  CHECK(connecting.value()->state() == ShmLink::State::established);
  CHECK(accepting.value()->state() == ShmLink::State::established);
}

TEST_CASE("the name vanishes with its owner") {
  const testing::TcpPair tcp;
  { REQUIRE(listen_at_rendezvous(tcp.port).ok()); }
  CHECK(connect_at_rendezvous(tcp.port).error() == -ECONNREFUSED);
  CHECK(listen_at_rendezvous(tcp.port).ok());
}

TEST_CASE("who is too busy to answer is not waited for") {
  const testing::TcpPair tcp;
  const Result<UniqueFd> listener = listen_at_rendezvous(tcp.port);
  REQUIRE(listener.ok());
  std::vector<UniqueFd> clients;
  int error = 0;
  for (int count = 0; count < 1000 && error == 0; ++count) {
    Result<UniqueFd> client = connect_at_rendezvous(tcp.port);
    error = client.error();
    if (client.ok()) clients.push_back(std::move(client).value());
  }
  CHECK(error == -EAGAIN);
}
