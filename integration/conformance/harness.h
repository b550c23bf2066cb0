#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "integration/conformance/addresses.h"
#include "integration/conformance/pattern.h"
#include "integration/conformance/peer.h"

namespace rsock::conformance {

// Each case runs for both families: CONFORMANCE_CASE("name") { ... TestType::family ... }
struct IPv4 {
  static constexpr int family = AF_INET;
};
struct IPv6 {
  static constexpr int family = AF_INET6;
};

#define CONFORMANCE_CASE(...) TEMPLATE_TEST_CASE(__VA_ARGS__, "", IPv4, IPv6)

// An errno that no call sets: a call that succeeds must leave it.
inline constexpr int kUntouched = 12345;

// Long enough for anything that will happen, short enough to fail within the case's time.
inline constexpr int kSoonMs = 10'000;
// Time given to something that must not happen. Being slow can't make a test fail that way.
inline constexpr int kNotNowMs = 50;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  operator int() const { return fd_; }  // NOLINT: tests hand it to system calls all the time.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  // The descriptor without its owner: the test closes it itself.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

enum class Role { client, server };

// A tested connection: `local` is our end, `remote` the descriptor of the other end in the peer.
// As client, we connected; as server, we accepted.
class Connection {
 public:
  explicit Connection(int family, Role role = Role::client);

  Peer& peer() { return peer_; }
  int fd() const { return local_; }
  Fd& local() { return local_; }
  int remote() const { return remote_; }

  // Commands to the peer about its end.
  void remote_sends(std::string_view data);  // all of it
  std::string remote_receives(std::size_t count) { return peer_.receive_all(remote_, count); }
  void remote_closes() { peer_.close(remote_); }
  void remote_resets() { peer_.reset(remote_); }
  void remote_shuts_down_writing() { peer_.shutdown(remote_, SHUT_WR); }
  // Waits until the peer has received that we have ended our direction.
  void wait_until_remote_sees_end();

 private:
  Peer peer_;
  Fd local_;
  int remote_ = -1;
};

[[nodiscard]] Fd tcp_socket(int family, int flags = 0);
// A listener on the loopback address with any port.
[[nodiscard]] Fd listening_socket(int family, int backlog = 64, int flags = 0);
// A pair of connected ends, both in this process.
struct LocalPair {
  Fd client;
  Fd server;
};
[[nodiscard]] LocalPair local_pair(int family);

// poll() of one descriptor: its revents, zero after the timeout.
[[nodiscard]] short wait_for(int fd, short events, int timeout_ms = kSoonMs);
void set_nonblocking(int fd, bool on = true);
// Exactly `count` bytes, or what came until the end or an error.
[[nodiscard]] std::string receive_all(int fd, std::size_t count);
// All of `data`, blocking; fails the case on error.
void send_all(int fd, std::string_view data);
// Fills a non-blocking socket until EAGAIN; returns what went in. The bytes are the pattern of
// `seed` from offset zero.
[[nodiscard]] std::uint64_t fill(int fd, std::uint64_t seed);
// Number of open descriptors below the library's own.
[[nodiscard]] int open_descriptors();

// CHECKs that a call fails with an errno: CHECK_FAILS(recv(fd, ...), EAGAIN).
#define CHECK_FAILS(call, expected)     \
  do {                                  \
    errno = 0;                          \
    const long result_of_call = (call); \
    const int error_of_call = errno;    \
    CHECK(result_of_call == -1);        \
    CHECK(error_of_call == (expected)); \
  } while (false)

// CHECKs that a call returns a value and leaves errno alone.
#define CHECK_RETURNS(call, expected)                         \
  do {                                                        \
    errno = ::rsock::conformance::kUntouched;                 \
    const auto result_of_call = (call);                       \
    const int error_of_call = errno;                          \
    CHECK(result_of_call == (expected));                      \
    CHECK(error_of_call == ::rsock::conformance::kUntouched); \
  } while (false)

}  // namespace rsock::conformance
