#include "core/stats/process_scan.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace rsock::stats {

namespace {

constexpr std::string_view kLibraryName = "librsock.so";
constexpr std::string_view kSocketLink = "socket:[";
constexpr std::string_view kDeleted = " (deleted)";
constexpr char kEnded[] = "No such process";
constexpr std::size_t kLinkBytes = 128;  // longer than any link that matters here

// A process that runs the shim, before the kernel is asked about its sockets.
struct Found {
  Process process;
  FdsByInode fds;
};

std::string proc_path(int pid, std::string_view rest) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(rest);
}

template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// Calls visit(number, path) for each entry of a directory whose name is a number.
template <typename Visit>
std::error_code for_each_number(const std::string& path, Visit visit) {
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string& entry = entries->path().native();
    if (const auto number =
            parse_number<int>(std::string_view(entry).substr(entry.rfind('/') + 1))) {
      visit(*number, entry);
    }
  }
  return error;
}

std::string link_target(const std::string& path) {
  std::array<char, kLinkBytes> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return {target.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

bool has_library(int pid) {
  std::ifstream maps(proc_path(pid, "maps"));
  for (std::string line; std::getline(maps, line);) {
    if (maps_library(line)) return true;
  }
  return false;
}

std::string command_of(int pid) {
  std::ifstream file(proc_path(pid, "comm"));
  std::string name;
  std::getline(file, name);
  return name;
}

std::string fd_link(int pid, int fd) { return proc_path(pid, "fd/" + std::to_string(fd)); }

// What the process's descriptors and its page say.
std::optional<Found> look_into(int pid, std::string& why) {
  Found found;
  Process& process = found.process;
  process.pid = pid;
  process.program = command_of(pid);
  int page_fd = -1;
  const std::error_code error =
      for_each_number(proc_path(pid, "fd"), [&](int fd, const std::string& path) {
        const std::string target = link_target(path);
        if (const auto inode = parse_socket_link(target)) {
          found.fds[*inode].push_back(fd);
        } else if (is_page_link(target)) {
          page_fd = fd;
        }
      });
  if (error) {
    why = error == std::errc::no_such_file_or_directory ? kEnded : error.message();
    return std::nullopt;
  }
  if (page_fd >= 0) process.page_status = read_page_at(fd_link(pid, page_fd), process.page);
  if (process.page_status == PageStatus::none && !has_library(pid)) {
    why = "does not run librsock.so";
    return std::nullopt;
  }
  if (process.page_status == PageStatus::ok) process.program = process.page.program;
  for (auto& [inode, numbers] : found.fds) std::sort(numbers.begin(), numbers.end());
  return found;
}

}  // namespace

std::optional<std::uint64_t> parse_socket_link(std::string_view target) {
  if (!target.starts_with(kSocketLink) || !target.ends_with("]")) return std::nullopt;
  target.remove_prefix(kSocketLink.size());
  target.remove_suffix(1);
  return parse_number<std::uint64_t>(target);
}

bool is_page_link(std::string_view target) {
  const std::string name = std::string("/memfd:") + kPageName;
  return target == name || target == name + " (deleted)";
}

bool maps_library(std::string_view line) {
  const std::size_t path_at = line.find('/');
  if (path_at == std::string_view::npos) return false;
  std::string_view path = line.substr(path_at);
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file == kLibraryName ||
         (file.starts_with(kLibraryName) && file[kLibraryName.size()] == '.');
}

std::vector<Connection> connections_of(int pid, const PageSnapshot& page, const FdsByInode& fds,
                                       const TcpSockets& sockets) {
  std::vector<Connection> connections;
  std::unordered_map<std::uint64_t, std::size_t> index_of;  // by inode
  for (const RowSnapshot& row : page.rows) {
    const auto held = fds.find(row.inode);
    if (held == fds.end()) continue;  // closed behind the library's back
    if (const auto before = index_of.find(row.inode); before != index_of.end()) {
      connections[before->second].row.tx_tcp_bytes += row.tx_tcp_bytes;
      connections[before->second].row.rx_tcp_bytes += row.rx_tcp_bytes;
      continue;
    }
    Connection connection{row, held->second, {"-", "-", "unconnected"}};
    if (const auto known = sockets.find(row.inode); known != sockets.end()) {
      connection.socket = known->second;
    } else if (parse_socket_link(link_target(fd_link(pid, held->second.front()))) != row.inode) {
      continue;  // closed since its descriptors were listed
    }
    index_of[row.inode] = connections.size();
    connections.push_back(std::move(connection));
  }
  std::sort(connections.begin(), connections.end(),
            [](const Connection& a, const Connection& b) { return a.fds < b.fds; });
  return connections;
}

std::vector<Process> ProcessScan::all() {
  std::vector<Found> all_found;
  for_each_number("/proc", [&all_found](int pid, const std::string&) {
    std::string why;
    if (auto found = look_into(pid, why)) all_found.push_back(std::move(*found));
  });
  // The kernel's tables come last, so that they have every socket that was seen in a page.
  std::vector<Process> processes;
  for (Found& found : all_found) {
    if (add_connections(found.process, found.fds)) processes.push_back(std::move(found.process));
  }
  std::sort(processes.begin(), processes.end(),
            [](const Process& a, const Process& b) { return a.pid < b.pid; });
  return processes;
}

std::optional<Process> ProcessScan::one(int pid, std::string& why) {
  auto found = look_into(pid, why);
  if (!found) return std::nullopt;
  if (add_connections(found->process, found->fds)) return std::move(found->process);
  why = kEnded;
  return std::nullopt;
}

bool ProcessScan::add_connections(Process& process, const FdsByInode& fds) {
  if (process.page_status != PageStatus::ok) return true;
  const TcpSockets* sockets = sockets_of(process.pid);
  if (sockets == nullptr) return false;
  process.connections = connections_of(process.pid, process.page, fds, *sockets);
  return true;
}

const TcpSockets* ProcessScan::sockets_of(int pid) {
  const std::string name = link_target(proc_path(pid, "ns/net"));
  if (name.empty()) return nullptr;
  const auto known = by_namespace_.find(name);
  if (known != by_namespace_.end()) return &known->second;
  auto sockets = tcp_sockets_of(pid);
  if (!sockets) return nullptr;
  return &by_namespace_.emplace(name, std::move(*sockets)).first->second;
}

}  // namespace rsock::stats
