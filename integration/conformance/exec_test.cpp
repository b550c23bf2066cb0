// Every exec function, and connections that the new program inherits.
#include <fcntl.h>

#include <cstdlib>
#include <string>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

// Prints its arguments and a variable of its environment.
constexpr char kScript[] = "printf '%s|' \"$0\" \"$@\" \"$CONFORMANCE_VALUE\"";
constexpr char kValue[] = "CONFORMANCE_VALUE=of the environment";

char* argument(const char* text) { return const_cast<char*>(text); }

char* const kArguments[] = {argument("sh"),   argument("-c"),  argument(kScript),
                            argument("zero"), argument("one"), argument("two words"),
                            argument(""),     nullptr};
// Without LD_PRELOAD, so the new program runs without the library.
char* const kEnvironment[] = {argument("PATH=/usr/bin:/bin"), argument(kValue), nullptr};

struct Exec {
  const char* name;
  void (*run)();
  bool gives_environment;
};

const Exec kExecs[] = {
    {"execl",
     [] { execl("/bin/sh", "sh", "-c", kScript, "zero", "one", "two words", "", nullptr); }, false},
    {"execlp", [] { execlp("sh", "sh", "-c", kScript, "zero", "one", "two words", "", nullptr); },
     false},
    {"execle",
     [] {
       execle("/bin/sh", "sh", "-c", kScript, "zero", "one", "two words", "", nullptr,
              kEnvironment);
     },
     true},
    {"execv", [] { execv("/bin/sh", kArguments); }, false},
    {"execvp", [] { execvp("sh", kArguments); }, false},
    {"execve", [] { execve("/bin/sh", kArguments, kEnvironment); }, true},
    {"execvpe", [] { execvpe("sh", kArguments, kEnvironment); }, true},
    {"fexecve", [] { fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), kArguments, kEnvironment); },
     true},
    {"execveat",
     [] { execveat(open("/bin", O_RDONLY | O_CLOEXEC), "sh", kArguments, kEnvironment, 0); }, true},
};

// Runs a shell command with descriptor 8 and, closed by exec, 9 as copies of `fd`.
int run_shell(int fd, const char* command) {
  return in_child([=] {
    dup2(fd, 8);
    dup3(fd, 9, O_CLOEXEC);
    execl("/bin/sh", "sh", "-c", command, nullptr);
    return 127;
  });
}

}  // namespace

CONFORMANCE_CASE("exec: each function passes arguments, environment and the connection") {
  const Exec& exec = kExecs[GENERATE(range(0, static_cast<int>(std::size(kExecs))))];
  INFO(exec.name);
  Connection connection(TestType::family);
  CHECK(in_child([&] {
          if (!exec.gives_environment) putenv(argument(kValue));
          dup2(connection.fd(), STDOUT_FILENO);
          exec.run();
          return 127;
        }) == 0);
  const std::string expected = "zero|one|two words||of the environment|";
  CHECK(remote_sees_no_end(connection));
  CHECK(shutdown(connection.fd(), SHUT_WR) == 0);
  CHECK(connection.remote_receives(expected.size() + 1) == expected);
}

CONFORMANCE_CASE("exec: a failed exec gives its error and leaves the connection working") {
  Connection connection(TestType::family);
  CHECK_FAILS(execl("/nonexistent", "x", nullptr), ENOENT);
  CHECK_FAILS(execlp("nonexistent-program", "x", nullptr), ENOENT);
  CHECK_FAILS(execle("/nonexistent", "x", nullptr, kEnvironment), ENOENT);
  CHECK_FAILS(execv("/dev/null", kArguments), EACCES);
  CHECK_FAILS(execve("/dev", kArguments, kEnvironment), EACCES);
  CHECK_FAILS(execvp("nonexistent-program", kArguments), ENOENT);
  CHECK_FAILS(execvpe("nonexistent-program", kArguments, kEnvironment), ENOENT);
  CHECK_FAILS(fexecve(-1, kArguments, kEnvironment), EINVAL);
  CHECK_FAILS(execveat(-1, "sh", kArguments, kEnvironment, 0), EBADF);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("exec: a program reads an inherited connection") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  connection.remote_sends("line\nrest\n");
  CHECK(run_shell(connection.fd(), "read word <&8 && test \"$word\" = line") == 0);
  CHECK(receive_all(connection.fd(), 5) == "rest\n");
}

CONFORMANCE_CASE("exec: a program copies an inherited connection to itself") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const std::string data = pattern(3, 0, 50'000);
  connection.peer().start_send(connection.remote(), data);
  REQUIRE(connection.peer().finish().result == static_cast<std::int64_t>(data.size()));
  connection.remote_shuts_down_writing();
  CHECK(run_shell(connection.fd(), "cat <&8 >&8") == 0);
  CHECK(connection.remote_receives(data.size()) == data);
  CHECK(remote_sees_no_end(connection));
  connection.local().reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("exec: a descriptor with FD_CLOEXEC is closed in the program") {
  Connection connection(TestType::family);
  CHECK(run_shell(connection.fd(), "true <&8") == 0);
  CHECK(run_shell(connection.fd(), "exec 2>/dev/null; true <&9") != 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE(
    "exec: the last descriptor with FD_CLOEXEC ends the stream as the program starts") {
  Connection connection(TestType::family);
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = start_child([&] {
    dup2(read_end, STDIN_FILENO);
    close(write_end);
    execl("/bin/cat", "cat", nullptr);
    return 127;
  });
  connection.local().reset();
  CHECK(remote_sees_end(connection));  // though the program still runs
  write_end.reset();
  CHECK(wait_for_child(child) == 0);
}

CONFORMANCE_CASE("exec: a program started like inetd does has the connection at 0, 1 and 2") {
  Connection connection(TestType::family, Role::server);
  connection.remote_sends("name\n");
  CHECK(in_child([&] {
          for (const int fd : {0, 1, 2}) dup2(connection.fd(), fd);
          execl("/bin/sh", "sh", "-c", "read name; echo \"hello $name\"; echo error >&2", nullptr);
          return 127;
        }) == 0);
  CHECK(connection.remote_receives(17) == "hello name\nerror\n");
  CHECK(remote_sees_no_end(connection));
}

CONFORMANCE_CASE("exec: an inherited connection works in a program of ours") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const Fd inherited(dup(connection.fd()));
  Peer program;  // inherits it
  connection.local().reset();
  CHECK(program.send(inherited, "from the program").result == 16);
  CHECK(connection.remote_receives(16) == "from the program");
  connection.remote_sends("and back");
  CHECK(program.receive_all(inherited, 8) == "and back");
  check_exchange(connection, inherited);
  program.close(inherited);
  CHECK(remote_sees_no_end(connection));
}

CONFORMANCE_CASE("exec: an inherited listener accepts in a program of ours, as LISTEN_FDS") {
  const Fd listener = listening_socket(TestType::family);
  const Fd inherited(fcntl(listener, F_DUPFD, 0));
  Peer program;
  const Fd client = tcp_socket(TestType::family);
  const Address address = local_address(listener);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  const int accepted = program.accept(inherited);
  CHECK(program.send(accepted, "served").result == 6);
  CHECK(receive_all(client, 6) == "served");
  program.close(accepted);
  CHECK(receive_all(client, 1).empty());
}

CONFORMANCE_CASE("exec: descriptors that are not inherited are free in the program of ours") {
  Connection connection(TestType::family);
  Peer program;
  const Outcome outcome = program.receive(connection.fd(), 1);
  CHECK(outcome.result == -1);
  CHECK(outcome.error == EBADF);
  check_exchange(connection, connection.fd());
}
