#include "core/stats/tcp_sockets.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <sstream>

namespace {

using namespace rsock::stats;

TEST_CASE("addresses are written as people write them") {
  CHECK(parse_address("0100007F:1F90") == "127.0.0.1:8080");
  CHECK(parse_address("00000000:0000") == "0.0.0.0:0");
  CHECK(parse_address("00000000000000000000000001000000:0050") == "[::1]:80");
  CHECK(parse_address("0000000000000000FFFF00000100007F:0050") == "127.0.0.1:80");
  CHECK(parse_address("B80D0120000000000000000001000000:FFFF") == "[2001:db8::1]:65535");
}

TEST_CASE("what is no address gives none") {
  for (const char* text : {"", ":", "0100007F", "0100007F:", "0100007F:1F90Z", "0100007:1F90",
                           "0100007G:1F90", "0100007F:12345", "0100007F0100007F:0050"}) {
    INFO(text);
    CHECK_FALSE(parse_address(text).has_value());
  }
}

TEST_CASE("a file of the kernel's is read, and its broken lines are not") {
  std::istringstream file(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:1F90 0200007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 "
      "4711 1 0000000000000000 20 4 30 10 -1\n"
      "   1: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "4712 1\n"
      "   2: 0100007F:1F92 00000000:0000 63 00000000:00000000 00:00000000 00000000     0        0 "
      "4713 1\n"
      "   3: 0100007F:1F93 00000000:0000 06 00000000:00000000 00:00000000 00000000     0        0 "
      "0\n"
      "   4: nonsense 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4714\n"
      "   5: 0100007F\n"
      "\n");
  TcpSockets sockets;
  parse_tcp_sockets(file, sockets);
  REQUIRE(sockets.size() == 3);
  CHECK(sockets[4711].local == "127.0.0.1:8080");
  CHECK(sockets[4711].peer == "127.0.0.2:50000");
  CHECK(sockets[4711].state == "established");
  CHECK(sockets[4712].state == kListening);
  CHECK(sockets[4713].state == "unknown");
}

TEST_CASE("no sockets and a process that has ended are told apart") {
  CHECK(tcp_sockets_of(getpid()).has_value());
  const pid_t child = fork();
  if (child == 0) _exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK_FALSE(tcp_sockets_of(child).has_value());
}

}  // namespace
