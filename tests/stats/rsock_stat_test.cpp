// The tool itself, run as a process.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/os/inode.h"
#include "tests/os/drop_internal_fds.h"
#include "tests/socket/sockets.h"
#include "tests/stats/page_file.h"

namespace {

using namespace rsock::stats;
using rsock::os::inode_of;
using rsock::testing::PageFile;
using rsock::testing::TestFd;

constexpr int kNoExec = 127;

// Starts rsock-stat with `output` as its standard output.
pid_t start(std::vector<std::string> arguments, int output) {
  arguments.insert(arguments.begin(), RSOCK_STAT);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const int quiet = open("/dev/null", O_WRONLY);
  if (quiet >= 0) dup2(quiet, STDERR_FILENO);
  dup2(output, STDOUT_FILENO);
  execv(RSOCK_STAT, words.data());
  _exit(kNoExec);
}

// The exit status, or -1 if a signal ended the process.
int status_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int status_with(const char* file, const std::vector<std::string>& arguments) {
  const TestFd output(open(file, O_WRONLY | O_CLOEXEC));
  REQUIRE(output >= 0);
  return status_of(start(arguments, output));
}

std::string output_of(const std::vector<std::string>& arguments) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const TestFd from(ends[0]);
  TestFd to(ends[1]);
  const pid_t child = start(arguments, to);
  to.reset();
  std::string text;
  char block[4096];
  for (ssize_t bytes = 0; (bytes = read(from, block, sizeof(block))) > 0;) {
    text.append(block, static_cast<std::size_t>(bytes));
  }
  CHECK(status_of(child) == 0);
  return text;
}

TEST_CASE("rsock-stat tells right usage from wrong") {
  for (const char* argument : {"list", "--json", "--listening", "--help", "--version"}) {
    INFO(argument);
    CHECK(status_with("/dev/null", {argument}) == 0);
  }
  for (const char* argument : {"lists", "--jsn", "--pid", "--pid=x", "--pid=0", "--pid=1x"}) {
    INFO(argument);
    CHECK(status_with("/dev/null", {argument}) == 2);
  }
}

TEST_CASE("rsock-stat fails for a process that it is asked for and can't show") {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(status_with("/dev/null", {"--pid", std::to_string(child)}) == 1);
}

TEST_CASE("rsock-stat fails when its output does not arrive") {
  for (const char* argument : {"list", "--json", "--help", "--version"}) {
    INFO(argument);
    CHECK(status_with("/dev/full", {argument}) == 1);
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]);
    const TestFd broken(ends[1]);
    CHECK(status_of(start({argument}, broken)) == 1);
  }
}

TEST_CASE("rsock-stat lists what a page says and the kernel confirms") {
  rsock::testing::drop_internal_fds();
  PageFile page(2);
  const TestFd listening = rsock::testing::listener();
  const TestFd client = rsock::testing::connected_to(listening);
  const std::string port = std::to_string(ntohs(rsock::testing::address_of(listening).sin_port));
  page.use_row(0, inode_of(listening), listening);
  page.row(0).role = Role::listener;
  page.use_row(1, inode_of(client), client);
  page.row(1).role = Role::client;
  page.row(1).reason = Reason::no_transport;
  page.row(1).tx_tcp_bytes = 5'000'000'000;
  const std::string pid = std::to_string(getpid());

  const auto listing = nlohmann::json::parse(output_of({"--json", "--pid", pid}));
  CHECK(listing["schema"] == "rsock-stat/1");
  REQUIRE(listing["processes"].size() == 1);
  const auto& process = listing["processes"][0];
  CHECK(process["pid"] == getpid());
  REQUIRE(process["connections"].size() == 1);
  const auto& connection = process["connections"][0];
  CHECK(connection["fds"] == std::vector<int>{client});
  CHECK(connection["peer"] == "127.0.0.1:" + port);
  CHECK(connection["state"] == "established");
  CHECK(connection["tx_tcp_bytes"] == 5'000'000'000);
  REQUIRE(process["listeners"].size() == 1);
  CHECK(process["listeners"][0]["local"] == "127.0.0.1:" + port);

  const std::string table = output_of({"--pid", pid});
  CHECK(std::count(table.begin(), table.end(), '\n') == 2);
  CHECK(table.find("  4.7 GiB  0 B  not upgraded: ") != std::string::npos);
  const std::string longer = output_of({"list", "--listening", "--pid=" + pid});
  CHECK(std::count(longer.begin(), longer.end(), '\n') == 3);
}

}  // namespace
