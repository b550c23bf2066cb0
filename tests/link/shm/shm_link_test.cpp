#include "core/link/shm/shm_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <utility>

#include "tests/os/failing_call.h"

using namespace rsock;
using namespace rsock::link::shm;
using os::UniqueFd;

namespace {

std::size_t open_fds() {
  std::size_t count = 0;
  for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

std::pair<UniqueFd, UniqueFd> sockets() {
  int fds[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Two ends of a link that have greeted each other.
struct Links {
  Links() {
    auto [one, other] = sockets();
    Result<std::unique_ptr<ShmLink>> connecting = ShmLink::connect(std::move(one));
    Result<std::unique_ptr<ShmLink>> accepting = ShmLink::accept(std::move(other));
    REQUIRE(connecting.ok());
    REQUIRE(accepting.ok());
    client = std::move(connecting).value();
    server = std::move(accepting).value();
    CHECK(client->receive().error() == -EAGAIN);
    CHECK(client->state() == ShmLink::State::greeting);
    CHECK(server->receive().error() == -EAGAIN);
    CHECK(client->receive().error() == -EAGAIN);
  }

  std::unique_ptr<ShmLink> client;
  std::unique_ptr<ShmLink> server;
};

}  // namespace

TEST_CASE("two processes greet each other and share their segments") {
  Links links;
  REQUIRE(links.client->state() == ShmLink::State::established);
  REQUIRE(links.server->state() == ShmLink::State::established);
  CHECK(links.client->peer_process_id() == static_cast<std::uint32_t>(getpid()));
  CHECK(links.server->peer_process_id() == static_cast<std::uint32_t>(getpid()));
  links.client->segments().theirs.block(3).sender.tail = 77;
  CHECK(links.server->segments().mine.block(3).sender.tail == 77);
  links.server->segments().theirs.block(4).receiver.head = 78;
  CHECK(links.client->segments().mine.block(4).receiver.head == 78);
  REQUIRE(may_sleep(links.server->segments().mine.mailbox()));
  links.server->segments().theirs.block(0).receiver.arrival_interest = wire::kTellMailbox;
  tell(links.client->segments().mine.block(0).receiver.arrival_interest, links.client->segments(),
       9);
  char ring = 0;
  CHECK(recv(links.server->bell_fd(), &ring, 1, MSG_DONTWAIT) == 1);
}

TEST_CASE("messages about streams arrive in order") {
  Links links;
  wire::Open open;
  open.stream = links.client->take_index();
  open.inode = 5;
  REQUIRE(links.client->send(open).ok());
  Result<wire::Message> message = links.server->receive();
  REQUIRE(message.ok());
  REQUIRE(std::holds_alternative<wire::Open>(message.value()));
  CHECK(std::get<wire::Open>(message.value()).inode == 5);
  wire::Accept accept;
  accept.stream = open.stream;
  accept.own_stream = links.server->take_index();
  REQUIRE(links.server->send(accept).ok());
  message = links.client->receive();
  REQUIRE(message.ok());
  CHECK(std::holds_alternative<wire::Accept>(message.value()));
}

TEST_CASE("a stream's index is used again when both ends are through with it") {
  Links links;
  const std::uint32_t client_index = links.client->take_index();
  const std::uint32_t server_index = links.server->take_index();
  links.client->segments().mine.block(client_index).sender.tail = 9;
  REQUIRE(links.client->close_stream(client_index, server_index).ok());
  CHECK(links.client->take_index() == client_index + 1);
  REQUIRE(std::holds_alternative<wire::Closed>(links.server->receive().value()));
  CHECK(links.server->take_index() == server_index + 1);
  REQUIRE(links.server->close_stream(server_index, client_index).ok());
  CHECK(links.server->take_index() == server_index);
  REQUIRE(links.client->receive().ok());
  CHECK(links.client->take_index() == client_index);
  CHECK(links.client->segments().mine.block(client_index).sender.tail == 0);
}

TEST_CASE("the end of the other process is the end of the link") {
  Links links;
  links.server.reset();
  CHECK(links.client->receive().error() == -ECONNRESET);
  CHECK(links.client->state() == ShmLink::State::lost);
  Links others;
  others.server.reset();
  CHECK(others.client->send(wire::Closed()).error() == -EPIPE);
  CHECK(others.client->state() == ShmLink::State::lost);
}

TEST_CASE("whoever does not keep to the protocol loses the link, and nothing is left") {
  const std::size_t before = open_fds();
  {
    auto [ours, theirs] = sockets();
    std::unique_ptr<ShmLink> link = std::move(ShmLink::accept(std::move(ours))).value();
    ControlChannel liar(std::move(theirs));
    const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    SECTION("a message before the greeting") { REQUIRE(liar.send(wire::Open()).ok()); }
    SECTION("a greeting without descriptors") { REQUIRE(liar.send(wire::Hello()).ok()); }
    SECTION("a greeting with something else than a segment") {
      const int fds[] = {null.get(), null.get()};
      REQUIRE(liar.send(wire::Hello(), fds).ok());
    }
    SECTION("a greeting with a bell that is no socket") {
      const Segment segment = std::move(Segment::create()).value();
      const int fds[] = {segment.fd(), null.get()};
      REQUIRE(liar.send(wire::Hello(), fds).ok());
    }
    SECTION("garbage") { REQUIRE(send(liar.fd(), "garbage", 7, 0) == 7); }
    CHECK(link->receive().error() == -EPROTO);
    CHECK(link->state() == ShmLink::State::lost);
    CHECK(link->receive().error() == -ECONNRESET);
  }
  CHECK(open_fds() == before);
}

TEST_CASE("a stream that is not there can't be closed, and nobody greets twice") {
  Links links;
  wire::Closed closed;
  closed.stream = 17;
  SECTION("closed") { REQUIRE(links.client->send(closed).ok()); }
  SECTION("greeted") { REQUIRE(links.client->send(wire::Hello()).ok()); }
  CHECK(links.server->receive().error() == -EPROTO);
}

TEST_CASE("descriptors that nobody asked for are closed") {
  Links links;
  const std::size_t before = open_fds();
  auto [ours, theirs] = sockets();
  ControlChannel sender(std::move(ours));
  ControlChannel receiver(std::move(theirs));
  const int fds[] = {sender.fd(), sender.fd()};
  REQUIRE(sender.send(wire::Closed(), fds).ok());
  { REQUIRE(receiver.receive().ok()); }
  CHECK(open_fds() == before + 2);
}

TEST_CASE("a channel that nobody reads says so") {
  auto [ours, theirs] = sockets();
  ControlChannel channel(std::move(ours));
  Result<void> result;
  for (int count = 0; result.ok() && count < 100'000; ++count) result = channel.send(wire::Open());
  CHECK(result.error() == -EAGAIN);
}

TEST_CASE("whichever call of a greeting fails, there is an error and nothing is left") {
  const std::size_t before = open_fds();
  const auto error_of_connect = [] {
    auto [one, other] = sockets();
    return ShmLink::connect(std::move(one)).error();
  };
  {
    const testing::FailingCall<&os::Syscalls::socketpair> failing(1, EMFILE);
    CHECK(error_of_connect() == -EMFILE);
  }
  {
    const testing::FailingCall<&os::Syscalls::sendmsg> failing(1, ENOBUFS);
    CHECK(error_of_connect() == -ENOBUFS);
  }
  {
    const testing::FailingCall<&os::Syscalls::memfd_create> failing(1, ENFILE);
    CHECK(error_of_connect() == -ENFILE);
  }
  CHECK(open_fds() == before);
}
