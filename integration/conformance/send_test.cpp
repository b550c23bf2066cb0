// Every call that puts bytes into a connection.
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <array>
#include <cstdarg>
#include <vector>

#include "integration/conformance/harness.h"
#include "integration/conformance/libc_aliases.h"

using namespace rsock::conformance;

namespace {

// A call that sends `count` bytes of `buffer`.
struct SendCall {
  const char* name;
  ssize_t (*call)(int fd, const char* buffer, size_t count);
};

template <typename Call>
ssize_t with_vector(const char* buffer, size_t count, Call call) {
  auto* bytes = const_cast<char*>(buffer);
  std::array<iovec, 3> parts{{{bytes, 0}, {bytes, 1}, {bytes + 1, count - 1}}};
  return call(parts.data(), static_cast<int>(parts.size()));
}

ssize_t send_messages(int (*call)(int, mmsghdr*, unsigned int, int), int fd, const char* buffer,
                      size_t count) {
  return with_vector(buffer, count, [=](iovec* parts, int number) {
    mmsghdr message{};
    message.msg_hdr.msg_iov = parts;
    message.msg_hdr.msg_iovlen = static_cast<size_t>(number);
    return call(fd, &message, 1, MSG_NOSIGNAL) == 1 ? static_cast<ssize_t>(message.msg_len)
                                                    : ssize_t{-1};
  });
}

ssize_t print(int fd, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int bytes = vdprintf(fd, format, arguments);
  va_end(arguments);
  return bytes;
}

const SendCall kSendCalls[] = {
    {"write", [](int fd, const char* buffer, size_t count) { return write(fd, buffer, count); }},
    {"__write",
     [](int fd, const char* buffer, size_t count) { return __write(fd, buffer, count); }},
    {"send", [](int fd, const char* buffer,
                size_t count) { return send(fd, buffer, count, MSG_NOSIGNAL); }},
    {"__send", [](int fd, const char* buffer,
                  size_t count) { return __send(fd, buffer, count, MSG_NOSIGNAL); }},
    {"sendto", [](int fd, const char* buffer,
                  size_t count) { return sendto(fd, buffer, count, MSG_NOSIGNAL, nullptr, 0); }},
    {"writev",
     [](int fd, const char* buffer, size_t count) {
       return with_vector(buffer, count,
                          [fd](iovec* parts, int number) { return writev(fd, parts, number); });
     }},
    {"pwritev2",
     [](int fd, const char* buffer, size_t count) {
       return with_vector(buffer, count, [fd](iovec* parts, int number) {
         return pwritev2(fd, parts, number, -1, 0);
       });
     }},
    {"pwritev64v2",
     [](int fd, const char* buffer, size_t count) {
       return with_vector(buffer, count, [fd](iovec* parts, int number) {
         return pwritev64v2(fd, parts, number, -1, 0);
       });
     }},
    {"sendmsg",
     [](int fd, const char* buffer, size_t count) {
       return with_vector(buffer, count, [fd](iovec* parts, int number) {
         msghdr message{};
         message.msg_iov = parts;
         message.msg_iovlen = static_cast<size_t>(number);
         return sendmsg(fd, &message, MSG_NOSIGNAL);
       });
     }},
    {"sendmmsg", [](int fd, const char* buffer,
                    size_t count) { return send_messages(&sendmmsg, fd, buffer, count); }},
    {"__sendmmsg", [](int fd, const char* buffer,
                      size_t count) { return send_messages(&__sendmmsg, fd, buffer, count); }},
};

// SIGPIPE's disposition for the time of a case.
volatile sig_atomic_t pipe_signals = 0;

class PipeSignal {
 public:
  explicit PipeSignal(void (*handler)(int)) {
    pipe_signals = 0;
    struct sigaction action {};
    action.sa_handler = handler;
    sigaction(SIGPIPE, &action, &before_);
  }
  ~PipeSignal() { sigaction(SIGPIPE, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

void count_pipe_signal(int) { pipe_signals = pipe_signals + 1; }

}  // namespace

CONFORMANCE_CASE("send: every call delivers the bytes, in order, and leaves errno alone") {
  const Role role = GENERATE(Role::client, Role::server);
  Connection connection(TestType::family, role);
  for (const SendCall& one : kSendCalls) {
    INFO(one.name);
    CHECK_RETURNS(one.call(connection.fd(), "0123456789", 10), 10);
    CHECK(connection.remote_receives(10) == "0123456789");
  }
}

CONFORMANCE_CASE("send: dprintf and its kin deliver what they print") {
  Connection connection(TestType::family);
  CHECK(dprintf(connection.fd(), "%s %d|", "eins", 1) == 7);
  CHECK(print(connection.fd(), "%s %.1f|", "zwei", 2.5) == 9);
  CHECK(__dprintf_chk(connection.fd(), 1, "%s", "drei|") == 5);
  CHECK(connection.remote_receives(21) == "eins 1|zwei 2.5|drei|");
}

CONFORMANCE_CASE("send: every call fails with EAGAIN on a full non-blocking socket") {
  Connection connection(TestType::family);
  set_nonblocking(connection.fd());
  std::uint64_t filled = fill(connection.fd(), 1);
  for (const SendCall& one : kSendCalls) {
    INFO(one.name);
    // The kernels may still have made a little room: what goes in continues the pattern.
    ssize_t put = 0;
    do {
      errno = 0;
      put = one.call(connection.fd(), pattern(1, filled, 2).data(), 2);
      if (put > 0) filled += static_cast<std::uint64_t>(put);
    } while (put > 0);
    CHECK(put == -1);
    CHECK(errno == EAGAIN);
  }
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome got = connection.peer().receive_pattern_to_end(connection.remote(), 1);
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(filled));
}

CONFORMANCE_CASE("send: every call fails with EPIPE after the end of our direction") {
  const PipeSignal ignored(SIG_IGN);
  Connection connection(TestType::family);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  for (const SendCall& one : kSendCalls) {
    INFO(one.name);
    CHECK_FAILS(one.call(connection.fd(), "xy", 2), EPIPE);
  }
}

CONFORMANCE_CASE("send: every call fails with EBADF on no descriptor") {
  for (const SendCall& one : kSendCalls) {
    INFO(one.name);
    CHECK_FAILS(one.call(-1, "xy", 2), EBADF);
  }
}

CONFORMANCE_CASE("send: before the connection every call fails with EPIPE") {
  const PipeSignal ignored(SIG_IGN);
  const Fd fd = tcp_socket(TestType::family);
  for (const SendCall& one : kSendCalls) {
    INFO(one.name);
    CHECK_FAILS(one.call(fd, "xy", 2), EPIPE);
  }
}

CONFORMANCE_CASE("send: SIGPIPE comes with EPIPE, and not with MSG_NOSIGNAL") {
  const PipeSignal counted(&count_pipe_signal);
  Connection connection(TestType::family);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  CHECK_FAILS(send(connection.fd(), "x", 1, MSG_NOSIGNAL), EPIPE);
  CHECK(pipe_signals == 0);
  CHECK_FAILS(send(connection.fd(), "x", 1, 0), EPIPE);
  CHECK(pipe_signals == 1);
  CHECK_FAILS(write(connection.fd(), "x", 1), EPIPE);
  CHECK(pipe_signals == 2);
}

CONFORMANCE_CASE("send: a reset by the peer is ECONNRESET or EPIPE, then EPIPE") {
  const PipeSignal ignored(SIG_IGN);
  Connection connection(TestType::family);
  connection.remote_resets();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLERR) != 0);
  CHECK_FAILS(send(connection.fd(), "x", 1, 0), ECONNRESET);
  CHECK_FAILS(send(connection.fd(), "x", 1, 0), EPIPE);
}

CONFORMANCE_CASE("send: to a peer that has closed, it works until the reset comes back") {
  const PipeSignal ignored(SIG_IGN);
  Connection connection(TestType::family);
  connection.remote_closes();
  REQUIRE((wait_for(connection.fd(), POLLRDHUP) & POLLRDHUP) != 0);
  CHECK(send(connection.fd(), "x", 1, 0) == 1);
  REQUIRE((wait_for(connection.fd(), POLLHUP) & POLLHUP) != 0);
  CHECK_FAILS(send(connection.fd(), "x", 1, 0), EPIPE);
}

CONFORMANCE_CASE("send: a blocking send of more than the buffers hold waits for the reader") {
  Connection connection(TestType::family);
  constexpr std::size_t kBytes = 16 * 1024 * 1024;
  connection.peer().start_receive_pattern_to_end(connection.remote(), 4);
  const std::string data = pattern(4, 0, kBytes);
  CHECK(send(connection.fd(), data.data(), kBytes, 0) == static_cast<ssize_t>(kBytes));
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome got = connection.peer().finish();
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(kBytes));
}

CONFORMANCE_CASE("send: a non-blocking send of more than the buffers hold takes a part") {
  Connection connection(TestType::family);
  set_nonblocking(connection.fd());
  const std::string data = pattern(5, 0, 32 * 1024 * 1024);
  const ssize_t put = send(connection.fd(), data.data(), data.size(), 0);
  CHECK(put > 0);
  CHECK(put < static_cast<ssize_t>(data.size()));
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome got = connection.peer().receive_pattern_to_end(connection.remote(), 5);
  CHECK(got.error == 0);
  CHECK(got.result == put);
}

CONFORMANCE_CASE("send: SO_SNDTIMEO ends the wait for room with EAGAIN") {
  Connection connection(TestType::family);
  const timeval soon{0, 20'000};
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)) == 0);
  static_cast<void>(fill(connection.fd(), 6));
  const std::string more(1024 * 1024, 'x');
  ssize_t put = 0;
  for (int turn = 0; turn < 100 && put >= 0; ++turn) {
    put = send(connection.fd(), more.data(), more.size(), 0);
  }
  CHECK(put == -1);
  CHECK(errno == EAGAIN);
}

CONFORMANCE_CASE("send: zero bytes are sent without effect") {
  Connection connection(TestType::family);
  CHECK_RETURNS(send(connection.fd(), "", 0, 0), 0);
  CHECK_RETURNS(write(connection.fd(), "", 0), 0);
  CHECK(send(connection.fd(), "x", 1, 0) == 1);
  CHECK(connection.remote_receives(1) == "x");
}

CONFORMANCE_CASE("send: a bad buffer fails with EFAULT and sends nothing") {
  Connection connection(TestType::family);
  CHECK_FAILS(syscall(SYS_write, connection.fd(), 8L, 4L), EFAULT);
  CHECK(send(connection.fd(), "x", 1, 0) == 1);
  CHECK(connection.remote_receives(1) == "x");
}

CONFORMANCE_CASE("send: too many parts fail with EINVAL, or EMSGSIZE in a message") {
  Connection connection(TestType::family);
  char byte = 'x';
  std::vector<iovec> parts(IOV_MAX + 1, iovec{&byte, 1});
  CHECK_FAILS(writev(connection.fd(), parts.data(), IOV_MAX + 1), EINVAL);
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  CHECK_FAILS(sendmsg(connection.fd(), &message, 0), EMSGSIZE);
  CHECK_RETURNS(writev(connection.fd(), parts.data(), IOV_MAX), IOV_MAX);
  CHECK(connection.remote_receives(IOV_MAX) == std::string(IOV_MAX, 'x'));
}

CONFORMANCE_CASE("send: an address is ignored on a connection") {
  Connection connection(TestType::family);
  const Address elsewhere = loopback(TestType::family, 1);
  CHECK_RETURNS(sendto(connection.fd(), "x", 1, 0, elsewhere.generic(), elsewhere.length), 1);
  CHECK(connection.remote_receives(1) == "x");
}

CONFORMANCE_CASE("send: sendmmsg delivers several messages as one stream") {
  Connection connection(TestType::family);
  std::array<iovec, 3> parts{
      {{const_cast<char*>("ab"), 2}, {const_cast<char*>("c"), 1}, {const_cast<char*>("def"), 3}}};
  std::array<mmsghdr, 3> messages{};
  for (std::size_t index = 0; index < 3; ++index) {
    messages[index].msg_hdr.msg_iov = &parts[index];
    messages[index].msg_hdr.msg_iovlen = 1;
  }
  CHECK_RETURNS(sendmmsg(connection.fd(), messages.data(), 3, 0), 3);
  CHECK(messages[2].msg_len == 3);
  CHECK(connection.remote_receives(6) == "abcdef");
}

CONFORMANCE_CASE("send: SIOCOUTQ falls to zero when the peer's kernel has everything") {
  Connection connection(TestType::family);
  CHECK(send(connection.fd(), "12345", 5, 0) == 5);
  CHECK(connection.remote_receives(5) == "12345");
  int waiting = -1;
  for (int turn = 0; turn < 1000 && waiting != 0; ++turn) {
    CHECK(ioctl(connection.fd(), SIOCOUTQ, &waiting) == 0);
    usleep(1000);
  }
  CHECK(waiting == 0);
}

CONFORMANCE_CASE("send: MSG_MORE and TCP_CORK hold nothing back for ever") {
  Connection connection(TestType::family);
  CHECK(send(connection.fd(), "a", 1, MSG_MORE) == 1);
  CHECK(send(connection.fd(), "b", 1, 0) == 1);
  CHECK(connection.remote_receives(2) == "ab");
  const int on = 1;
  const int off = 0;
  REQUIRE(setsockopt(connection.fd(), IPPROTO_TCP, 3 /* TCP_CORK */, &on, sizeof(on)) == 0);
  CHECK(send(connection.fd(), "c", 1, 0) == 1);
  REQUIRE(setsockopt(connection.fd(), IPPROTO_TCP, 3 /* TCP_CORK */, &off, sizeof(off)) == 0);
  CHECK(connection.remote_receives(1) == "c");
}

CONFORMANCE_CASE("send: MSG_OOB marks the last byte as urgent") {
  Connection connection(TestType::family);
  CHECK_RETURNS(send(connection.fd(), "a!", 2, MSG_OOB), 2);
  REQUIRE((connection.peer().poll(connection.remote(), POLLPRI, kSoonMs).result & POLLPRI) != 0);
  CHECK(connection.peer().receive(connection.remote(), 1, MSG_OOB).data == "!");
  CHECK(connection.remote_receives(1) == "a");
}
