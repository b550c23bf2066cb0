// SCM_RIGHTS: sockets that go to other processes, come from them, or get a second number.
#include <fcntl.h>
#include <sys/uio.h>

#include <cstring>
#include <vector>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

constexpr std::size_t kMostDescriptors = 8;

struct Channel {
  Fd sender;
  Fd receiver;
};

Channel make_channel(int type = SOCK_STREAM) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

// A message of one byte with room for descriptors.
struct Message {
  explicit Message(std::size_t room = kMostDescriptors) {
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(room * sizeof(int));
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void put(const std::vector<int>& fds) {
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(item), fds.data(), fds.size() * sizeof(int));
  }

  std::vector<Fd> take() {
    std::vector<Fd> fds;
    for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr;
         item = CMSG_NXTHDR(&header, item)) {
      REQUIRE(item->cmsg_type == SCM_RIGHTS);
      const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t index = 0; index < count; ++index) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(item) + index * sizeof(int), sizeof(int));
        fds.emplace_back(fd);
      }
    }
    return fds;
  }

  char byte = 'm';
  iovec vector{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr header{};
};

std::vector<Fd> pass(const std::vector<int>& fds, int flags = 0) {
  const Channel channel = make_channel();
  Message sent;
  sent.put(fds);
  CHECK_RETURNS(sendmsg(channel.sender, &sent.header, 0), 1);
  Message received;
  CHECK_RETURNS(recvmsg(channel.receiver, &received.header, flags), 1);
  CHECK((received.header.msg_flags & MSG_CTRUNC) == 0);
  return received.take();
}

}  // namespace

CONFORMANCE_CASE("passing: a connection passed within the process is the same stream") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const std::vector<Fd> passed = pass({connection.fd()});
  REQUIRE(passed.size() == 1);
  CHECK(passed[0] != connection.fd());
  check_exchange(connection, passed[0]);
  connection.local().reset();
  check_exchange(connection, passed[0]);
}

CONFORMANCE_CASE("passing: a passed connection ends with its last descriptor") {
  Connection connection(TestType::family);
  std::vector<Fd> passed = pass({connection.fd()});
  connection.local().reset();
  CHECK(remote_sees_no_end(connection));
  passed.clear();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("passing: a connection is open while only a message holds it") {
  Connection connection(TestType::family);
  const Channel channel = make_channel();
  Message sent;
  sent.put({connection.fd()});
  REQUIRE(sendmsg(channel.sender, &sent.header, 0) == 1);
  connection.local().reset();
  CHECK(remote_sees_no_end(connection));
  // Its number may be used again before it comes out.
  const LocalPair pair = local_pair(TestType::family);
  Message received;
  REQUIRE(recvmsg(channel.receiver, &received.header, 0) == 1);
  std::vector<Fd> fds = received.take();
  REQUIRE(fds.size() == 1);
  check_exchange(connection, fds[0]);
  check_exchange(pair.client, pair.server);
  fds.clear();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("passing: a message that is never read ends the connection as it is thrown away") {
  Connection connection(TestType::family);
  Channel channel = make_channel();
  Message sent;
  sent.put({connection.fd()});
  REQUIRE(sendmsg(channel.sender, &sent.header, 0) == 1);
  connection.local().reset();
  CHECK(remote_sees_no_end(connection));
  channel.sender.reset();
  channel.receiver.reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("passing: several descriptors of different kinds come in order") {
  Connection one(TestType::family);
  Connection two(TestType::family, Role::server);
  const Fd listener = listening_socket(TestType::family);
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::vector<Fd> passed = pass({two.fd(), null, listener, one.fd(), two.fd()});
  REQUIRE(passed.size() == 5);
  check_exchange(two, passed[0]);
  CHECK_RETURNS(write(passed[1], "xyz", 3), 3);
  CHECK(port_of(passed[2]) == port_of(listener));
  check_exchange(one, passed[3]);
  check_exchange(two, passed[4]);
}

CONFORMANCE_CASE("passing: MSG_CMSG_CLOEXEC sets FD_CLOEXEC, else it is not set") {
  Connection connection(TestType::family);
  const int flags = GENERATE(0, static_cast<int>(MSG_CMSG_CLOEXEC));
  const std::vector<Fd> passed = pass({connection.fd()}, flags);
  REQUIRE(passed.size() == 1);
  CHECK(fcntl(passed[0], F_GETFD) == (flags == 0 ? 0 : FD_CLOEXEC));
  check_exchange(connection, passed[0]);
}

CONFORMANCE_CASE("passing: without room for all, MSG_CTRUNC is set and the rest is closed") {
  Connection first(TestType::family);
  Connection second(TestType::family);
  const Channel channel = make_channel();
  Message sent;
  sent.put({first.fd(), second.fd(), second.fd()});
  REQUIRE(sendmsg(channel.sender, &sent.header, 0) == 1);
  const int before = open_descriptors();
  Message received(1);
  received.header.msg_controllen = CMSG_LEN(sizeof(int));
  CHECK_RETURNS(recvmsg(channel.receiver, &received.header, 0), 1);
  CHECK((received.header.msg_flags & MSG_CTRUNC) != 0);
  const std::vector<Fd> fds = received.take();
  REQUIRE(fds.size() == 1);
  CHECK(open_descriptors() == before + 1);
  check_exchange(first, fds[0]);
  second.local().reset();
  CHECK(remote_sees_end(second));
}

CONFORMANCE_CASE("passing: without a control buffer the descriptors are lost") {
  Connection connection(TestType::family);
  const Channel channel = make_channel();
  Message sent;
  sent.put({connection.fd()});
  REQUIRE(sendmsg(channel.sender, &sent.header, 0) == 1);
  const int before = open_descriptors();
  char byte = 0;
  CHECK_RETURNS(read(channel.receiver, &byte, 1), 1);
  CHECK(open_descriptors() == before);
  connection.local().reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("passing: recvmmsg takes connections from several messages") {
  Connection one(TestType::family);
  Connection two(TestType::family);
  const Channel channel = make_channel(SOCK_DGRAM);
  for (const int fd : {one.fd(), two.fd()}) {
    Message sent;
    sent.put({fd});
    REQUIRE(sendmsg(channel.sender, &sent.header, 0) == 1);
  }
  Message received[2];
  mmsghdr headers[2] = {};
  for (int index = 0; index < 2; ++index) headers[index].msg_hdr = received[index].header;
  CHECK_RETURNS(recvmmsg(channel.receiver, headers, 2, 0, nullptr), 2);
  std::vector<Fd> fds[2];
  for (int index = 0; index < 2; ++index) {
    received[index].header = headers[index].msg_hdr;
    fds[index] = received[index].take();
    REQUIRE(fds[index].size() == 1);
  }
  one.local().reset();
  two.local().reset();
  check_exchange(one, fds[0][0]);
  check_exchange(two, fds[1][0]);
}

CONFORMANCE_CASE("passing: MSG_PEEK gives descriptors that are good each time") {
  Connection connection(TestType::family);
  const Channel channel = make_channel();
  Message sent;
  sent.put({connection.fd()});
  REQUIRE(sendmsg(channel.sender, &sent.header, 0) == 1);
  Message peeked;
  CHECK_RETURNS(recvmsg(channel.receiver, &peeked.header, MSG_PEEK), 1);
  const std::vector<Fd> first = peeked.take();
  Message received;
  CHECK_RETURNS(recvmsg(channel.receiver, &received.header, 0), 1);
  const std::vector<Fd> second = received.take();
  REQUIRE((first.size() == 1 && second.size() == 1));
  check_exchange(connection, first[0]);
  check_exchange(connection, second[0]);
}

CONFORMANCE_CASE("passing: a bad descriptor is EBADF and the connection works") {
  Connection connection(TestType::family);
  const Channel channel = make_channel();
  Message sent;
  sent.put({connection.fd(), 340});
  CHECK_FAILS(sendmsg(channel.sender, &sent.header, 0), EBADF);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("passing: a connection given to another process works in both") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  Peer other;
  const int theirs = other.give_descriptor(connection.fd());
  CHECK(other.send(theirs, "theirs").result == 6);
  send_all(connection.fd(), "ours");
  CHECK(connection.remote_receives(10) == "theirsours");
  connection.remote_sends("abcdef");
  CHECK(receive_all(connection.fd(), 3) == "abc");
  CHECK(other.receive_all(theirs, 3) == "def");
}

CONFORMANCE_CASE("passing: a connection given away lives in the other process alone") {
  Connection connection(TestType::family);
  Peer other;
  const int theirs = other.give_descriptor(connection.fd());
  connection.local().reset();
  CHECK(remote_sees_no_end(connection));
  connection.remote_sends("hello");
  CHECK(other.receive_all(theirs, 5) == "hello");
  CHECK(other.send(theirs, "there").result == 5);
  CHECK(connection.remote_receives(5) == "there");
  other.kill_now();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("passing: a listener given to another process accepts there") {
  Fd listener = listening_socket(TestType::family);
  const Address address = local_address(listener);
  Peer other;
  const int theirs = other.give_descriptor(listener);
  listener.reset();
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  const int accepted = other.accept(theirs);
  CHECK(other.send(accepted, "accepted").result == 8);
  CHECK(receive_all(client, 8) == "accepted");
}

CONFORMANCE_CASE("passing: a connection taken from another process works here") {
  const Fd listener = listening_socket(TestType::family);
  Peer other;
  const int theirs = other.connect(TestType::family, port_of(listener));
  const Fd server(accept(listener, nullptr, nullptr));
  Fd taken(other.take_descriptor(theirs));
  REQUIRE(taken >= 0);
  check_exchange(taken, server);
  other.close(theirs);
  check_exchange(taken, server);
  taken.reset();
  CHECK(receive_all(server, 1).empty());
}

CONFORMANCE_CASE("passing: a listener taken from another process accepts here") {
  Peer other;
  std::uint16_t port = 0;
  const int theirs = other.listen(TestType::family, port);
  const Fd listener(other.take_descriptor(theirs));
  other.close(theirs);
  const Fd client = tcp_socket(TestType::family);
  const Address address = loopback(TestType::family, port);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  const Fd server(accept(listener, nullptr, nullptr));
  REQUIRE(server >= 0);
  check_exchange(client, server);
}

CONFORMANCE_CASE("passing: a descriptor taken at the number of a closed connection") {
  Connection connection(TestType::family);
  Connection other(TestType::family);
  close(connection.local().release());
  const Fd taken(other.peer().take_descriptor(other.remote()));
  REQUIRE(taken >= 0);
  // Both ends are here now.
  check_exchange(taken, other.fd());
  CHECK(remote_sees_end(connection));
}
