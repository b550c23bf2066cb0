// Control messages on a TCP connection.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>

#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

// From linux/tcp.h, which can't be included beside netinet/tcp.h.
constexpr int kTcpInq = 36;

// A message with one part and room for control messages.
struct Message {
  explicit Message(std::size_t bytes = 64, std::size_t control_bytes = 128) {
    part = {buffer, bytes};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = control_bytes;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void put(int level, int type, const void* data, std::size_t bytes) {
    header.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = level;
    first->cmsg_type = type;
    first->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(first), data, bytes);
  }
  // The first control message if it is of this type.
  [[nodiscard]] const cmsghdr* get(int level, int type) {
    const cmsghdr* first = CMSG_FIRSTHDR(&header);
    return first != nullptr && first->cmsg_level == level && first->cmsg_type == type ? first
                                                                                      : nullptr;
  }

  char buffer[64] = {};
  alignas(cmsghdr) char control[128] = {};
  iovec part{};
  msghdr header{};
};

void wait_for_bytes(int fd, int count) {
  int there = 0;
  while (there < count) {
    REQUIRE(wait_for(fd, POLLIN) == POLLIN);
    REQUIRE(ioctl(fd, FIONREAD, &there) == 0);
  }
}

}  // namespace

CONFORMANCE_CASE("ancillary: room for control messages comes back empty when there are none") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  connection.remote_sends("plain");
  Message message(5);
  CHECK_RETURNS(recvmsg(connection.fd(), &message.header, MSG_WAITALL), 5);
  CHECK(message.header.msg_controllen == 0);
  CHECK(message.header.msg_flags == 0);
}

CONFORMANCE_CASE("ancillary: TCP_INQ tells how many bytes are left") {
  Connection connection(TestType::family);
  const int on = 1;
  REQUIRE(setsockopt(connection.fd(), IPPROTO_TCP, kTcpInq, &on, sizeof(on)) == 0);
  connection.remote_sends("abcdef");
  wait_for_bytes(connection.fd(), 6);
  Message message(2);
  CHECK_RETURNS(recvmsg(connection.fd(), &message.header, 0), 2);
  const cmsghdr* told = message.get(IPPROTO_TCP, kTcpInq);
  REQUIRE(told != nullptr);
  int left = 0;
  std::memcpy(&left, CMSG_DATA(told), sizeof(left));
  CHECK(left == 4);
}

CONFORMANCE_CASE("ancillary: without room for a control message MSG_CTRUNC is set") {
  Connection connection(TestType::family);
  const int on = 1;
  REQUIRE(setsockopt(connection.fd(), IPPROTO_TCP, kTcpInq, &on, sizeof(on)) == 0);
  connection.remote_sends("ab");
  wait_for_bytes(connection.fd(), 2);
  Message message(2, 1);
  CHECK_RETURNS(recvmsg(connection.fd(), &message.header, 0), 2);
  CHECK((message.header.msg_flags & MSG_CTRUNC) != 0);
}

CONFORMANCE_CASE("ancillary: SO_TIMESTAMPNS tells when the bytes came") {
  Connection connection(TestType::family);
  const int on = 1;
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) == 0);
  // The kernel begins to take the time a moment after it was asked to: the one thing to wait for.
  timespec when{};
  for (int turn = 0; when.tv_sec == 0 && turn < kSoonMs; ++turn) {
    if (turn > 0) usleep(1000);
    connection.remote_sends("x");
    Message message;
    REQUIRE(recvmsg(connection.fd(), &message.header, 0) == 1);
    const cmsghdr* told = message.get(SOL_SOCKET, SO_TIMESTAMPNS);
    if (told != nullptr) std::memcpy(&when, CMSG_DATA(told), sizeof(when));
  }
  CHECK(when.tv_sec > 0);
}

CONFORMANCE_CASE("ancillary: an unknown control message is EINVAL and sends nothing") {
  Connection connection(TestType::family);
  const int value = 1;
  Message message(1);
  message.buffer[0] = 'n';
  message.put(SOL_SOCKET, 9999, &value, sizeof(value));
  CHECK_FAILS(sendmsg(connection.fd(), &message.header, MSG_NOSIGNAL), EINVAL);
  message.put(SOL_SOCKET, SCM_RIGHTS, &value, sizeof(value));
  CMSG_FIRSTHDR(&message.header)->cmsg_len = 1;
  CHECK_FAILS(sendmsg(connection.fd(), &message.header, MSG_NOSIGNAL), EINVAL);
  send_all(connection.fd(), "y");
  CHECK(connection.remote_receives(1) == "y");
}

CONFORMANCE_CASE("ancillary: SCM_RIGHTS over TCP sends the bytes and no descriptor") {
  const LocalPair pair = local_pair(TestType::family);
  const int passed = pair.client;
  Message message(2);
  message.buffer[0] = 'a';
  message.buffer[1] = 'b';
  message.put(SOL_SOCKET, SCM_RIGHTS, &passed, sizeof(passed));
  CHECK_RETURNS(sendmsg(pair.client, &message.header, MSG_NOSIGNAL), 2);
  Message received;
  const int before = open_descriptors();
  CHECK_RETURNS(recvmsg(pair.server, &received.header, 0), 2);
  CHECK(received.header.msg_controllen == 0);
  CHECK(open_descriptors() == before);
}
