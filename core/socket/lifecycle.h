#pragma once

#include <sys/socket.h>

#include "core/socket/socket_table.h"

namespace rsock::socket {

// What the table learns from the calls that make and change sockets. Each function is called
// after the kernel has done the call. Thread-safe and async-signal-safe; errno may change.

// `fd` came from socket(domain, type, protocol): followed if it is a TCP socket.
void socket_made(int fd, int domain, int type, int protocol) noexcept;

// listen() has succeeded.
void now_listening(int fd) noexcept;

// `fd` came from accept() on `listener`, from a peer with an address of `family`.
void connection_accepted(int listener, int fd, sa_family_t family) noexcept;

// connect(fd, address), or a send that connects, has succeeded or goes on in the background.
void connection_begun(int fd, const sockaddr* address) noexcept;

// `fd` has come to this process by other ways (exec, SCM_RIGHTS): followed if it is a TCP socket.
void adopt(int fd) noexcept;

// Adopts the descriptors that a program is told to expect at its start: 0, 1 and 2 (inetd), and
// 3 onwards as many as LISTEN_FDS says (systemd's socket activation).
void adopt_inherited() noexcept;

// Follows or forgets the descriptors that recvmsg() has put into `message`.
void descriptors_received(const msghdr& message) noexcept;

}  // namespace rsock::socket
