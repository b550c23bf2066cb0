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
  CHECK(why == "No such file or directory");
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

TEST_CASE("ten thousand rows are listed without trouble") {
  rsock::testing::drop_internal_fds();
  constexpr std::uint32_t kRows = 10'000;
  PageFile page(kRows);
  const TestFd listening = listener();
  for (std::uint32_t index = 0; index < kRows; ++index) page.use_row(index, inode_of(listening), 3);
  std::string why;
  const auto process = ProcessScan().one(getpid(), why);
  REQUIRE(process.has_value());
  CHECK(process->connections.size() == kRows);
  std::ostringstream out;
  print_table(out, {*process}, true);
  const std::string text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == kRows + 1);
}

}  // namespace
