// Descriptors that are no TCP sockets: they work as ever beside a connection, and at its number.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

struct Ends {
  Fd one;
  Fd other;
};

Ends unix_pair(int type) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

// A datagram socket of the case's family at any port of the loopback address.
Fd bound_datagram_socket(int family) {
  Fd fd(socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Address address = loopback(family, 0);
  REQUIRE(bind(fd, address.generic(), address.length) == 0);
  return fd;
}

}  // namespace

CONFORMANCE_CASE("foreign: a socketpair carries bytes and ends") {
  Connection connection(TestType::family);
  Ends pair = unix_pair(SOCK_STREAM);
  check_exchange(pair.one, pair.other);
  CHECK_RETURNS(write(pair.one, "ab", 2), 2);
  CHECK_RETURNS(shutdown(pair.one, SHUT_WR), 0);
  char bytes[4] = {};
  CHECK_RETURNS(read(pair.other, bytes, sizeof(bytes)), 2);
  CHECK_RETURNS(read(pair.other, bytes, sizeof(bytes)), 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("foreign: a datagram socketpair keeps message boundaries and truncates") {
  Ends pair = unix_pair(SOCK_DGRAM);
  CHECK_RETURNS(send(pair.one, "first", 5, 0), 5);
  CHECK_RETURNS(send(pair.one, "", 0, 0), 0);
  CHECK_RETURNS(send(pair.one, "second", 6, 0), 6);
  char bytes[16] = {};
  CHECK_RETURNS(recv(pair.other, bytes, 2, MSG_TRUNC), 5);
  CHECK_RETURNS(recv(pair.other, bytes, sizeof(bytes), 0), 0);
  CHECK_RETURNS(recv(pair.other, bytes, sizeof(bytes), 0), 6);
  CHECK(std::string(bytes, 6) == "second");
}

CONFORMANCE_CASE("foreign: UDP sendto and recvfrom with addresses") {
  const Fd one = bound_datagram_socket(TestType::family);
  const Fd other = bound_datagram_socket(TestType::family);
  const Address target = local_address(other);
  CHECK_RETURNS(sendto(one, "datagram", 8, 0, target.generic(), target.length), 8);
  char bytes[16] = {};
  Address from{};
  from.length = sizeof(from.storage);
  CHECK_RETURNS(recvfrom(other, bytes, sizeof(bytes), 0, from.generic(), &from.length), 8);
  CHECK(std::string(bytes, 8) == "datagram");
  CHECK(port_of(from) == port_of(one));
}

CONFORMANCE_CASE("foreign: UDP connect, send and recv, and an unconnected send") {
  const Fd one = bound_datagram_socket(TestType::family);
  const Fd other = bound_datagram_socket(TestType::family);
  const Address target = local_address(other);
  CHECK_FAILS(send(one, "x", 1, 0), EDESTADDRREQ);
  CHECK_RETURNS(connect(one, target.generic(), target.length), 0);
  CHECK_RETURNS(send(one, "x", 1, 0), 1);
  CHECK_RETURNS(write(one, "yz", 2), 2);
  char bytes[16] = {};
  CHECK_RETURNS(recv(other, bytes, sizeof(bytes), 0), 1);
  CHECK_RETURNS(read(other, bytes, sizeof(bytes)), 2);
}

CONFORMANCE_CASE("foreign: sendmmsg and recvmmsg move several datagrams") {
  const Fd one = bound_datagram_socket(TestType::family);
  const Fd other = bound_datagram_socket(TestType::family);
  const Address target = local_address(other);
  REQUIRE(connect(one, target.generic(), target.length) == 0);
  constexpr unsigned kMessages = 4;
  char bytes[kMessages][8] = {"a", "bb", "ccc", "dddd"};
  iovec vectors[kMessages];
  mmsghdr messages[kMessages] = {};
  for (unsigned index = 0; index < kMessages; ++index) {
    vectors[index] = {bytes[index], index + 1};
    messages[index].msg_hdr.msg_iov = &vectors[index];
    messages[index].msg_hdr.msg_iovlen = 1;
  }
  CHECK_RETURNS(sendmmsg(one, messages, kMessages, 0), 4);
  std::memset(bytes, 0, sizeof(bytes));
  for (iovec& vector : vectors) vector.iov_len = sizeof(bytes[0]);
  CHECK_RETURNS(recvmmsg(other, messages, kMessages, MSG_WAITFORONE, nullptr), 4);
  for (unsigned index = 0; index < kMessages; ++index) CHECK(messages[index].msg_len == index + 1);
  CHECK(std::string(bytes[3], 4) == "dddd");
}

CONFORMANCE_CASE("foreign: AF_UNIX listener, connect and accept") {
  Connection connection(TestType::family);
  const Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Autobind: a name of the kernel's choice that is no file.
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) == 0);
  REQUIRE(listen(listener, 4) == 0);
  socklen_t length = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  const Fd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK_RETURNS(connect(client, reinterpret_cast<sockaddr*>(&address), length), 0);
  const Fd server(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
  REQUIRE(server >= 0);
  CHECK((fcntl(server, F_GETFL) & O_NONBLOCK) != 0);
  CHECK_RETURNS(send(client, "unix", 4, 0), 4);
  CHECK(receive_all(server, 4) == "unix");
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("foreign: SOCK_SEQPACKET keeps records") {
  Ends pair = unix_pair(SOCK_SEQPACKET);
  CHECK_RETURNS(write(pair.one, "12345", 5), 5);
  CHECK_RETURNS(write(pair.one, "678", 3), 3);
  char bytes[16] = {};
  CHECK_RETURNS(read(pair.other, bytes, sizeof(bytes)), 5);
  CHECK_RETURNS(read(pair.other, bytes, sizeof(bytes)), 3);
  pair.one.reset();
  CHECK_RETURNS(read(pair.other, bytes, sizeof(bytes)), 0);
}

CONFORMANCE_CASE("foreign: a pipe at the number of a closed connection") {
  Connection connection(TestType::family);
  const int number = connection.local().release();
  close(number);
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  CHECK((read_end == number || write_end == number));
  char bytes[8] = {};
  CHECK_FAILS(read(read_end, bytes, sizeof(bytes)), EAGAIN);
  CHECK_RETURNS(write(write_end, "pipe", 4), 4);
  CHECK_RETURNS(read(read_end, bytes, sizeof(bytes)), 4);
  CHECK_FAILS(read(write_end, bytes, sizeof(bytes)), EBADF);
  CHECK_FAILS(send(write_end, "x", 1, 0), ENOTSOCK);
  write_end.reset();
  CHECK_RETURNS(read(read_end, bytes, sizeof(bytes)), 0);
}

CONFORMANCE_CASE("foreign: an eventfd at the number of a closed connection") {
  Connection connection(TestType::family);
  close(connection.local().release());
  const Fd event(eventfd(3, EFD_CLOEXEC | EFD_NONBLOCK));
  std::uint64_t value = 4;
  CHECK_RETURNS(write(event, &value, sizeof(value)), 8);
  CHECK_RETURNS(read(event, &value, sizeof(value)), 8);
  CHECK(value == 7);
  CHECK_FAILS(read(event, &value, sizeof(value)), EAGAIN);
  CHECK_FAILS(write(event, &value, 4), EINVAL);
}

CONFORMANCE_CASE("foreign: a timerfd expires") {
  const Fd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec when{};
  when.it_value.tv_nsec = 1'000'000;
  REQUIRE(timerfd_settime(timer, 0, &when, nullptr) == 0);
  CHECK((wait_for(timer, POLLIN) & POLLIN) != 0);
  std::uint64_t expired = 0;
  CHECK_RETURNS(read(timer, &expired, sizeof(expired)), 8);
  CHECK(expired == 1);
}

CONFORMANCE_CASE("foreign: inotify reports a new file") {
  char folder[] = "/tmp/conformance-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/file";
  const Fd notices(inotify_init1(IN_CLOEXEC));
  REQUIRE(inotify_add_watch(notices, folder, IN_CREATE) >= 0);
  Fd(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).reset();
  alignas(inotify_event) char buffer[512];
  CHECK(read(notices, buffer, sizeof(buffer)) > 0);
  const auto* notice = reinterpret_cast<const inotify_event*>(buffer);
  CHECK(std::string(notice->name) == "file");
  unlink(path.c_str());
  rmdir(folder);
}

CONFORMANCE_CASE("foreign: signalfd reads a signal") {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  REQUIRE(sigprocmask(SIG_BLOCK, &mask, nullptr) == 0);
  const Fd signals(signalfd(-1, &mask, SFD_CLOEXEC));
  raise(SIGUSR2);
  signalfd_siginfo info{};
  CHECK_RETURNS(read(signals, &info, sizeof(info)), static_cast<ssize_t>(sizeof(info)));
  CHECK(info.ssi_signo == SIGUSR2);
  sigprocmask(SIG_UNBLOCK, &mask, nullptr);
}

CONFORMANCE_CASE("foreign: positioned and vectored I/O on a file") {
  Connection connection(TestType::family);
  close(connection.local().release());
  const Fd file(memfd_create("conformance", MFD_CLOEXEC));
  char one[] = "abc";
  char two[] = "defg";
  const iovec vectors[2] = {{one, 3}, {two, 4}};
  CHECK_RETURNS(writev(file, vectors, 2), 7);
  CHECK_RETURNS(pwritev(file, vectors, 1, 4), 3);
  CHECK_RETURNS(pwritev2(file, vectors, 1, -1, 0), 3);
  CHECK_RETURNS(lseek(file, 0, SEEK_CUR), 10);
  CHECK_RETURNS(lseek(file, 0, SEEK_SET), 0);
  CHECK_RETURNS(preadv2(file, vectors, 2, -1, 0), 7);
  CHECK(std::string(one, 3) + std::string(two, 4) == "abcdabc");
  CHECK_RETURNS(preadv(file, vectors, 1, 7), 3);
  CHECK(std::string(one, 3) == "abc");
}

CONFORMANCE_CASE("foreign: calls of sockets on a file are ENOTSOCK") {
  const Fd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  char byte = 0;
  const Address address = loopback(TestType::family, 1);
  CHECK_FAILS(recv(file, &byte, 1, 0), ENOTSOCK);
  CHECK_FAILS(send(file, &byte, 1, 0), ENOTSOCK);
  CHECK_FAILS(connect(file, address.generic(), address.length), ENOTSOCK);
  CHECK_FAILS(bind(file, address.generic(), address.length), ENOTSOCK);
  CHECK_FAILS(listen(file, 1), ENOTSOCK);
  CHECK_FAILS(accept(file, nullptr, nullptr), ENOTSOCK);
  CHECK_FAILS(shutdown(file, SHUT_RD), ENOTSOCK);
  int value = 0;
  socklen_t length = sizeof(value);
  CHECK_FAILS(getsockopt(file, SOL_SOCKET, SO_ERROR, &value, &length), ENOTSOCK);
  CHECK_FAILS(getsockname(file, nullptr, nullptr), ENOTSOCK);
}

CONFORMANCE_CASE("foreign: writing to a pipe without a reader is EPIPE with SIGPIPE ignored") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const Fd write_end(ends[1]);
  close(ends[0]);
  auto* before = signal(SIGPIPE, SIG_IGN);
  CHECK_FAILS(write(write_end, "x", 1), EPIPE);
  signal(SIGPIPE, before);
}
