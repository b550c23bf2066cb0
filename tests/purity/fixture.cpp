#include "tests/purity/fixture.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <climits>

#include "tests/purity/expect.h"

namespace rsock::purity {

namespace {

constexpr char kData[] = "sixteen bytes!!";
constexpr int kDataBytes = sizeof(kData);
constexpr int kPatienceMs = 5000;

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void await(int fd, short events) {
  pollfd waited{fd, events, 0};
  EXPECT_EQUAL(poll(&waited, 1, kPatienceMs), 1);
}

// No connection of the thousands made here shall linger in TIME_WAIT.
void close_by_reset(int fd) {
  const linger at_once{1, 0};
  EXPECT_EQUAL(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
}

void set_nonblocking(int fd) { EXPECT_EQUAL(fcntl(fd, F_SETFL, O_NONBLOCK), 0); }

sockaddr_in name_of(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  EXPECT_EQUAL(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  return address;
}

int bound_socket(int type) {
  const int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0);
  const sockaddr_in address = loopback();
  EXPECT(fd >= 0);
  EXPECT_EQUAL(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

void connect_to(int fd, const sockaddr_in& address) {
  EXPECT_EQUAL(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

}  // namespace

Fixture::Fixture(Kind kind) {
  int ends[2];
  EXPECT_EQUAL(pipe2(ends, O_NONBLOCK), 0);
  pipe_reader = ends[0];
  pipe_writer = ends[1];
  EXPECT_EQUAL(write(pipe_writer, kData, kDataBytes), kDataBytes);
  file = memfd_create("purity", 0);
  EXPECT(file >= 0);
  EXPECT_EQUAL(write(file, kData, kDataBytes), kDataBytes);
  EXPECT_EQUAL(lseek(file, 0, SEEK_SET), 0);
  epoll = epoll_create1(0);
  EXPECT(epoll >= 0);
  make(kind);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT;
  epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_reader, &event);
}

Fixture::~Fixture() { close_range(kFirstDescriptor, kLastDescriptor, 0); }

void Fixture::make(Kind kind) {
  switch (kind) {
    case Kind::pipe_reader:
    case Kind::pipe_writer:
      make_pipe(kind == Kind::pipe_reader);
      return;
    case Kind::file:
      fd = dup(file);
      return;
    case Kind::directory:
      fd = open("/", O_RDONLY | O_DIRECTORY);
      return;
    case Kind::unix_stream:
      make_unix_stream();
      return;
    case Kind::event_counter:
      make_event_counter();
      return;
    case Kind::udp:
      make_udp();
      return;
    case Kind::tcp:
    case Kind::tcp_listener:
      make_tcp(kind == Kind::tcp_listener);
      return;
    case Kind::not_open:
      fd = kUnused;
      return;
    case Kind::negative:
      fd = -1;
      return;
    case Kind::huge:
      fd = INT_MAX;
      return;
  }
}

void Fixture::make_pipe(bool reader) {
  int ends[2];
  EXPECT_EQUAL(pipe2(ends, O_NONBLOCK), 0);
  fd = ends[reader ? 0 : 1];
  peer = ends[reader ? 1 : 0];
  EXPECT_EQUAL(write(ends[1], kData, kDataBytes), kDataBytes);
}

void Fixture::make_unix_stream() {
  int ends[2];
  EXPECT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  fd = ends[0];
  peer = ends[1];
  EXPECT_EQUAL(write(peer, kData, kDataBytes), kDataBytes);
}

void Fixture::make_event_counter() {
  fd = eventfd(7, EFD_NONBLOCK);
  EXPECT(fd >= 0);
}

void Fixture::make_udp() {
  fd = bound_socket(SOCK_DGRAM);
  connect_to(fd, name_of(fd));
  EXPECT_EQUAL(send(fd, kData, kDataBytes, 0), kDataBytes);
  await(fd, POLLIN);
}

void Fixture::make_tcp(bool listener) {
  const int listening = bound_socket(SOCK_STREAM);
  EXPECT_EQUAL(listen(listening, 1), 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(client >= 0);
  connect_to(client, name_of(listening));
  close_by_reset(client);
  EXPECT_EQUAL(send(client, kData, kDataBytes, 0), kDataBytes);
  await(listening, POLLIN);
  peer = client;
  fd = listening;
  if (listener) return;
  fd = accept(listening, nullptr, nullptr);
  EXPECT(fd >= 0);
  EXPECT_EQUAL(close(listening), 0);
  close_by_reset(fd);
  set_nonblocking(fd);
  await(fd, POLLIN);
}

}  // namespace rsock::purity
