#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/stats/page_reader.h"
#include "core/stats/tcp_sockets.h"

namespace rsock::stats {

// A TCP socket that a process under the shim holds.
struct Connection {
  RowSnapshot row;
  std::vector<int> fds;  // all descriptors of the process that name it, ascending
  TcpSocket socket;
};

// A process that runs the shim.
struct Process {
  int pid = 0;
  std::string program;
  PageStatus page_status = PageStatus::none;
  PageSnapshot page;                    // but for its version meaningful with PageStatus::ok
  std::vector<Connection> connections;  // by descriptor, listeners among them
};

using FdsByInode = std::unordered_map<std::uint64_t, std::vector<int>>;  // each ascending

// The inode in the target of a link in /proc/PID/fd: "socket:[4711]".
[[nodiscard]] std::optional<std::uint64_t> parse_socket_link(std::string_view target);

// Whether the target of such a link is a stats page.
[[nodiscard]] bool is_page_link(std::string_view target);

// Whether a line of /proc/PID/maps maps librsock.so (also under a versioned or replaced name).
[[nodiscard]] bool maps_library(std::string_view line);

// The rows whose sockets the process still holds, with what the kernel says of them. A socket that
// has several rows, since the process received it again, is one connection with all their bytes.
[[nodiscard]] std::vector<Connection> connections_of(int pid, const PageSnapshot& page,
                                                     const FdsByInode& fds,
                                                     const TcpSockets& sockets);

// Looks into processes by /proc; it needs no daemon and leaves nothing behind. Only processes
// into which the caller may look are seen (ptrace(2), PTRACE_MODE_READ): one's own, or all for
// root.
class ProcessScan {
 public:
  // All processes that run the shim, by pid. Those that end meanwhile are left out.
  [[nodiscard]] std::vector<Process> all();

  // The process `pid`; nothing if it does not exist, may not be seen or does not run the shim,
  // and `why` says which.
  [[nodiscard]] std::optional<Process> one(int pid, std::string& why);

 private:
  // These two find out only now that a process has ended: false, null.
  bool add_connections(Process& process, const FdsByInode& fds);
  const TcpSockets* sockets_of(int pid);

  std::map<std::string, TcpSockets> by_namespace_;  // each is read once
};

}  // namespace rsock::stats
