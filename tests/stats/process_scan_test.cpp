#include "core/stats/process_scan.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "core/os/inode.h"
#include "core/stats/report.h"
#include "tests/os/drop_internal_fds.h"
#include "tests/socket/sockets.h"
#include "tests/stats/page_file.h"

namespace {

using namespace rsock::stats;
using rsock::os::inode_of;
using rsock::testing::connected_to;
using rsock::testing::listener;
using rsock::testing::PageFile;
using rsock::testing::TestFd;

TEST_CASE("links of /proc are told apart") {
  CHECK(parse_socket_link("socket:[4711]") == 4711U);
  for (const char* text :
       {"", "socket:[]", "socket:[12", "socket:[x]", "pipe:[12]", "/socket:[1]"}) {
    CHECK_FALSE(parse_socket_link(text).has_value());
  }
  CHECK(is_page_link("/memfd:rsock-stats (deleted)"));
  CHECK(is_page_link("/memfd:rsock-stats"));
  CHECK_FALSE(is_page_link("/memfd:rsock-stats2 (deleted)"));
  CHECK_FALSE(is_page_link("/tmp/memfd:rsock-stats"));
}

TEST_CASE("the library is found in a map under its names") {
  const std::string before = "7f00-7f01 r-xp 00000000 fe:00 123    ";
  CHECK(maps_library(before + "/usr/lib/librsock.so"));
  CHECK(maps_library(before + "/a path/librsock.so.0.1 (deleted)"));
  CHECK_FALSE(maps_library(before + "/usr/lib/librsock.sox"));
  CHECK_FALSE(maps_library(before + "/usr/lib/notlibrsock.so"));
  CHECK_FALSE(maps_library(before + "/librsock.so/other"));
  CHECK_FALSE(maps_library(before + "[heap]"));
  CHECK_FALSE(maps_library(""));
}

const Connection* with_fd(const Process& process, int fd) {
  for (const Connection& connection : process.connections) {
    if (std::count(connection.fds.begin(), connection.fds.end(), fd) > 0) return &connection;
  }
  return nullptr;
}

TEST_CASE("a process with a page is found, with the sockets that it still holds") {
  rsock::testing::drop_internal_fds();
  PageFile page(8);
  const TestFd listening = listener();
  TestFd client = connected_to(listening);
  const TestFd copy(dup(client));
  page.use_row(0, inode_of(listening), listening);
  page.row(0).role = Role::listener;
  page.use_row(3, inode_of(client), client);
  page.row(3).role = Role::client;
  page.use_row(4, 1, 99);  // closed behind the library's back
  ProcessScan scan;
  std::string why;
  const auto process = scan.one(getpid(), why);
  REQUIRE(process.has_value());
  CHECK(process->page_status == PageStatus::ok);
  CHECK(process->program == "tester");
  CHECK(process->connections.size() == 2);
  const Connection* shown = with_fd(*process, client);
  REQUIRE(shown != nullptr);
  CHECK(shown->fds == std::vector<int>{client, copy});
  CHECK(shown->socket.state == "established");
  CHECK(shown->socket.peer ==
        "127.0.0.1:" + std::to_string(ntohs(rsock::testing::address_of(listening).sin_port)));
  REQUIRE(with_fd(*process, listening) != nullptr);
  CHECK(with_fd(*process, listening)->socket.state == kListening);

  const auto all = scan.all();
  CHECK(
      std::any_of(all.begin(), all.end(), [](const Process& one) { return one.pid == getpid(); }));
}

TEST_CASE("a process that is killed leaves nothing to be found") {
  rsock::testing::drop_internal_fds();
  const pid_t child = fork();
  if (child == 0) {
    const PageFile page(1);
    pause();
  }
  std::string why;
  while (!ProcessScan().one(child, why)) usleep(1000);
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK_FALSE(ProcessScan().one(child, why));
  CHECK(why == "No such process");
}

TEST_CASE("a process without the library is said to be that") {
  rsock::testing::drop_internal_fds();
  std::string why;
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  CHECK_FALSE(ProcessScan().one(child, why));
  CHECK(why == "does not run librsock.so");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("a socket that the kernel's table lacks is shown as long as the process holds it") {
  const TestFd fresh = rsock::testing::tcp_socket();
  const std::uint64_t inode = inode_of(fresh);
  PageSnapshot page;
  page.rows.push_back({inode, fresh, 0, 0, 0, Reason::none, Role::fresh, Path::tcp});
  const auto shown = connections_of(getpid(), page, {{inode, {fresh}}}, {});
  REQUIRE(shown.size() == 1);
  CHECK(shown.front().socket.state == "unconnected");
  CHECK(shown.front().socket.local == "-");
  // The descriptor has become another socket's since the descriptors were listed.
  page.rows.front().inode = inode + 1;
  CHECK(connections_of(getpid(), page, {{inode + 1, {fresh}}}, {}).empty());
}

TEST_CASE("a socket with two rows is one connection with the bytes of both") {
  PageSnapshot page;
  page.rows.push_back({7, 3, 0, 10, 20, Reason::marked, Role::client, Path::tcp});
  page.rows.push_back({7, 4, 0, 1, 2, Reason::none, Role::inherited, Path::tcp});
  const auto shown = connections_of(getpid(), page, {{7, {3, 4}}}, {{7, {"a", "b", "c"}}});
  REQUIRE(shown.size() == 1);
  CHECK(shown.front().row.tx_tcp_bytes == 11);
  CHECK(shown.front().row.rx_tcp_bytes == 22);
  CHECK(shown.front().row.role == Role::client);
}

TEST_CASE("ten thousand connections are listed without trouble") {
  constexpr std::uint32_t kRows = 10'000;
  PageFile file(kRows);
  FdsByInode fds;
  TcpSockets sockets;
  for (std::uint32_t index = 0; index < kRows; ++index) {
    const int fd = static_cast<int>(kRows - index);
    file.use_row(index, index + 1, fd);
    fds[index + 1] = {fd};
    sockets[index + 1] = {"127.0.0.1:1", "127.0.0.1:2", "established"};
  }
  Process process;
  REQUIRE(read_page(file.fd(), process.page) == PageStatus::ok);
  process.page_status = PageStatus::ok;
  process.connections = connections_of(getpid(), process.page, fds, sockets);
  REQUIRE(process.connections.size() == kRows);
  CHECK(process.connections.front().fds == std::vector<int>{1});
  CHECK(process.connections.back().fds == std::vector<int>{kRows});
  std::ostringstream out;
  print_table(out, {process}, true);
  const std::string text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == kRows + 1);
}

}  // namespace
