#include "integration/conformance/harness.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>

namespace rsock::conformance {

namespace {

constexpr std::size_t kFillBytes = 16 * 1024;
constexpr int kLibraryFdFloor = 900;  // The library numbers its own descriptors above.

}  // namespace

Connection::Connection(int family, Role role) {
  if (role == Role::client) {
    std::uint16_t port = 0;
    const int listener = peer_.listen(family, port);
    local_ = tcp_socket(family);
    const Address address = loopback(family, port);
    REQUIRE(connect(local_, address.generic(), address.length) == 0);
    remote_ = peer_.accept(listener);
    peer_.close(listener);
  } else {
    const Fd listener = listening_socket(family);
    remote_ = peer_.connect(family, port_of(listener));
    local_ = Fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(local_ >= 0);
  }
}

void Connection::remote_sends(std::string_view data) {
  const Outcome outcome = peer_.send(remote_, data);
  REQUIRE(outcome.error == 0);
  REQUIRE(outcome.result == static_cast<std::int64_t>(data.size()));
}

void Connection::wait_until_remote_sees_end() {
  const Outcome outcome = peer_.poll(remote_, POLLRDHUP, kSoonMs);
  REQUIRE((outcome.result & POLLRDHUP) != 0);
}

Fd tcp_socket(int family, int flags) {
  Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  REQUIRE(fd >= 0);
  return fd;
}

Fd listening_socket(int family, int backlog, int flags) {
  Fd fd = tcp_socket(family, flags);
  const Address address = loopback(family, 0);
  REQUIRE(bind(fd, address.generic(), address.length) == 0);
  REQUIRE(listen(fd, backlog) == 0);
  return fd;
}

LocalPair local_pair(int family) {
  const Fd listener = listening_socket(family);
  LocalPair pair{tcp_socket(family), Fd()};
  const Address address = local_address(listener);
  REQUIRE(connect(pair.client, address.generic(), address.length) == 0);
  pair.server = Fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(pair.server >= 0);
  return pair;
}

short wait_for(int fd, short events, int timeout_ms) {
  pollfd entry{fd, events, 0};
  int ready = 0;
  do {
    ready = poll(&entry, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  REQUIRE(ready >= 0);
  return entry.revents;
}

void set_nonblocking(int fd, bool on) {
  const int flags = fcntl(fd, F_GETFL);
  REQUIRE(fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0);
}

std::string receive_all(int fd, std::size_t count) {
  std::string data(count, '\0');
  std::size_t filled = 0;
  while (filled < count) {
    const ssize_t got = recv(fd, data.data() + filled, count - filled, 0);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  data.resize(filled);
  return data;
}

void send_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t put = send(fd, data.data(), data.size(), MSG_NOSIGNAL);
    REQUIRE(put > 0);
    data.remove_prefix(static_cast<std::size_t>(put));
  }
}

std::uint64_t fill(int fd, std::uint64_t seed) {
  std::uint64_t total = 0;
  std::size_t size = kFillBytes;
  int refused = 0;
  // Room for a byte may be left where none is for more, and the peer's kernel makes some for what
  // is under way: full is a socket that refuses a byte before and after a wait.
  while (refused < 2) {
    const std::string chunk = pattern(seed, total, size);
    const ssize_t put = send(fd, chunk.data(), chunk.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) {
      total += static_cast<std::uint64_t>(put);
      refused = 0;
    } else if (size > 1) {
      REQUIRE(errno == EAGAIN);
      size = 1;
    } else {
      REQUIRE(errno == EAGAIN);
      ++refused;
      if (wait_for(fd, POLLOUT, kNotNowMs) != 0) size = kFillBytes;
    }
  }
  return total;
}

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < kLibraryFdFloor; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

}  // namespace rsock::conformance
