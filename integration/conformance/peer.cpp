#include "integration/conformance/peer.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "integration/conformance/modes.h"
#include "integration/conformance/peer_protocol.h"

namespace rsock::conformance {

namespace {

Request request(Command command, int fd, std::int64_t a = 0, std::int64_t b = 0,
                std::int64_t c = 0) {
  return {command, fd, a, b, c, 0, 0};
}

void start(int control, Request wanted, std::string_view data = {}) {
  wanted.data_bytes = static_cast<std::uint32_t>(data.size());
  if (!write_control(control, &wanted, sizeof(wanted)) ||
      !write_control(control, data.data(), data.size())) {
    FAIL("the peer is gone");
  }
}

Outcome finish_on(int control) {
  Reply reply{};
  if (!read_control(control, &reply, sizeof(reply))) FAIL("the peer ended within a command");
  Outcome outcome{reply.result, reply.error, std::string(reply.data_bytes, '\0')};
  if (!read_control(control, outcome.data.data(), reply.data_bytes)) FAIL("the peer is gone");
  return outcome;
}

Outcome run(int control, const Request& wanted, std::string_view data = {}) {
  start(control, wanted, data);
  return finish_on(control);
}

int must(const Outcome& outcome, const char* what) {
  INFO("the peer's " << what << ": error " << outcome.error);
  REQUIRE(outcome.error == 0);
  return static_cast<int>(outcome.result);
}

}  // namespace

Peer::Peer() {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    prepare_peer_environment();
    const std::string number = std::to_string(dup(ends[1]));  // dup: not closed by exec
    execl("/proc/self/exe", "conformance", "--peer", number.c_str(), nullptr);
    _exit(127);
  }
  ::close(ends[1]);
  control_ = ends[0];
}

Peer::~Peer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    reap();
  }
  ::close(control_);
}

void Peer::reap() {
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

int Peer::listen(int family, std::uint16_t& port, int backlog) {
  const Outcome outcome = run(control_, request(Command::listen, -1, family, backlog));
  const int fd = must(outcome, "listen");
  port = static_cast<std::uint16_t>(std::stoi(outcome.data));
  return fd;
}

int Peer::connect(int family, std::uint16_t port) {
  return must(run(control_, request(Command::connect, -1, family, port)), "connect");
}

int Peer::accept(int listener) {
  return must(run(control_, request(Command::accept, listener)), "accept");
}

void Peer::close(int fd) { must(run(control_, request(Command::close, fd)), "close"); }

void Peer::shutdown(int fd, int how) {
  must(run(control_, request(Command::shutdown, fd, how)), "shutdown");
}

void Peer::set_option(int fd, int level, int name, int value) {
  must(run(control_, request(Command::set_option, fd, level, name, value)), "setsockopt");
}

void Peer::set_linger(int fd, int seconds) {
  must(run(control_, request(Command::set_linger, fd, seconds)), "SO_LINGER");
}

void Peer::reset(int fd) {
  set_linger(fd, 0);
  close(fd);
}

Outcome Peer::send(int fd, std::string_view data, int flags) {
  return run(control_, request(Command::send, fd, flags), data);
}

Outcome Peer::receive(int fd, std::size_t count, int flags) {
  return run(control_, request(Command::receive, fd, static_cast<std::int64_t>(count), flags));
}

std::string Peer::receive_all(int fd, std::size_t count) {
  return run(control_, request(Command::receive_all, fd, static_cast<std::int64_t>(count))).data;
}

Outcome Peer::receive_pattern_to_end(int fd, std::uint64_t seed, std::uint64_t from) {
  start_receive_pattern_to_end(fd, seed, from);
  return finish();
}

Outcome Peer::send_pattern(int fd, std::uint64_t seed, std::uint64_t from, std::uint64_t count) {
  start_send_pattern(fd, seed, from, count);
  return finish();
}

Outcome Peer::echo(int fd, std::uint64_t count) {
  start_echo(fd, count);
  return finish();
}

Outcome Peer::poll(int fd, int events, int timeout_ms) {
  return run(control_, request(Command::poll, fd, events, timeout_ms));
}

Outcome Peer::query(int fd, unsigned long what) {
  return run(control_, request(Command::query, fd, static_cast<std::int64_t>(what)));
}

int Peer::give_descriptor(int local_fd) {
  start(control_, request(Command::give_descriptor, -1));
  REQUIRE(write_descriptor(control_, local_fd));
  return must(finish(), "recvmsg");
}

int Peer::take_descriptor(int peer_fd) {
  start(control_, request(Command::take_descriptor, peer_fd));
  const int fd = read_descriptor(control_);
  must(finish(), "sendmsg");
  return fd;
}

void Peer::exit_now() {
  start(control_, request(Command::exit, -1));
  reap();
}

void Peer::kill_now() {
  ::kill(pid_, SIGKILL);
  reap();
}

void Peer::start_send(int fd, std::string_view data, int flags) {
  start(control_, request(Command::send, fd, flags), data);
}

void Peer::start_receive(int fd, std::size_t count, int flags) {
  start(control_, request(Command::receive, fd, static_cast<std::int64_t>(count), flags));
}

void Peer::start_receive_pattern_to_end(int fd, std::uint64_t seed, std::uint64_t from) {
  start(control_, request(Command::receive_pattern_to_end, fd, static_cast<std::int64_t>(seed),
                          static_cast<std::int64_t>(from)));
}

void Peer::start_send_pattern(int fd, std::uint64_t seed, std::uint64_t from, std::uint64_t count) {
  start(control_, request(Command::send_pattern, fd, static_cast<std::int64_t>(seed),
                          static_cast<std::int64_t>(from), static_cast<std::int64_t>(count)));
}

void Peer::start_echo(int fd, std::uint64_t count) {
  start(control_, request(Command::echo, fd, static_cast<std::int64_t>(count)));
}

void Peer::start_send_later(int fd, std::string_view data, int delay_ms) {
  Request wanted = request(Command::send, fd);
  wanted.delay_ms = delay_ms;
  start(control_, wanted, data);
}

void Peer::start_close_later(int fd, int delay_ms) {
  Request wanted = request(Command::close, fd);
  wanted.delay_ms = delay_ms;
  start(control_, wanted);
}

Outcome Peer::finish() { return finish_on(control_); }

}  // namespace rsock::conformance
