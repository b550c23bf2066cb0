// sendfile, splice and their kin: bytes that never pass through the program.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

constexpr std::size_t kBigBytes = 6 << 20;

// A file in memory that holds the pattern of `seed`, positioned at its start.
Fd pattern_file(std::uint64_t seed, std::size_t bytes) {
  Fd file(memfd_create("conformance", MFD_CLOEXEC));
  const std::string data = pattern(seed, 0, bytes);
  REQUIRE(pwrite(file, data.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  return file;
}

struct Pipe {
  Pipe() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
  Fd out;  // read from here
  Fd in;   // write to here
};

}  // namespace

CONFORMANCE_CASE("sendfile: without an offset it moves the file's position") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const Fd file = pattern_file(1, 1000);
  REQUIRE(lseek(file, 100, SEEK_SET) == 100);
  CHECK_RETURNS(sendfile(connection.fd(), file, nullptr, 300), 300);
  CHECK(lseek(file, 0, SEEK_CUR) == 400);
  CHECK(connection.remote_receives(300) == pattern(1, 100, 300));
  CHECK_RETURNS(sendfile64(connection.fd(), file, nullptr, 10'000), 600);
  CHECK(connection.remote_receives(600) == pattern(1, 400, 600));
  CHECK_RETURNS(sendfile(connection.fd(), file, nullptr, 10), 0);
}

CONFORMANCE_CASE("sendfile: with an offset it moves that and not the file's position") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const Fd file = pattern_file(2, 1000);
  off_t offset = 200;
  CHECK_RETURNS(sendfile(connection.fd(), file, &offset, 300), 300);
  CHECK(offset == 500);
  off64_t wide = 900;
  CHECK_RETURNS(sendfile64(connection.fd(), file, &wide, 300), 100);
  CHECK(wide == 1000);
  CHECK(lseek(file, 0, SEEK_CUR) == 0);
  CHECK(connection.remote_receives(400) == pattern(2, 200, 300) + pattern(2, 900, 100));
}

CONFORMANCE_CASE("sendfile: between send calls the bytes keep their order") {
  Connection connection(TestType::family);
  const Fd file = pattern_file(3, 5000);
  send_all(connection.fd(), "header");
  CHECK_RETURNS(sendfile(connection.fd(), file, nullptr, 5000), 5000);
  send_all(connection.fd(), "trailer");
  CHECK(connection.remote_receives(5013) == "header" + pattern(3, 0, 5000) + "trailer");
}

CONFORMANCE_CASE("sendfile: a big file goes through a blocking connection") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const Fd file = pattern_file(4, kBigBytes);
  connection.peer().start_receive_pattern_to_end(connection.remote(), 4);
  std::size_t sent = 0;
  while (sent < kBigBytes) {
    const ssize_t put = sendfile(connection.fd(), file, nullptr, kBigBytes - sent);
    REQUIRE(put > 0);
    sent += static_cast<std::size_t>(put);
  }
  CHECK(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome outcome = connection.peer().finish();
  CHECK(outcome.result == static_cast<std::int64_t>(kBigBytes));
  CHECK(outcome.error == 0);
}

CONFORMANCE_CASE("sendfile: on a full non-blocking connection it is partial, then EAGAIN") {
  Connection connection(TestType::family);
  constexpr std::size_t kMore = 32 << 20;  // more than any socket buffers hold
  const Fd file(memfd_create("conformance", MFD_CLOEXEC));
  REQUIRE(ftruncate(file, kMore) == 0);
  set_nonblocking(connection.fd());
  off_t offset = 0;
  off_t total = 0;
  for (;;) {
    const ssize_t put = sendfile(connection.fd(), file, &offset, kMore);
    if (put < 0) break;
    total += put;
    REQUIRE(offset == total);
    REQUIRE(put > 0);
  }
  CHECK(errno == EAGAIN);
  CHECK(offset == total);
  CHECK(total > 0);
  CHECK(total < static_cast<off_t>(kMore));
  const auto bytes = static_cast<std::size_t>(total);
  CHECK(connection.remote_receives(bytes) == std::string(bytes, '\0'));
}

CONFORMANCE_CASE("sendfile: errors, and the connection works after them") {
  Connection connection(TestType::family);
  const Fd file = pattern_file(5, 100);
  const Fd unreadable(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Pipe pipe;
  off_t negative = -1;
  off_t zero = 0;
  CHECK_FAILS(sendfile(connection.fd(), -1, nullptr, 10), EBADF);
  CHECK_FAILS(sendfile(-1, file, nullptr, 10), EBADF);
  CHECK_FAILS(sendfile(connection.fd(), unreadable, nullptr, 10), EBADF);
  CHECK_FAILS(sendfile(connection.fd(), file, &negative, 10), EINVAL);
  CHECK_FAILS(sendfile(connection.fd(), pipe.out, &zero, 10), ESPIPE);
  CHECK_FAILS(sendfile(file, connection.fd(), nullptr, 10), EINVAL);
  CHECK_RETURNS(sendfile(connection.fd(), file, nullptr, 0), 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("sendfile: after shutdown it is EPIPE") {
  Connection connection(TestType::family);
  const Fd file = pattern_file(6, 100);
  REQUIRE(shutdown(connection.fd(), SHUT_WR) == 0);
  auto* before = signal(SIGPIPE, SIG_IGN);
  CHECK_FAILS(sendfile(connection.fd(), file, nullptr, 100), EPIPE);
  signal(SIGPIPE, before);
}

CONFORMANCE_CASE("sendfile: from file to file beside a connection") {
  Connection connection(TestType::family);
  const Fd from = pattern_file(7, 3000);
  const Fd to(memfd_create("conformance", MFD_CLOEXEC));
  CHECK_RETURNS(sendfile(to, from, nullptr, 3000), 3000);
  std::string copy(3000, '\0');
  CHECK(pread(to, copy.data(), 3000, 0) == 3000);
  CHECK(copy == pattern(7, 0, 3000));
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("splice: from a pipe into a connection") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const Pipe pipe;
  CHECK(write(pipe.in, "through the pipe", 16) == 16);
  CHECK_RETURNS(splice(pipe.out, nullptr, connection.fd(), nullptr, 7, 0), 7);
  CHECK_RETURNS(splice(pipe.out, nullptr, connection.fd(), nullptr, 100, SPLICE_F_MOVE), 9);
  CHECK(connection.remote_receives(16) == "through the pipe");
}

CONFORMANCE_CASE("splice: from a connection into a pipe") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const Pipe pipe;
  connection.remote_sends("out of the socket");
  CHECK(receive_all(connection.fd(), 4) == "out ");
  CHECK_RETURNS(splice(connection.fd(), nullptr, pipe.in, nullptr, 6, 0), 6);
  char bytes[8] = {};
  CHECK(read(pipe.out, bytes, sizeof(bytes)) == 6);
  CHECK(std::string(bytes, 6) == "of the");
  CHECK(receive_all(connection.fd(), 7) == " socket");
  connection.remote_shuts_down_writing();
  CHECK_RETURNS(splice(connection.fd(), nullptr, pipe.in, nullptr, 6, 0), 0);
}

CONFORMANCE_CASE("splice: SPLICE_F_NONBLOCK with nothing to move is EAGAIN") {
  Connection connection(TestType::family);
  const Pipe pipe;
  set_nonblocking(connection.fd());
  CHECK_FAILS(splice(connection.fd(), nullptr, pipe.in, nullptr, 10, SPLICE_F_NONBLOCK), EAGAIN);
  CHECK_FAILS(splice(pipe.out, nullptr, connection.fd(), nullptr, 10, SPLICE_F_NONBLOCK), EAGAIN);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("splice: blocks until data comes") {
  Connection connection(TestType::family);
  const Pipe pipe;
  connection.peer().start_send_later(connection.remote(), "late", kNotNowMs);
  CHECK_RETURNS(splice(connection.fd(), nullptr, pipe.in, nullptr, 100, 0), 4);
  connection.peer().finish();
  char bytes[8] = {};
  CHECK(read(pipe.out, bytes, sizeof(bytes)) == 4);
  CHECK(std::string(bytes, 4) == "late");
}

CONFORMANCE_CASE("splice: a proxy moves megabytes from one connection to another") {
  Connection from(TestType::family, Role::server);
  Connection to(TestType::family);
  from.peer().start_send_pattern(from.remote(), 8, 0, kBigBytes);
  to.peer().start_receive_pattern_to_end(to.remote(), 8);
  const Pipe pipe;
  std::size_t moved = 0;
  while (moved < kBigBytes) {
    const ssize_t got = splice(from.fd(), nullptr, pipe.in, nullptr, 60'000, SPLICE_F_MOVE);
    REQUIRE(got > 0);
    for (ssize_t left = got; left > 0;) {
      const ssize_t put = splice(pipe.out, nullptr, to.fd(), nullptr, static_cast<size_t>(left), 0);
      REQUIRE(put > 0);
      left -= put;
    }
    moved += static_cast<std::size_t>(got);
  }
  CHECK(from.peer().finish().result == static_cast<std::int64_t>(kBigBytes));
  CHECK(shutdown(to.fd(), SHUT_WR) == 0);
  const Outcome outcome = to.peer().finish();
  CHECK(outcome.result == static_cast<std::int64_t>(kBigBytes));
  CHECK(outcome.error == 0);
}

CONFORMANCE_CASE("splice: errors, and the connection works after them") {
  Connection connection(TestType::family);
  const Pipe pipe;
  off64_t offset = 0;
  CHECK_FAILS(splice(connection.fd(), &offset, pipe.in, nullptr, 10, 0), EINVAL);
  CHECK_FAILS(splice(pipe.out, nullptr, connection.fd(), &offset, 10, 0), EINVAL);
  CHECK_FAILS(splice(pipe.out, &offset, connection.fd(), nullptr, 10, 0), ESPIPE);
  CHECK_FAILS(splice(connection.fd(), nullptr, pipe.in, &offset, 10, 0), ESPIPE);
  CHECK_FAILS(splice(connection.fd(), nullptr, connection.fd(), nullptr, 10, 0), EINVAL);
  CHECK_FAILS(splice(-1, nullptr, connection.fd(), nullptr, 10, 0), EBADF);
  CHECK_FAILS(splice(connection.fd(), nullptr, pipe.in, nullptr, 10, 1u << 20), EINVAL);
  CHECK_RETURNS(splice(connection.fd(), nullptr, pipe.in, nullptr, 0, 0), 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("splice: tee and vmsplice feed a connection by way of pipes") {
  Connection connection(TestType::family);
  const Pipe first;
  const Pipe second;
  char text[] = "mapped";
  const iovec vector{text, 6};
  CHECK_RETURNS(vmsplice(first.in, &vector, 1, 0), 6);
  CHECK_RETURNS(tee(first.out, second.in, 100, 0), 6);
  CHECK_RETURNS(splice(first.out, nullptr, connection.fd(), nullptr, 6, 0), 6);
  CHECK_RETURNS(splice(second.out, nullptr, connection.fd(), nullptr, 6, 0), 6);
  CHECK(connection.remote_receives(12) == "mappedmapped");
}

CONFORMANCE_CASE("splice: tee, vmsplice and copy_file_range refuse a connection") {
  Connection connection(TestType::family);
  const Pipe pipe;
  const Fd file = pattern_file(9, 100);
  char text[] = "x";
  const iovec vector{text, 1};
  CHECK_FAILS(tee(connection.fd(), pipe.in, 10, 0), EINVAL);
  CHECK_FAILS(tee(pipe.out, connection.fd(), 10, 0), EINVAL);
  CHECK_FAILS(vmsplice(connection.fd(), &vector, 1, 0), EBADF);
  CHECK_FAILS(copy_file_range(file, nullptr, connection.fd(), nullptr, 10, 0), EINVAL);
  CHECK_FAILS(copy_file_range(connection.fd(), nullptr, file, nullptr, 10, 0), EINVAL);
  check_exchange(connection, connection.fd());
}
