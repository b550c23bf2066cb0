#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/base/result.h"
#include "core/os/unique_fd.h"

namespace rsock::upgrade {

// How a client on the same host finds the process that accepts connections on a TCP port: by an
// abstract Unix socket named after the port. Abstract names belong to the network namespace, as
// ports do, and vanish with their owner. All functions are thread-safe and never block.

// Becomes the one to be found for `port`. -EADDRINUSE: another process is; or errno as socket(2).
[[nodiscard]] Result<os::UniqueFd> listen_at_rendezvous(std::uint16_t port) noexcept;

// A connection to the one to be found for `port`. -ECONNREFUSED: there is none; -EAGAIN: it is too
// busy to answer; or errno as socket(2).
[[nodiscard]] Result<os::UniqueFd> connect_at_rendezvous(std::uint16_t port) noexcept;

// A client that has come. -EAGAIN: none; or errno as accept(2).
[[nodiscard]] Result<os::UniqueFd> accept_at_rendezvous(int listener) noexcept;

// Whom the process at the other end of a connected Unix socket runs as: when it connected, or began
// to listen (SO_PEERCRED). errno as getsockopt(2).
[[nodiscard]] Result<uid_t> owner_of_peer(int fd) noexcept;

}  // namespace rsock::upgrade
