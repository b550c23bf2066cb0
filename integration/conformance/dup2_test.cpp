// dup2 and dup3 onto descriptors that are in use.
#include <fcntl.h>
#include <poll.h>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

constexpr int kFreeNumber = 310;

struct Replacer {
  const char* name;
  int (*put)(int from, int to);
};

const Replacer kReplacers[] = {
    {"dup2", [](int from, int to) { return dup2(from, to); }},
    {"dup3", [](int from, int to) { return dup3(from, to, 0); }},
    {"dup3 O_CLOEXEC", [](int from, int to) { return dup3(from, to, O_CLOEXEC); }},
};

const Replacer& any_replacer() {
  return kReplacers[GENERATE(range(0, static_cast<int>(std::size(kReplacers))))];
}

}  // namespace

CONFORMANCE_CASE("dup2: onto an open connection closes that connection") {
  const Replacer& replacer = any_replacer();
  INFO(replacer.name);
  Connection old(TestType::family);
  Connection other(TestType::family);
  const int number = old.fd();
  CHECK_RETURNS(replacer.put(other.fd(), number), number);
  CHECK(remote_sees_end(old));
  check_exchange(other, number);
  other.local().reset();
  check_exchange(other, number);
  old.local().reset();
  CHECK(remote_sees_end(other));
}

CONFORMANCE_CASE("dup2: onto one of two copies leaves the other copy's connection open") {
  Connection old(TestType::family);
  Connection other(TestType::family);
  const Fd copy(dup(old.fd()));
  CHECK_RETURNS(dup2(other.fd(), old.fd()), old.fd());
  CHECK(remote_sees_no_end(old));
  check_exchange(old, copy);
  check_exchange(other, old.fd());
}

CONFORMANCE_CASE("dup2: onto the same number does nothing") {
  Connection connection(TestType::family);
  CHECK_RETURNS(dup2(connection.fd(), connection.fd()), connection.fd());
  CHECK(fcntl(connection.fd(), F_GETFD) == FD_CLOEXEC);
  check_exchange(connection, connection.fd());
  connection.local().reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("dup2: onto another copy of the same stream keeps it open until both close") {
  Connection connection(TestType::family);
  Fd copy(dup(connection.fd()));
  CHECK_RETURNS(dup2(connection.fd(), copy), static_cast<int>(copy));
  check_exchange(connection, copy);
  copy.reset();
  CHECK(remote_sees_no_end(connection));
  connection.local().reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("dup2: a bad source leaves the target's connection open") {
  const Replacer& replacer = any_replacer();
  INFO(replacer.name);
  const int source = GENERATE(-1, kFreeNumber, 1 << 30);
  Connection connection(TestType::family);
  CHECK_FAILS(replacer.put(source, connection.fd()), EBADF);
  CHECK(remote_sees_no_end(connection));
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("dup2: a bad target number fails and leaves the source working") {
  const Replacer& replacer = any_replacer();
  INFO(replacer.name);
  const int target = GENERATE(-1, 1 << 30);
  Connection connection(TestType::family);
  CHECK_FAILS(replacer.put(connection.fd(), target), EBADF);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("dup2: of a bad number onto itself is EBADF") {
  CHECK_FAILS(dup2(kFreeNumber, kFreeNumber), EBADF);
  CHECK_FAILS(dup2(-1, -1), EBADF);
}

CONFORMANCE_CASE("dup3: onto the same number is EINVAL and leaves the connection alone") {
  const int flags = GENERATE(0, O_CLOEXEC);
  Connection connection(TestType::family);
  CHECK_FAILS(dup3(connection.fd(), connection.fd(), flags), EINVAL);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("dup3: unknown flags are EINVAL and leave the target's connection alone") {
  const int flags = GENERATE(O_NONBLOCK, O_APPEND, 1, -1);
  Connection target(TestType::family);
  Connection source(TestType::family);
  CHECK_FAILS(dup3(source.fd(), target.fd(), flags), EINVAL);
  CHECK(remote_sees_no_end(target));
  check_exchange(target, target.fd());
  check_exchange(source, source.fd());
}

CONFORMANCE_CASE("dup2: a file onto a socket closes the connection, and the number is the file") {
  const Replacer& replacer = any_replacer();
  INFO(replacer.name);
  Connection connection(TestType::family);
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK_RETURNS(replacer.put(null, connection.fd()), connection.fd());
  CHECK(remote_sees_end(connection));
  char byte = 0;
  CHECK_RETURNS(read(connection.fd(), &byte, 1), 0);
  CHECK_RETURNS(write(connection.fd(), "abc", 3), 3);
  CHECK_FAILS(send(connection.fd(), "abc", 3, 0), ENOTSOCK);
}

CONFORMANCE_CASE("dup2: a socket onto a file, a pipe and a datagram socket") {
  Connection connection(TestType::family);
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const Fd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd datagram(socket(TestType::family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const int target :
       {static_cast<int>(write_end), static_cast<int>(file), static_cast<int>(datagram)}) {
    CHECK_RETURNS(dup2(connection.fd(), target), target);
    check_exchange(connection, target);
  }
  // The pipe's other end has seen its writer go.
  char byte = 0;
  CHECK_RETURNS(read(read_end, &byte, 1), 0);
}

CONFORMANCE_CASE("dup2: of a half-closed socketpair end onto a connection, as Java pre-closes") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd marker(ends[0]);
  Fd(ends[1]).reset();
  shutdown(marker, SHUT_RDWR);

  Connection connection(TestType::family);
  CHECK_RETURNS(dup2(marker, connection.fd()), connection.fd());
  CHECK(remote_sees_end(connection));
  char byte = 0;
  CHECK_RETURNS(recv(connection.fd(), &byte, 1, 0), 0);
  CHECK_FAILS(send(connection.fd(), "x", 1, MSG_NOSIGNAL), EPIPE);
  const int number = connection.local().release();
  CHECK_RETURNS(close(number), 0);

  // The marker is good for the next one, and the number for a new connection.
  Connection second(TestType::family);
  check_exchange(second, second.fd());
  CHECK_RETURNS(dup2(marker, second.fd()), second.fd());
  CHECK(remote_sees_end(second));
}

CONFORMANCE_CASE("dup2: two connections change their numbers") {
  Connection one(TestType::family);
  Connection two(TestType::family);
  const Fd spare(dup(one.fd()));
  REQUIRE(dup2(two.fd(), one.fd()) == one.fd());
  REQUIRE(dup2(spare, two.fd()) == two.fd());
  check_exchange(one, two.fd());
  check_exchange(two, one.fd());
  CHECK(remote_sees_no_end(one));
  CHECK(remote_sees_no_end(two));
}

CONFORMANCE_CASE("dup2: a listener onto a connection accepts there") {
  Connection connection(TestType::family);
  Fd listener = listening_socket(TestType::family);
  REQUIRE(dup2(listener, connection.fd()) == connection.fd());
  CHECK(remote_sees_end(connection));
  const Address address = local_address(listener);
  listener.reset();
  const Fd client = tcp_socket(TestType::family);
  REQUIRE(connect(client, address.generic(), address.length) == 0);
  const Fd server(accept(connection.fd(), nullptr, nullptr));
  REQUIRE(server >= 0);
  check_exchange(client, server);
}

CONFORMANCE_CASE("dup2: unread data stays with the stream, not with the number") {
  Connection old(TestType::family);
  Connection other(TestType::family);
  const Fd kept(dup(old.fd()));
  old.remote_sends("old");
  other.remote_sends("new");
  REQUIRE((wait_for(old.fd(), POLLIN) & POLLIN) != 0);
  REQUIRE(dup2(other.fd(), old.fd()) == old.fd());
  CHECK(receive_all(old.fd(), 3) == "new");
  CHECK(receive_all(kept, 3) == "old");
}
