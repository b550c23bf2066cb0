#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace rsock::testing {

// A descriptor that a test opened; closed by the real close, behind the table's back.
class TestFd {
 public:
  explicit TestFd(int fd) : fd_(fd) {}
  TestFd(TestFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TestFd& operator=(TestFd&&) = delete;
  ~TestFd() { reset(); }

  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  operator int() const { return fd_; }  // NOLINT: a test reads better without get().

 private:
  int fd_;
};

inline TestFd tcp_socket(int family = AF_INET) {
  return TestFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

inline sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline sockaddr_in address_of(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  return address;
}

inline TestFd listener() {
  TestFd fd = tcp_socket();
  const sockaddr_in address = loopback();
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return TestFd(-1);
  if (listen(fd, SOMAXCONN) != 0) return TestFd(-1);
  return fd;
}

inline TestFd connected_to(int listening) {
  TestFd fd = tcp_socket();
  const sockaddr_in address = address_of(listening);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return TestFd(-1);
  }
  return fd;
}

}  // namespace rsock::testing
