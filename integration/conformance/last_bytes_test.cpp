// Processes that end with bytes under way: all that they wrote arrives, and then the end.
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include <iostream>

#include "integration/conformance/children.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

constexpr std::uint64_t kBytes = 100'000;
constexpr std::uint64_t kSeed = 11;

struct End {
  const char* name;
  int status;  // as wait_for_child() tells it
  void (*end)();
};

// The default action of a signal, whatever Catch made of it.
void die_of(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

const End kEnds[] = {
    {"_exit", 3, [] { _exit(3); }},
    {"_Exit", 4, [] { _Exit(4); }},
    {"quick_exit", 5, [] { quick_exit(5); }},
    {"exit", 6, [] { exit(6); }},
    {"abort", kSignalBase + SIGABRT,
     [] {
       signal(SIGABRT, SIG_DFL);
       abort();
     }},
    {"SIGKILL", kSignalBase + SIGKILL, [] { raise(SIGKILL); }},
    {"SIGTERM", kSignalBase + SIGTERM, [] { die_of(SIGTERM); }},
    {"exec", 0,
     [] {
       execl("/bin/true", "true", nullptr);
       _exit(127);
     }},
};

bool send_the_bytes(int fd) {
  const std::string data = pattern(kSeed, 0, kBytes);
  for (std::size_t sent = 0; sent < data.size();) {
    const ssize_t put = send(fd, data.data() + sent, data.size() - sent, MSG_NOSIGNAL);
    if (put <= 0) return false;
    sent += static_cast<std::size_t>(put);
  }
  return true;
}

// What a child inherits in the buffers of its output must not be written twice.
void flush_output() {
  std::cout.flush();
  fflush(nullptr);
}

void check_all_arrives(Peer& peer, int remote) {
  const Outcome got = peer.receive_pattern_to_end(remote, kSeed);
  CHECK(got.error == 0);
  CHECK(got.result == static_cast<std::int64_t>(kBytes));
}

}  // namespace

CONFORMANCE_CASE("last bytes: of a process that connected, however it ends") {
  for (const End& one : kEnds) {
    INFO(one.name);
    Peer peer;
    std::uint16_t port = 0;
    const int listener = peer.listen(TestType::family, port);
    flush_output();
    CHECK(in_child([&] {
            const int fd = connect_to_port(TestType::family, port);
            CHILD_CHECK(fd >= 0);
            CHILD_CHECK(send_the_bytes(fd));
            one.end();
            return 99;
          }) == one.status);
    check_all_arrives(peer, peer.accept(listener));
  }
}

CONFORMANCE_CASE("last bytes: of a process that accepted, however it ends") {
  for (const End& one : kEnds) {
    INFO(one.name);
    Fd listener = listening_socket(TestType::family);
    Peer peer;
    const int remote = peer.connect(TestType::family, port_of(listener));
    flush_output();
    CHECK(in_child([&] {
            const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
            CHILD_CHECK(fd >= 0);
            CHILD_CHECK(send_the_bytes(fd));
            one.end();
            return 99;
          }) == one.status);
    check_all_arrives(peer, remote);
  }
}

CONFORMANCE_CASE("last bytes: of a child that has the only descriptor of its parent's connection") {
  const Role role = GENERATE(Role::client, Role::server);
  for (const End& one : kEnds) {
    INFO(one.name);
    Connection connection(TestType::family, role);
    flush_output();
    const pid_t child = start_child([&] {
      CHILD_CHECK(receives(connection.fd(), "go"));
      CHILD_CHECK(send_the_bytes(connection.fd()));
      one.end();
      return 99;
    });
    const int remote = connection.remote();
    connection.local().reset();
    connection.remote_sends("go");
    check_all_arrives(connection.peer(), remote);
    CHECK(wait_for_child(child) == one.status);
  }
}

CONFORMANCE_CASE("last bytes: unread ones make a reset of the end of a process") {
  Connection connection(TestType::family);
  const pid_t child = start_child([&] {
    CHILD_CHECK(wait_for(connection.fd(), POLLIN) == POLLIN);
    return 0;
  });
  connection.local().reset();
  connection.remote_sends("unread");
  CHECK(wait_for_child(child) == 0);
  CHECK(connection.peer().receive(connection.remote(), 1).error == ECONNRESET);
}
