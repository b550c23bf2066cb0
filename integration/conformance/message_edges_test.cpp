// The edges of messages: flags together, no parts, wrong parts, buffers that end too soon.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <array>

#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

void wait_for_bytes(int fd, int count) {
  int there = 0;
  while (there < count) {
    REQUIRE(wait_for(fd, POLLIN) == POLLIN);
    REQUIRE(ioctl(fd, FIONREAD, &there) == 0);
  }
}

// The same where poll() does not tell of so few.
void wait_for_low(int fd, int count) {
  for (int there = 0; there < count; usleep(1000)) REQUIRE(ioctl(fd, FIONREAD, &there) == 0);
}

// Two pages of which the second may not be touched.
class Brink {
 public:
  Brink()
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        start_(static_cast<char*>(
            mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(start_ != MAP_FAILED);
    REQUIRE(mprotect(start_ + page_, page_, PROT_NONE) == 0);
  }
  ~Brink() { munmap(start_, 2 * page_); }
  Brink(const Brink&) = delete;
  Brink& operator=(const Brink&) = delete;

  // The last `count` bytes that may be touched.
  [[nodiscard]] char* last(std::size_t count) const { return start_ + page_ - count; }

 private:
  std::size_t page_;
  char* start_;
};

msghdr message_of(iovec* parts, std::size_t count) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  return message;
}

}  // namespace

CONFORMANCE_CASE("message: MSG_PEEK with MSG_WAITALL waits for all and takes nothing") {
  Connection connection(TestType::family);
  connection.remote_sends("abc");
  wait_for_bytes(connection.fd(), 3);
  connection.peer().start_send_later(connection.remote(), "def", 20);
  char buffer[6];
  CHECK(recv(connection.fd(), buffer, 6, MSG_PEEK | MSG_WAITALL) == 6);
  CHECK(connection.peer().finish().error == 0);
  CHECK(std::string(buffer, 6) == "abcdef");
  CHECK(receive_all(connection.fd(), 6) == "abcdef");
}

CONFORMANCE_CASE("message: MSG_PEEK with MSG_TRUNC counts, and neither copies nor takes") {
  Connection connection(TestType::family);
  connection.remote_sends("abcdef");
  wait_for_bytes(connection.fd(), 6);
  char buffer[8] = {'-', '-'};
  CHECK_RETURNS(recv(connection.fd(), buffer, 8, MSG_PEEK | MSG_TRUNC), 6);
  CHECK(buffer[0] == '-');
  CHECK(receive_all(connection.fd(), 6) == "abcdef");
}

CONFORMANCE_CASE("message: MSG_WAITALL with SO_RCVTIMEO gives what came in the time") {
  Connection connection(TestType::family);
  const timeval soon{0, 20'000};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) == 0);
  connection.remote_sends("ab");
  wait_for_bytes(connection.fd(), 2);
  char buffer[8];
  CHECK_RETURNS(recv(connection.fd(), buffer, 8, MSG_WAITALL), 2);
  CHECK_FAILS(recv(connection.fd(), buffer, 8, MSG_WAITALL), EAGAIN);
}

CONFORMANCE_CASE("message: MSG_WAITALL with MSG_DONTWAIT gives what is there") {
  Connection connection(TestType::family);
  connection.remote_sends("ab");
  wait_for_bytes(connection.fd(), 2);
  char buffer[8];
  CHECK_RETURNS(recv(connection.fd(), buffer, 8, MSG_WAITALL | MSG_DONTWAIT), 2);
}

CONFORMANCE_CASE("message: SO_RCVLOWAT holds back no receive that may not wait, and no end") {
  Connection connection(TestType::family);
  const int low = 4;
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)) == 0);
  connection.remote_sends("ab");
  wait_for_low(connection.fd(), 2);
  char buffer[8];
  CHECK_RETURNS(recv(connection.fd(), buffer, 8, MSG_DONTWAIT), 2);
  connection.remote_sends("e");
  connection.remote_shuts_down_writing();
  CHECK_RETURNS(recv(connection.fd(), buffer, 8, 0), 1);
  CHECK_RETURNS(recv(connection.fd(), buffer, 8, 0), 0);
}

CONFORMANCE_CASE("message: without parts nothing is sent and nothing received") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  msghdr nothing = message_of(nullptr, 0);
  CHECK_RETURNS(sendmsg(connection.fd(), &nothing, 0), 0);
  CHECK_RETURNS(writev(connection.fd(), nullptr, 0), 0);
  CHECK_RETURNS(readv(connection.fd(), nullptr, 0), 0);
  iovec empty[3] = {};
  CHECK_RETURNS(writev(connection.fd(), empty, 3), 0);
  CHECK_RETURNS(readv(connection.fd(), empty, 3), 0);
  connection.remote_sends("x");
  wait_for_bytes(connection.fd(), 1);
  CHECK_RETURNS(recvmsg(connection.fd(), &nothing, 0), 0);
  CHECK(receive_all(connection.fd(), 1) == "x");
  send_all(connection.fd(), "y");
  CHECK(connection.remote_receives(1) == "y");
}

CONFORMANCE_CASE("message: no messages are no error") {
  Connection connection(TestType::family);
  mmsghdr none{};
  CHECK_RETURNS(sendmmsg(connection.fd(), &none, 0, 0), 0);
  CHECK_RETURNS(recvmmsg(connection.fd(), &none, 0, 0, nullptr), 0);
  const timespec negative{0, -1};
  timespec time = negative;
  CHECK_FAILS(recvmmsg(connection.fd(), &none, 1, 0, &time), EINVAL);
}

CONFORMANCE_CASE("message: a negative size or number is EINVAL and moves nothing") {
  Connection connection(TestType::family);
  connection.remote_sends("kept");
  wait_for_bytes(connection.fd(), 4);
  char byte = 'x';
  const volatile int minus_one = -1;
  iovec wrong[2] = {{&byte, 1}, {&byte, static_cast<std::size_t>(minus_one)}};
  msghdr message = message_of(wrong, 2);
  CHECK_FAILS(readv(connection.fd(), wrong, 2), EINVAL);
  CHECK_FAILS(writev(connection.fd(), wrong, 2), EINVAL);
  CHECK_FAILS(recvmsg(connection.fd(), &message, 0), EINVAL);
  CHECK_FAILS(sendmsg(connection.fd(), &message, MSG_NOSIGNAL), EINVAL);
  CHECK_FAILS(readv(connection.fd(), wrong, minus_one), EINVAL);
  CHECK_FAILS(writev(connection.fd(), wrong, minus_one), EINVAL);
  CHECK(receive_all(connection.fd(), 4) == "kept");
  send_all(connection.fd(), "y");
  CHECK(connection.remote_receives(1) == "y");
}

CONFORMANCE_CASE("message: a buffer that ends too soon is EFAULT, and the bytes stay") {
  Connection connection(TestType::family);
  connection.remote_sends("abcdefgh");
  wait_for_bytes(connection.fd(), 8);
  const Brink brink;
  CHECK_FAILS(recv(connection.fd(), brink.last(4), 8, 0), EFAULT);
  CHECK_FAILS(read(connection.fd(), brink.last(0), 8), EFAULT);
  char start[4];
  iovec parts[2] = {{start, 4}, {brink.last(0), 4}};
  CHECK_FAILS(readv(connection.fd(), parts, 2), EFAULT);
  msghdr message = message_of(parts, 2);
  CHECK_FAILS(recvmsg(connection.fd(), &message, 0), EFAULT);
  // A buffer of which only the part that is filled may be touched is good enough.
  CHECK_RETURNS(recv(connection.fd(), brink.last(8), 4096, 0), 8);
  CHECK(std::string(brink.last(8), 8) == "abcdefgh");
}

CONFORMANCE_CASE("message: sending from a buffer that ends too soon is EFAULT and sends nothing") {
  Connection connection(TestType::family);
  const Brink brink;
  CHECK_FAILS(send(connection.fd(), brink.last(4), 8, MSG_NOSIGNAL), EFAULT);
  CHECK_FAILS(write(connection.fd(), brink.last(0), 8), EFAULT);
  char start[4] = {'a', 'b', 'c', 'd'};
  iovec parts[2] = {{start, 4}, {brink.last(0), 4}};
  CHECK_FAILS(writev(connection.fd(), parts, 2), EFAULT);
  send_all(connection.fd(), "y");
  CHECK(connection.remote_receives(1) == "y");
}

CONFORMANCE_CASE("message: pointers to headers that may not be touched are EFAULT") {
  Connection connection(TestType::family);
  connection.remote_sends("kept");
  wait_for_bytes(connection.fd(), 4);
  const Brink brink;
  void* nowhere = brink.last(0);
  CHECK_FAILS(readv(connection.fd(), static_cast<iovec*>(nowhere), 1), EFAULT);
  CHECK_FAILS(writev(connection.fd(), static_cast<iovec*>(nowhere), 1), EFAULT);
  CHECK_FAILS(recvmsg(connection.fd(), static_cast<msghdr*>(nowhere), 0), EFAULT);
  CHECK_FAILS(sendmsg(connection.fd(), static_cast<msghdr*>(nowhere), MSG_NOSIGNAL), EFAULT);
  CHECK_FAILS(recvmmsg(connection.fd(), static_cast<mmsghdr*>(nowhere), 1, 0, nullptr), EFAULT);
  CHECK_FAILS(sendmmsg(connection.fd(), static_cast<mmsghdr*>(nowhere), 1, MSG_NOSIGNAL), EFAULT);
  CHECK(receive_all(connection.fd(), 4) == "kept");
}

CONFORMANCE_CASE("message: a buffer said to be huge gets what is there") {
  static char buffer[4096];
  const volatile std::size_t huge = std::size_t{1} << 30;
  Connection connection(TestType::family);
  connection.remote_sends("abcd");
  wait_for_bytes(connection.fd(), 4);
  CHECK_RETURNS(recv(connection.fd(), buffer, huge, MSG_PEEK), 4);
  CHECK_RETURNS(read(connection.fd(), buffer, huge), 4);
  CHECK(std::string(buffer, 4) == "abcd");
}

CONFORMANCE_CASE("message: flags without a meaning for streams change nothing") {
  Connection connection(TestType::family);
  CHECK_RETURNS(send(connection.fd(), "a", 1, MSG_EOR | MSG_NOSIGNAL), 1);
  CHECK_RETURNS(send(connection.fd(), "b", 1, MSG_CONFIRM | MSG_NOSIGNAL), 1);
  CHECK_RETURNS(send(connection.fd(), "c", 1, MSG_DONTROUTE | MSG_NOSIGNAL), 1);
  CHECK(connection.remote_receives(3) == "abc");
}

CONFORMANCE_CASE("message: MSG_WAITFORONE waits for the first message only") {
  Connection connection(TestType::family);
  char buffers[3][2];
  std::array<iovec, 3> parts{};
  std::array<mmsghdr, 3> messages{};
  for (std::size_t index = 0; index < 3; ++index) {
    parts[index] = {buffers[index], 2};
    messages[index].msg_hdr = message_of(&parts[index], 1);
  }
  connection.peer().start_send_later(connection.remote(), "ab", 20);
  CHECK(recvmmsg(connection.fd(), messages.data(), 3, MSG_WAITFORONE, nullptr) == 1);
  CHECK(messages[0].msg_len == 2);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("message: sendmmsg stops before a wrong message and tells what went") {
  Connection connection(TestType::family);
  const Brink brink;
  std::array<iovec, 3> parts{{{const_cast<char*>("one"), 3}, {brink.last(0), 3}, {nullptr, 0}}};
  std::array<mmsghdr, 3> messages{};
  for (std::size_t index = 0; index < 3; ++index) {
    messages[index].msg_hdr = message_of(&parts[index], 1);
  }
  CHECK_RETURNS(sendmmsg(connection.fd(), messages.data(), 3, MSG_NOSIGNAL), 1);
  CHECK(messages[0].msg_len == 3);
  CHECK(connection.remote_receives(3) == "one");
  send_all(connection.fd(), "y");
  CHECK(connection.remote_receives(1) == "y");
}
