#include "tests/purity/tcp_pair.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tests/purity/expect.h"

namespace rsock::purity {

namespace {

constexpr int kBacklog = 64;
constexpr std::size_t kPieceBytes = 1024;

}  // namespace

int tcp_listen() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT(fd >= 0);
  EXPECT_EQUAL(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQUAL(listen(fd, kBacklog), 0);
  return fd;
}

int tcp_connect(int listener) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  EXPECT_EQUAL(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const linger at_once{1, 0};
  EXPECT(fd >= 0);
  EXPECT_EQUAL(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
  EXPECT_EQUAL(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

TcpPair tcp_pair() {
  const int listener = tcp_listen();
  TcpPair pair;
  pair.client = tcp_connect(listener);
  pair.server = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  EXPECT(pair.server >= 0);
  EXPECT_EQUAL(close(listener), 0);
  return pair;
}

void tcp_send(const TcpPair& pair, std::size_t bytes) {
  char piece[kPieceBytes] = {};
  while (bytes > 0) {
    const std::size_t count = std::min(bytes, kPieceBytes);
    const auto wanted = static_cast<ssize_t>(count);
    EXPECT_EQUAL(send(pair.client, piece, count, MSG_NOSIGNAL), wanted);
    EXPECT_EQUAL(recv(pair.server, piece, count, MSG_WAITALL), wanted);
    bytes -= count;
  }
}

}  // namespace rsock::purity
