#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rsock::conformance {

// What a call in the peer process returned.
struct Outcome {
  std::int64_t result;  // of the call, or what the function says
  int error;            // errno if the call failed, else zero
  std::string data;     // bytes that the call received
};

// Another process, at the other end of tested connections: it runs with or without the library as
// the mode says, and does what it is told, one command after the other. Descriptors are its own.
//
// A function waits for the command to end; where both ends must act at once, call
// start_<command>() and later finish().
class Peer {
 public:
  Peer();
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  // Sockets. `family` is AF_INET or AF_INET6, addresses are the loopback's.
  int listen(int family, std::uint16_t& port, int backlog = 64);  // the listener
  int connect(int family, std::uint16_t port);                    // the connected socket
  int accept(int listener);
  void close(int fd);
  void shutdown(int fd, int how);
  void set_option(int fd, int level, int name, int value);
  void set_linger(int fd, int seconds);
  // Closes with a reset: SO_LINGER with zero seconds.
  void reset(int fd);

  // One call of send or recv, whatever it does.
  Outcome send(int fd, std::string_view data, int flags = 0);
  Outcome receive(int fd, std::size_t count, int flags = 0);
  // Exactly `count` bytes, or less when the stream ends.
  std::string receive_all(int fd, std::size_t count);
  // Everything up to the end: how many bytes, and whether they are the pattern of `seed` from
  // the stream's offset `from` on. `result` is the count, `error` the errno that ended it
  // (zero: end of file; EILSEQ: wrong bytes).
  Outcome receive_pattern_to_end(int fd, std::uint64_t seed, std::uint64_t from = 0);
  // `count` bytes of the pattern; result is what could be sent.
  Outcome send_pattern(int fd, std::uint64_t seed, std::uint64_t from, std::uint64_t count);
  // Receives `count` bytes and sends each back as it comes.
  Outcome echo(int fd, std::uint64_t count);
  // Waits up to `timeout_ms` for poll events; result is revents (zero: timed out).
  Outcome poll(int fd, int events, int timeout_ms);
  // What `ioctl(fd, request, &int)` puts into its argument.
  Outcome query(int fd, unsigned long request);

  // SCM_RIGHTS over the control connection: gives the peer our descriptor, or takes one of its.
  int give_descriptor(int local_fd);  // the peer's number
  int take_descriptor(int peer_fd);   // our number; the peer keeps its own

  // Ends the peer: by exit(0) with everything open, or by SIGKILL.
  void exit_now();
  void kill_now();

  void start_send(int fd, std::string_view data, int flags = 0);
  void start_receive_pattern_to_end(int fd, std::uint64_t seed, std::uint64_t from = 0);
  void start_send_pattern(int fd, std::uint64_t seed, std::uint64_t from, std::uint64_t count);
  void start_echo(int fd, std::uint64_t count);
  void start_receive(int fd, std::size_t count, int flags = 0);
  // Sends `data` after `delay_ms`: for a local call that must be blocked by then. A test is
  // right whether or not it was.
  void start_send_later(int fd, std::string_view data, int delay_ms);
  void start_close_later(int fd, int delay_ms);
  Outcome finish();

 private:
  void reap();

  pid_t pid_ = -1;
  int control_ = -1;
};

// The program's other face: obeys commands that come over descriptor `control` until it closes.
[[noreturn]] void serve_as_peer(int control);

}  // namespace rsock::conformance
