#include "core/stats/process_scan.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unordered_map>

namespace rsock::stats {

namespace {

constexpr std::string_view kLibraryName = "librsock.so";
constexpr std::size_t kLinkBytes = 128;  // longer than any link that matters here

using FdsByInode = std::unordered_map<std::uint64_t, std::vector<int>>;

std::string proc_path(int pid, std::string_view rest) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(rest);
}

std::optional<int> parse_int(std::string_view text) {
  int number = 0;
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
    if (const auto number = parse_int(std::string_view(entry).substr(entry.rfind('/') + 1))) {
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

void read_page_of(int pid, int page_fd, Process& process) {
  if (page_fd < 0) return;
  const int fd =
      open(proc_path(pid, "fd/" + std::to_string(page_fd)).c_str(), O_RDONLY | O_CLOEXEC);
  process.page_status = fd < 0 ? PageStatus::unreadable : read_page(fd, process.page);
  if (fd >= 0) close(fd);
}

// The rows whose sockets the process still holds, with what the kernel says of them.
std::vector<Connection> connect_rows(const PageSnapshot& page, const FdsByInode& fds,
                                     const TcpSockets& sockets) {
  std::vector<Connection> connections;
  for (const RowSnapshot& row : page.rows) {
    const auto held = fds.find(row.inode);
    if (held == fds.end()) continue;  // closed behind the library's back
    const auto known = sockets.find(row.inode);
    Connection connection{row, held->second, {"-", "-", "unconnected"}};
    if (known != sockets.end()) connection.socket = known->second;
    connections.push_back(std::move(connection));
  }
  std::sort(connections.begin(), connections.end(),
            [](const Connection& a, const Connection& b) { return a.fds < b.fds; });
  return connections;
}

}  // namespace

std::optional<std::uint64_t> parse_socket_link(std::string_view target) {
  constexpr std::string_view kBefore = "socket:[";
  if (!target.starts_with(kBefore) || !target.ends_with("]")) return std::nullopt;
  target.remove_prefix(kBefore.size());
  target.remove_suffix(1);
  std::uint64_t inode = 0;
  const auto result = std::from_chars(target.data(), target.data() + target.size(), inode);
  if (result.ec != std::errc() || result.ptr != target.data() + target.size()) return std::nullopt;
  return inode;
}

bool is_page_link(std::string_view target) {
  const std::string name = std::string("/memfd:") + kPageName;
  return target == name || target == name + " (deleted)";
}

bool maps_library(std::string_view line) {
  const std::size_t path_at = line.find('/');
  if (path_at == std::string_view::npos) return false;
  std::string_view path = line.substr(path_at);
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file == kLibraryName ||
         (file.starts_with(kLibraryName) && file[kLibraryName.size()] == '.');
}

std::vector<Process> ProcessScan::all() {
  std::vector<Process> processes;
  for_each_number("/proc", [this, &processes](int pid, const std::string&) {
    std::string why;
    if (auto process = one(pid, why)) processes.push_back(std::move(*process));
  });
  std::sort(processes.begin(), processes.end(),
            [](const Process& a, const Process& b) { return a.pid < b.pid; });
  return processes;
}

std::optional<Process> ProcessScan::one(int pid, std::string& why) {
  Process process;
  process.pid = pid;
  process.program = command_of(pid);
  FdsByInode fds;
  int page_fd = -1;
  const std::error_code error =
      for_each_number(proc_path(pid, "fd"), [&fds, &page_fd](int fd, const std::string& path) {
        const std::string target = link_target(path);
        if (const auto inode = parse_socket_link(target)) {
          fds[*inode].push_back(fd);
        } else if (is_page_link(target)) {
          page_fd = fd;
        }
      });
  if (error) {
    why = error.message();
    return std::nullopt;
  }
  if (page_fd < 0 && !has_library(pid)) {
    why = "does not run librsock.so";
    return std::nullopt;
  }
  for (auto& [inode, numbers] : fds) std::sort(numbers.begin(), numbers.end());
  read_page_of(pid, page_fd, process);
  if (process.page_status == PageStatus::ok) {
    process.program = process.page.program;
    process.connections = connect_rows(process.page, fds, sockets_of(pid));
  }
  return process;
}

const TcpSockets& ProcessScan::sockets_of(int pid) {
  const std::string name = link_target(proc_path(pid, "ns/net"));
  const auto known = by_namespace_.find(name);
  if (known != by_namespace_.end() && !name.empty()) return known->second;
  return by_namespace_[name] = tcp_sockets_of(pid);
}

}  // namespace rsock::stats
