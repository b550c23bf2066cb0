#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "integration/conformance/addresses.h"

namespace rsock::conformance {

// What a test does in a forked child: Catch's assertions count in the parent only, so a child
// reports by its exit status.

inline constexpr int kChildSeconds = 50;
inline constexpr int kSignalBase = 1000;

// Ends the child's function with 1 and says why.
#define CHILD_CHECK(condition)                                                              \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      dprintf(STDERR_FILENO, "%s:%d: in a child: %s: %s\n", __FILE__, __LINE__, #condition, \
              std::strerror(errno));                                                        \
      return 1;                                                                             \
    }                                                                                       \
  } while (false)

// Exit status of a child, or kSignalBase plus the signal that ended it.
[[nodiscard]] inline int wait_for_child(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
}

// Starts a child that leaves with what `function` returns.
template <typename Function>
[[nodiscard]] pid_t start_child(Function function) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);  // It must not outlive a case that gave up.
    _exit(function());
  }
  return child;
}

template <typename Function>
[[nodiscard]] int in_child(Function function) {
  return wait_for_child(start_child(function));
}

// The harness's functions, without assertions.

[[nodiscard]] inline bool sends(int fd, const char* text) {
  const auto length = std::strlen(text);
  return send(fd, text, length, MSG_NOSIGNAL) == static_cast<ssize_t>(length);
}

[[nodiscard]] inline bool receives(int fd, const char* text) {
  for (std::size_t length = std::strlen(text); length > 0; --length, ++text) {
    char byte = 0;
    if (recv(fd, &byte, 1, 0) != 1 || byte != *text) return false;
  }
  return true;
}

[[nodiscard]] inline bool at_end(int fd) {
  char byte = 0;
  return recv(fd, &byte, 1, 0) == 0;
}

[[nodiscard]] inline bool exchange(int one, int other) {
  return sends(one, "ping") && receives(other, "ping") && sends(other, "pong") &&
         receives(one, "pong");
}

// A listener on any port, or -1.
[[nodiscard]] inline int make_listener(int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Address address = loopback(family, 0);
  if (fd < 0 || bind(fd, address.generic(), address.length) != 0 || listen(fd, 16) != 0) return -1;
  return fd;
}

// A connected socket, or -1.
[[nodiscard]] inline int connect_to_port(int family, std::uint16_t port) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Address address = loopback(family, port);
  if (fd < 0 || connect(fd, address.generic(), address.length) != 0) return -1;
  return fd;
}

// Connects two new sockets and talks over them. Closes them.
[[nodiscard]] inline bool new_sockets_work(int family) {
  const int listener = make_listener(family);
  if (listener < 0) return false;
  const int client = connect_to_port(family, port_of(listener));
  const int server = accept(listener, nullptr, nullptr);
  const bool works = client >= 0 && server >= 0 && exchange(client, server);
  return close(client) == 0 && at_end(server) && close(server) == 0 && close(listener) == 0 &&
         works;
}

}  // namespace rsock::conformance
