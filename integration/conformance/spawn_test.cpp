// posix_spawn, popen and system beside and on connections.
#include <fcntl.h>
#include <spawn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

char* argument(const char* text) { return const_cast<char*>(text); }

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*,
                      const posix_spawnattr_t*, char* const*, char* const*);

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

CONFORMANCE_CASE("spawn: cat with the connection as standard input and output") {
  const bool searches_path = GENERATE(true, false);
  const Spawn spawn = searches_path ? posix_spawnp : posix_spawn;
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  connection.remote_sends("hello cat");
  connection.remote_shuts_down_writing();
  FileActions actions;
  posix_spawn_file_actions_adddup2(actions.get(), connection.fd(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), connection.fd(), STDOUT_FILENO);
  posix_spawn_file_actions_addclose(actions.get(), connection.fd());
  char* const arguments[] = {argument("cat"), nullptr};
  pid_t child = -1;
  REQUIRE(spawn(&child, searches_path ? "cat" : "/bin/cat", actions.get(), nullptr, arguments,
                environ) == 0);
  CHECK(wait_for_child(child) == 0);
  CHECK(connection.remote_receives(9) == "hello cat");
  CHECK(remote_sees_no_end(connection));
  send_all(connection.fd(), "mine");
  CHECK(connection.remote_receives(4) == "mine");
}

CONFORMANCE_CASE("spawn: a file in the place of a connection's number is the child's only") {
  Connection connection(TestType::family);
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), connection.fd(), "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addclosefrom_np(actions.get(), connection.fd() + 1);
  char* const arguments[] = {argument("sh"), argument("-c"), argument("exit 5"), nullptr};
  pid_t child = -1;
  REQUIRE(posix_spawn(&child, "/bin/sh", actions.get(), nullptr, arguments, environ) == 0);
  CHECK(wait_for_child(child) == 5);
  check_exchange(connection, connection.fd());
  const LocalPair pair = local_pair(TestType::family);
  check_exchange(pair.client, pair.server);
}

CONFORMANCE_CASE("spawn: a program that is not there is ENOENT, and the connection works") {
  Connection connection(TestType::family);
  FileActions actions;
  posix_spawn_file_actions_addclose(actions.get(), connection.fd());
  char* const arguments[] = {argument("none"), nullptr};
  pid_t child = -1;
  CHECK(posix_spawn(&child, "/nonexistent", actions.get(), nullptr, arguments, environ) == ENOENT);
  CHECK(posix_spawnp(&child, "nonexistent-program", nullptr, nullptr, arguments, environ) ==
        ENOENT);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("spawn: the environment given is the one the program has") {
  Connection connection(TestType::family);
  FileActions actions;
  posix_spawn_file_actions_adddup2(actions.get(), connection.fd(), STDOUT_FILENO);
  char* const arguments[] = {argument("sh"), argument("-c"), argument("printf '%s' \"$ONE$TWO\""),
                             nullptr};
  char* const environment[] = {argument("ONE=first"), argument("TWO=second"), nullptr};
  pid_t child = -1;
  REQUIRE(posix_spawn(&child, "/bin/sh", actions.get(), nullptr, arguments, environment) == 0);
  CHECK(wait_for_child(child) == 0);
  CHECK(connection.remote_receives(11) == "firstsecond");
}

CONFORMANCE_CASE("spawn: popen reads from and writes to a program") {
  Connection connection(TestType::family);
  FILE* output = popen("printf 'of a program'", "r");
  REQUIRE(output != nullptr);
  char text[32] = {};
  CHECK(std::fread(text, 1, sizeof(text), output) == 12);
  CHECK(std::string(text) == "of a program");
  CHECK(pclose(output) == 0);

  const Fd inherited(dup2(connection.fd(), 8));
  FILE* input = popen("cat >&8", "w");
  REQUIRE(input != nullptr);
  std::fprintf(input, "number %d", 8);
  CHECK(pclose(input) == 0);
  CHECK(connection.remote_receives(8) == "number 8");
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("spawn: popen at the number of a closed connection") {
  Connection connection(TestType::family);
  close(connection.local().release());
  for (int round = 0; round < 3; ++round) {
    FILE* output = popen("printf text; exit 3", "r");
    REQUIRE(output != nullptr);
    char text[8] = {};
    CHECK(std::fgets(text, sizeof(text), output) != nullptr);
    CHECK(std::string(text) == "text");
    CHECK(WEXITSTATUS(pclose(output)) == 3);
    const LocalPair pair = local_pair(TestType::family);
    check_exchange(pair.client, pair.server);
  }
}

CONFORMANCE_CASE("spawn: system runs a command that writes to the connection") {
  Connection connection(TestType::family);
  const Fd inherited(dup2(connection.fd(), 8));
  const int status = std::system("printf through >&8; exit 4");
  CHECK(WEXITSTATUS(status) == 4);
  CHECK(connection.remote_receives(7) == "through");
  check_exchange(connection, connection.fd());
}
