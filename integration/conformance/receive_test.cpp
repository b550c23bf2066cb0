// Every call that takes bytes out of a connection.
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <array>
#include <vector>

#include "integration/conformance/harness.h"
#include "integration/conformance/libc_aliases.h"

using namespace rsock::conformance;

namespace {

// A call that receives up to `count` bytes of `fd` into `buffer`.
struct ReceiveCall {
  const char* name;
  ssize_t (*call)(int fd, char* buffer, size_t count);
};

template <typename Call>
ssize_t with_vector(char* buffer, size_t count, Call call) {
  // The first part is empty and the second is one byte, so a call that fills only the first shows.
  std::array<iovec, 3> parts{{{buffer, 0}, {buffer, 1}, {buffer + 1, count - 1}}};
  return call(parts.data(), static_cast<int>(parts.size()));
}

const ReceiveCall kReceiveCalls[] = {
    {"read", [](int fd, char* buffer, size_t count) { return read(fd, buffer, count); }},
    {"__read", [](int fd, char* buffer, size_t count) { return __read(fd, buffer, count); }},
    {"__read_chk",
     [](int fd, char* buffer, size_t count) { return __read_chk(fd, buffer, count, count); }},
    {"recv", [](int fd, char* buffer, size_t count) { return recv(fd, buffer, count, 0); }},
    {"__recv", [](int fd, char* buffer, size_t count) { return __recv(fd, buffer, count, 0); }},
    {"__recv_chk",
     [](int fd, char* buffer, size_t count) { return __recv_chk(fd, buffer, count, count, 0); }},
    {"recvfrom", [](int fd, char* buffer,
                    size_t count) { return recvfrom(fd, buffer, count, 0, nullptr, nullptr); }},
    {"__recvfrom_chk",
     [](int fd, char* buffer, size_t count) {
       return __recvfrom_chk(fd, buffer, count, count, 0, nullptr, nullptr);
     }},
    {"readv",
     [](int fd, char* buffer, size_t count) {
       return with_vector(buffer, count,
                          [fd](iovec* parts, int number) { return readv(fd, parts, number); });
     }},
    {"preadv2",
     [](int fd, char* buffer, size_t count) {
       return with_vector(buffer, count, [fd](iovec* parts, int number) {
         return preadv2(fd, parts, number, -1, 0);
       });
     }},
    {"preadv64v2",
     [](int fd, char* buffer, size_t count) {
       return with_vector(buffer, count, [fd](iovec* parts, int number) {
         return preadv64v2(fd, parts, number, -1, 0);
       });
     }},
    {"recvmsg",
     [](int fd, char* buffer, size_t count) {
       return with_vector(buffer, count, [fd](iovec* parts, int number) {
         msghdr message{};
         message.msg_iov = parts;
         message.msg_iovlen = static_cast<size_t>(number);
         return recvmsg(fd, &message, 0);
       });
     }},
    {"recvmmsg",
     [](int fd, char* buffer, size_t count) {
       return with_vector(buffer, count, [fd](iovec* parts, int number) {
         mmsghdr message{};
         message.msg_hdr.msg_iov = parts;
         message.msg_hdr.msg_iovlen = static_cast<size_t>(number);
         const int got = recvmmsg(fd, &message, 1, 0, nullptr);
         return got == 1 ? static_cast<ssize_t>(message.msg_len) : -1;
       });
     }},
};

}  // namespace

CONFORMANCE_CASE("receive: every call gets the bytes, in order, and leaves errno alone") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  for (const ReceiveCall& one : kReceiveCalls) {
    INFO(one.name);
    connection.remote_sends("0123456789");
    std::string got(10, '\0');
    REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
    CHECK_RETURNS(one.call(connection.fd(), got.data(), 4), 4);
    CHECK_RETURNS(one.call(connection.fd(), got.data() + 4, 6), 6);
    CHECK(got == "0123456789");
  }
}

CONFORMANCE_CASE("receive: every call returns less than asked when less is there") {
  Connection connection(TestType::family);
  for (const ReceiveCall& one : kReceiveCalls) {
    INFO(one.name);
    connection.remote_sends("abc");
    std::string got(100, '\0');
    CHECK_RETURNS(one.call(connection.fd(), got.data(), 100), 3);
    CHECK(got.substr(0, 3) == "abc");
  }
}

CONFORMANCE_CASE("receive: every call on a non-blocking socket without data fails with EAGAIN") {
  Connection connection(TestType::family);
  set_nonblocking(connection.fd());
  char buffer[8];
  for (const ReceiveCall& one : kReceiveCalls) {
    INFO(one.name);
    CHECK_FAILS(one.call(connection.fd(), buffer, sizeof(buffer)), EAGAIN);
  }
}

CONFORMANCE_CASE("receive: every call returns zero at the end of the stream, again and again") {
  Connection connection(TestType::family);
  connection.remote_shuts_down_writing();
  char buffer[8];
  for (int turn = 0; turn < 2; ++turn) {
    for (const ReceiveCall& one : kReceiveCalls) {
      INFO(one.name);
      CHECK_RETURNS(one.call(connection.fd(), buffer, sizeof(buffer)), 0);
    }
  }
}

CONFORMANCE_CASE("receive: every call fails with EBADF on no descriptor") {
  char buffer[8];
  for (const ReceiveCall& one : kReceiveCalls) {
    INFO(one.name);
    CHECK_FAILS(one.call(-1, buffer, sizeof(buffer)), EBADF);
  }
}

CONFORMANCE_CASE("receive: every call fails with ENOTCONN before the connection") {
  const Fd fd = tcp_socket(TestType::family);
  char buffer[8];
  for (const ReceiveCall& one : kReceiveCalls) {
    INFO(one.name);
    CHECK_FAILS(one.call(fd, buffer, sizeof(buffer)), ENOTCONN);
  }
}

CONFORMANCE_CASE("receive: a reset is reported once, then the stream has ended") {
  Connection connection(TestType::family);
  connection.remote_resets();
  REQUIRE(wait_for(connection.fd(), POLLIN) != 0);
  char buffer[8];
  CHECK_FAILS(recv(connection.fd(), buffer, sizeof(buffer), 0), ECONNRESET);
  CHECK_RETURNS(recv(connection.fd(), buffer, sizeof(buffer), 0), 0);
}

CONFORMANCE_CASE("receive: what had arrived before a reset is still there, then ECONNRESET") {
  Connection connection(TestType::family);
  connection.remote_sends("here");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  connection.remote_resets();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLRDHUP) != 0);
  char buffer[8];
  CHECK_RETURNS(recv(connection.fd(), buffer, sizeof(buffer), 0), 4);
  CHECK_FAILS(recv(connection.fd(), buffer, sizeof(buffer), 0), ECONNRESET);
}

CONFORMANCE_CASE("receive: zero bytes asked are zero bytes got, without waiting") {
  Connection connection(TestType::family);
  char byte;
  CHECK_RETURNS(read(connection.fd(), &byte, 0), 0);
  connection.remote_sends("x");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  CHECK_RETURNS(recv(connection.fd(), &byte, 0, 0), 0);
  CHECK_RETURNS(recv(connection.fd(), &byte, 1, 0), 1);
}

CONFORMANCE_CASE("receive: a bad buffer fails with EFAULT and loses nothing") {
  Connection connection(TestType::family);
  connection.remote_sends("kept");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  CHECK_FAILS(syscall(SYS_read, connection.fd(), 8L, 4L), EFAULT);
  CHECK(receive_all(connection.fd(), 4) == "kept");
}

CONFORMANCE_CASE("receive: too many parts fail with EINVAL, or EMSGSIZE in a message") {
  Connection connection(TestType::family);
  connection.remote_sends("x");
  char byte;
  std::vector<iovec> parts(IOV_MAX + 1, iovec{&byte, 1});
  CHECK_FAILS(readv(connection.fd(), parts.data(), IOV_MAX + 1), EINVAL);
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  CHECK_FAILS(recvmsg(connection.fd(), &message, 0), EMSGSIZE);
}

CONFORMANCE_CASE("receive: as many parts as allowed are filled") {
  Connection connection(TestType::family);
  connection.remote_sends(pattern(3, 0, IOV_MAX));
  std::string got(IOV_MAX, '\0');
  std::vector<iovec> parts;
  for (char& byte : got) parts.push_back({&byte, 1});
  int filled = 0;
  while (filled < IOV_MAX) {
    const ssize_t now = readv(connection.fd(), parts.data() + filled, IOV_MAX - filled);
    REQUIRE(now > 0);
    filled += static_cast<int>(now);
  }
  CHECK(got == pattern(3, 0, IOV_MAX));
}

CONFORMANCE_CASE("receive: an offset is refused, since a socket has none") {
  Connection connection(TestType::family);
  connection.remote_sends("x");
  char byte;
  iovec part{&byte, 1};
  CHECK_FAILS(preadv2(connection.fd(), &part, 1, 0, 0), ESPIPE);
  CHECK_FAILS(pread(connection.fd(), &byte, 1, 0), ESPIPE);
}

CONFORMANCE_CASE("receive: no address comes with the bytes of a connection") {
  Connection connection(TestType::family);
  connection.remote_sends("ab");
  sockaddr_storage address{};
  address.ss_family = 77;
  socklen_t length = sizeof(address);
  char byte;
  CHECK(recvfrom(connection.fd(), &byte, 1, 0, reinterpret_cast<sockaddr*>(&address), &length) ==
        1);
  CHECK(length == 0);
  msghdr message{};
  iovec part{&byte, 1};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_name = &address;
  message.msg_namelen = sizeof(address);
  message.msg_flags = 0x7f;
  CHECK(recvmsg(connection.fd(), &message, 0) == 1);
  CHECK(message.msg_namelen == 0);
  CHECK(message.msg_flags == 0);
}

CONFORMANCE_CASE("receive: recvmmsg takes several messages, and stops where nothing is left") {
  Connection connection(TestType::family);
  connection.remote_sends("abcdef");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  char buffers[4][2];
  std::array<iovec, 4> parts{};
  std::array<mmsghdr, 4> messages{};
  for (std::size_t index = 0; index < 4; ++index) {
    parts[index] = {buffers[index], 2};
    messages[index].msg_hdr.msg_iov = &parts[index];
    messages[index].msg_hdr.msg_iovlen = 1;
  }
  CHECK_RETURNS(recvmmsg(connection.fd(), messages.data(), 4, MSG_DONTWAIT, nullptr), 3);
  CHECK(messages[0].msg_len == 2);
  CHECK(messages[2].msg_len == 2);
  CHECK(std::string(buffers[0], 6) == "abcdef");
  CHECK_FAILS(recvmmsg(connection.fd(), messages.data(), 4, MSG_DONTWAIT, nullptr), EAGAIN);
}

CONFORMANCE_CASE("receive: a blocked call gets what comes later") {
  Connection connection(TestType::family);
  connection.peer().start_send_later(connection.remote(), "late", 20);
  char buffer[8];
  CHECK(read(connection.fd(), buffer, sizeof(buffer)) == 4);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("receive: SO_RCVTIMEO ends a wait with EAGAIN") {
  Connection connection(TestType::family);
  const timeval soon{0, 20'000};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) == 0);
  char byte;
  CHECK_FAILS(recv(connection.fd(), &byte, 1, 0), EAGAIN);
  CHECK_FAILS(read(connection.fd(), &byte, 1), EAGAIN);
  connection.remote_sends("x");
  CHECK(recv(connection.fd(), &byte, 1, MSG_WAITALL) == 1);
}

CONFORMANCE_CASE("receive: SO_RCVLOWAT holds back a wait until enough is there") {
  Connection connection(TestType::family);
  const int low = 5;
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)) == 0);
  connection.remote_sends("abc");
  CHECK(wait_for(connection.fd(), POLLIN, kNotNowMs) == 0);
  connection.remote_sends("de");
  CHECK(wait_for(connection.fd(), POLLIN) == POLLIN);
  char buffer[8];
  CHECK(recv(connection.fd(), buffer, sizeof(buffer), 0) == 5);
}

CONFORMANCE_CASE("receive: FIONREAD says how many bytes wait") {
  Connection connection(TestType::family);
  int count = -1;
  CHECK_RETURNS(ioctl(connection.fd(), FIONREAD, &count), 0);
  CHECK(count == 0);
  connection.remote_sends("12345");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  CHECK(ioctl(connection.fd(), FIONREAD, &count) == 0);
  CHECK(count == 5);
  char byte;
  CHECK(read(connection.fd(), &byte, 1) == 1);
  CHECK(ioctl(connection.fd(), FIONREAD, &count) == 0);
  CHECK(count == 4);
}
