// The flags of recv and its kin.
#include <poll.h>
#include <sys/ioctl.h>

#include "integration/conformance/harness.h"

using namespace rsock::conformance;

CONFORMANCE_CASE("receive flags: MSG_PEEK looks without taking, in recv and in recvmsg") {
  Connection connection(TestType::family);
  connection.remote_sends("peek");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  char buffer[8] = {};
  CHECK_RETURNS(recv(connection.fd(), buffer, 2, MSG_PEEK), 2);
  CHECK_RETURNS(recv(connection.fd(), buffer, 8, MSG_PEEK), 4);
  iovec parts[2] = {{buffer, 1}, {buffer + 4, 3}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  CHECK_RETURNS(recvmsg(connection.fd(), &message, MSG_PEEK), 4);
  CHECK(std::string(buffer + 4, 3) == "eek");
  CHECK(receive_all(connection.fd(), 4) == "peek");
}

CONFORMANCE_CASE("receive flags: MSG_PEEK waits for the first byte") {
  Connection connection(TestType::family);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  char byte = 0;
  CHECK(recv(connection.fd(), &byte, 1, MSG_PEEK) == 1);
  CHECK(connection.peer().finish().error == 0);
  CHECK(recv(connection.fd(), &byte, 1, 0) == 1);
}

CONFORMANCE_CASE("receive flags: MSG_WAITALL waits for all, or for the end") {
  Connection connection(TestType::family);
  connection.remote_sends("12");
  connection.peer().start_send_later(connection.remote(), "345", 20);
  char buffer[8];
  CHECK(recv(connection.fd(), buffer, 5, MSG_WAITALL) == 5);
  CHECK(connection.peer().finish().error == 0);
  connection.remote_sends("67");
  connection.peer().start_close_later(connection.remote(), 20);
  CHECK(recv(connection.fd(), buffer, 5, MSG_WAITALL) == 2);
  CHECK(recv(connection.fd(), buffer, 5, MSG_WAITALL) == 0);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("receive flags: MSG_WAITALL fills all parts of a message") {
  Connection connection(TestType::family);
  connection.remote_sends("abc");
  connection.peer().start_send_later(connection.remote(), "def", 20);
  char buffer[6];
  iovec parts[2] = {{buffer, 2}, {buffer + 2, 4}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  CHECK(recvmsg(connection.fd(), &message, MSG_WAITALL) == 6);
  CHECK(std::string(buffer, 6) == "abcdef");
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("receive flags: MSG_DONTWAIT is for one call") {
  Connection connection(TestType::family);
  char byte;
  CHECK_FAILS(recv(connection.fd(), &byte, 1, MSG_DONTWAIT), EAGAIN);
  CHECK_FAILS(recv(connection.fd(), &byte, 1, MSG_DONTWAIT | MSG_WAITALL), EAGAIN);
  connection.peer().start_send_later(connection.remote(), "x", 20);
  CHECK(recv(connection.fd(), &byte, 1, 0) == 1);
  CHECK(connection.peer().finish().error == 0);
}

CONFORMANCE_CASE("receive flags: MSG_TRUNC throws away what it counts") {
  Connection connection(TestType::family);
  connection.remote_sends("abcdef");
  REQUIRE(wait_for(connection.fd(), POLLIN) == POLLIN);
  char buffer[4] = {'-', '-', '-', '-'};
  CHECK_RETURNS(recv(connection.fd(), buffer, 4, MSG_TRUNC), 4);
  CHECK(buffer[0] == '-');
  CHECK(receive_all(connection.fd(), 2) == "ef");
}

CONFORMANCE_CASE("receive flags: MSG_OOB gets the urgent byte out of line") {
  Connection connection(TestType::family);
  REQUIRE(connection.peer().send(connection.remote(), "a!", MSG_OOB).result == 2);
  REQUIRE((wait_for(connection.fd(), POLLPRI) & POLLPRI) != 0);
  char byte = 0;
  CHECK(recv(connection.fd(), &byte, 1, 0) == 1);
  CHECK(byte == 'a');
  CHECK_RETURNS(sockatmark(connection.fd()), 1);
  CHECK_RETURNS(recv(connection.fd(), &byte, 1, MSG_OOB), 1);
  CHECK(byte == '!');
  CHECK_FAILS(recv(connection.fd(), &byte, 1, MSG_OOB), EINVAL);
}

CONFORMANCE_CASE("receive flags: MSG_OOB without urgent data fails with EINVAL") {
  Connection connection(TestType::family);
  char byte;
  CHECK_FAILS(recv(connection.fd(), &byte, 1, MSG_OOB), EINVAL);
}

CONFORMANCE_CASE("receive flags: SO_OOBINLINE leaves the urgent byte in the stream, and its mark") {
  Connection connection(TestType::family);
  const int on = 1;
  REQUIRE(setsockopt(connection.fd(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) == 0);
  connection.remote_sends("ab");
  REQUIRE(connection.peer().send(connection.remote(), "!", MSG_OOB).result == 1);
  connection.remote_sends("cd");
  REQUIRE((wait_for(connection.fd(), POLLPRI) & POLLPRI) != 0);
  char buffer[8];
  // A read stops at the mark.
  CHECK(recv(connection.fd(), buffer, 8, 0) == 2);
  int at_mark = 0;
  CHECK(ioctl(connection.fd(), SIOCATMARK, &at_mark) == 0);
  CHECK(at_mark == 1);
  CHECK(receive_all(connection.fd(), 3) == "!cd");
  CHECK(sockatmark(connection.fd()) == 0);
}

CONFORMANCE_CASE("receive flags: MSG_ERRQUEUE on an empty queue fails with EAGAIN") {
  Connection connection(TestType::family);
  connection.remote_sends("x");
  char byte;
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  CHECK_FAILS(recvmsg(connection.fd(), &message, MSG_ERRQUEUE), EAGAIN);
  CHECK(receive_all(connection.fd(), 1) == "x");
}
