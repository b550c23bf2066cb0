// C streams over a connection, and beside one.
#include <fcntl.h>
#include <poll.h>

#include <cstdio>
#include <cstdlib>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

// A stream over the connection's own descriptor.
FILE* stream_of(Connection& connection, const char* mode) {
  FILE* stream = fdopen(connection.local().release(), mode);
  REQUIRE(stream != nullptr);
  return stream;
}

}  // namespace

CONFORMANCE_CASE("stdio: lines are read from a connection") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  FILE* stream = stream_of(connection, "r");
  connection.remote_sends("first line\nsecond ");
  connection.remote_sends("line\nlast");
  connection.remote_shuts_down_writing();
  char line[64];
  CHECK(std::string(std::fgets(line, sizeof(line), stream)) == "first line\n");
  CHECK(std::string(std::fgets(line, sizeof(line), stream)) == "second line\n");
  CHECK(std::string(std::fgets(line, sizeof(line), stream)) == "last");
  CHECK(std::fgets(line, sizeof(line), stream) == nullptr);
  CHECK(std::feof(stream) != 0);
  CHECK(std::ferror(stream) == 0);
  CHECK_RETURNS(std::fclose(stream), 0);
}

CONFORMANCE_CASE("stdio: formatted text is written when it is flushed") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  FILE* stream = stream_of(connection, "w");
  CHECK(std::fprintf(stream, "%s %d %.2f", "text", 42, 1.5) == 12);
  CHECK(connection.peer().poll(connection.remote(), POLLIN, kNotNowMs).result == 0);
  CHECK_RETURNS(std::fflush(stream), 0);
  CHECK(connection.remote_receives(12) == "text 42 1.50");
  CHECK(std::fclose(stream) == 0);
}

CONFORMANCE_CASE("stdio: one stream reads and writes") {
  const char* mode = GENERATE("r+", "w+", "a+");
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, mode);
  for (int round = 0; round < 10; ++round) {
    CHECK(std::fputs("question\n", stream) >= 0);
    CHECK(std::fflush(stream) == 0);
    CHECK(connection.remote_receives(9) == "question\n");
    connection.remote_sends("answer\n");
    char line[16];
    REQUIRE(std::fgets(line, sizeof(line), stream) != nullptr);
    CHECK(std::string(line) == "answer\n");
  }
  CHECK(std::fclose(stream) == 0);
}

CONFORMANCE_CASE("stdio: fclose sends what is buffered and ends the stream") {
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "w");
  const int number = fileno(stream);
  CHECK(std::fwrite("buffered", 1, 8, stream) == 8);
  CHECK_RETURNS(std::fclose(stream), 0);
  CHECK(connection.remote_receives(9) == "buffered");  // and the end
  CHECK_FAILS(close(number), EBADF);
}

CONFORMANCE_CASE("stdio: fread and fwrite carry a megabyte each way") {
  constexpr std::size_t kBytes = 1 << 20;
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "r+");
  const std::string sent = pattern(1, 0, kBytes);
  connection.peer().start_receive_pattern_to_end(connection.remote(), 1);
  CHECK(std::fwrite(sent.data(), 1, kBytes, stream) == kBytes);
  CHECK(std::fflush(stream) == 0);
  CHECK(shutdown(fileno(stream), SHUT_WR) == 0);
  const Outcome outcome = connection.peer().finish();
  CHECK(outcome.result == static_cast<std::int64_t>(kBytes));
  CHECK(outcome.error == 0);

  connection.peer().start_send_pattern(connection.remote(), 2, 0, kBytes);
  std::string received(kBytes, '\0');
  CHECK(std::fread(received.data(), 1, kBytes, stream) == kBytes);
  CHECK(received == pattern(2, 0, kBytes));
  CHECK(connection.peer().finish().result == static_cast<std::int64_t>(kBytes));
  CHECK(std::fclose(stream) == 0);
}

CONFORMANCE_CASE("stdio: an unbuffered stream and the calls of sockets share one byte stream") {
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "r+");
  CHECK(std::setvbuf(stream, nullptr, _IONBF, 0) == 0);
  const int fd = fileno(stream);
  connection.remote_sends("abcdef");
  CHECK(std::fgetc(stream) == 'a');
  CHECK(receive_all(fd, 1) == "b");
  CHECK(std::fgetc(stream) == 'c');
  char bytes[3];
  CHECK(read(fd, bytes, 3) == 3);
  CHECK(std::string(bytes, 3) == "def");
  std::fputc('1', stream);
  send_all(fd, "2");
  std::fputs("34", stream);
  CHECK(write(fd, "5", 1) == 1);
  CHECK(connection.remote_receives(5) == "12345");
  CHECK(std::fclose(stream) == 0);
}

CONFORMANCE_CASE("stdio: what recv leaves, a stream reads, and ungetc gives back") {
  Connection connection(TestType::family);
  connection.remote_sends("head tail\n");
  CHECK(receive_all(connection.fd(), 5) == "head ");
  FILE* stream = stream_of(connection, "r");
  const int first = std::fgetc(stream);
  CHECK(first == 't');
  CHECK(std::ungetc(first, stream) == 't');
  char word[16] = {};
  CHECK(std::fscanf(stream, "%15s", word) == 1);
  CHECK(std::string(word) == "tail");
  CHECK(std::fclose(stream) == 0);
}

CONFORMANCE_CASE("stdio: a line-buffered stream sends at each newline") {
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "w");
  char buffer[256];
  CHECK(std::setvbuf(stream, buffer, _IOLBF, sizeof(buffer)) == 0);
  std::fputs("line\n", stream);
  CHECK(connection.remote_receives(5) == "line\n");
  std::fputs("no line", stream);
  CHECK(connection.peer().poll(connection.remote(), POLLIN, kNotNowMs).result == 0);
  CHECK(std::fclose(stream) == 0);
  CHECK(connection.remote_receives(8) == "no line");
}

CONFORMANCE_CASE("stdio: one stream to read and one on a copy to write") {
  Connection connection(TestType::family);
  FILE* writer = fdopen(dup(connection.fd()), "w");
  FILE* reader = stream_of(connection, "r");
  std::fputs("out", writer);
  CHECK(std::fclose(writer) == 0);
  CHECK(connection.remote_receives(3) == "out");
  CHECK(remote_sees_no_end(connection));
  connection.remote_sends("in\n");
  char line[8];
  CHECK(std::string(std::fgets(line, sizeof(line), reader)) == "in\n");
  CHECK(std::fclose(reader) == 0);
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("stdio: the number of a closed stream is good for a new connection") {
  for (int round = 0; round < 5; ++round) {
    Connection connection(TestType::family);
    FILE* stream = stream_of(connection, "r+");
    const int number = fileno(stream);
    const Fd listener = listening_socket(TestType::family);
    const Address address = local_address(listener);
    std::fputs("x", stream);
    CHECK(std::fclose(stream) == 0);
    CHECK(connection.remote_receives(2) == "x");
    const Fd client = tcp_socket(TestType::family);
    CHECK(client == number);
    REQUIRE(connect(client, address.generic(), address.length) == 0);
    const Fd server(accept(listener, nullptr, nullptr));
    check_exchange(client, server);
    const std::string data = pattern(7, 0, 30'000);
    send_all(client, data);
    CHECK(receive_all(server, data.size()) == data);
  }
}

CONFORMANCE_CASE("stdio: freopen ends the connection and the stream is the file") {
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "r+");
  const int number = fileno(stream);
  std::fputs("flushed", stream);
  stream = std::freopen("/dev/null", "r+", stream);
  REQUIRE(stream != nullptr);
  CHECK(connection.remote_receives(8) == "flushed");  // and the end
  CHECK(fileno(stream) == number);
  CHECK(std::fgetc(stream) == EOF);
  CHECK_FAILS(send(number, "x", 1, 0), ENOTSOCK);
  CHECK(std::fclose(stream) == 0);
  const LocalPair pair = local_pair(TestType::family);
  check_exchange(pair.client, pair.server);
}

CONFORMANCE_CASE("stdio: a failed freopen ends the connection all the same") {
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "r+");
  CHECK(std::freopen("/nonexistent/file", "r", stream) == nullptr);
  CHECK(errno == ENOENT);
  CHECK(remote_sees_end(connection));
  const LocalPair pair = local_pair(TestType::family);
  check_exchange(pair.client, pair.server);
}

CONFORMANCE_CASE("stdio: fdopen with bad arguments fails and the connection works") {
  Connection connection(TestType::family);
  errno = 0;
  CHECK(fdopen(connection.fd(), "z") == nullptr);
  CHECK(errno == EINVAL);
  errno = 0;
  CHECK(fdopen(350, "r") == nullptr);
  CHECK(errno == EBADF);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("stdio: a file opened at the number of a closed connection") {
  Connection connection(TestType::family);
  const int number = connection.local().release();
  close(number);
  char path[] = "/tmp/conformance-XXXXXX";
  const Fd made(mkstemp(path));
  REQUIRE(made == number);
  FILE* stream = std::fopen(path, "w+");
  REQUIRE(stream != nullptr);
  std::fputs("in the file", stream);
  std::rewind(stream);
  char text[32] = {};
  CHECK(std::fread(text, 1, sizeof(text), stream) == 11);
  CHECK(std::string(text) == "in the file");
  CHECK(std::fclose(stream) == 0);
  unlink(path);
}

CONFORMANCE_CASE("stdio: a stream on a non-blocking connection fails with EAGAIN and goes on") {
  Connection connection(TestType::family);
  set_nonblocking(connection.fd());
  FILE* stream = stream_of(connection, "r");
  errno = 0;
  CHECK(std::fgetc(stream) == EOF);
  CHECK(errno == EAGAIN);
  CHECK(std::ferror(stream) != 0);
  std::clearerr(stream);
  connection.remote_sends("x");
  CHECK((wait_for(fileno(stream), POLLIN) & POLLIN) != 0);
  CHECK(std::fgetc(stream) == 'x');
  CHECK(std::fclose(stream) == 0);
}

CONFORMANCE_CASE("stdio: a stream can't be positioned on a connection") {
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "r+");
  CHECK_FAILS(std::fseek(stream, 0, SEEK_SET), ESPIPE);
  CHECK_FAILS(std::ftell(stream), ESPIPE);
  CHECK_FAILS(lseek(fileno(stream), 0, SEEK_CUR), ESPIPE);
  check_exchange(connection, fileno(stream));
  CHECK(std::fclose(stream) == 0);
}

CONFORMANCE_CASE("stdio: dprintf and vdprintf write to a connection at once") {
  Connection connection(TestType::family);
  CHECK_RETURNS(dprintf(connection.fd(), "%s=%d;", "value", 17), 9);
  CHECK(connection.remote_receives(9) == "value=17;");
  const std::string longer(5000, 'l');
  CHECK_RETURNS(dprintf(connection.fd(), "%s", longer.c_str()), 5000);
  CHECK(connection.remote_receives(5000) == longer);
  CHECK_FAILS(dprintf(350, "x"), EBADF);
}

CONFORMANCE_CASE("stdio: getline grows its buffer over a long line") {
  Connection connection(TestType::family);
  FILE* stream = stream_of(connection, "r");
  const std::string text = std::string(20'000, 'w') + "\n";
  connection.remote_sends(text);
  char* line = nullptr;
  std::size_t room = 0;
  CHECK(getline(&line, &room, stream) == static_cast<ssize_t>(text.size()));
  CHECK(text == line);
  std::free(line);
  CHECK(std::fclose(stream) == 0);
}
