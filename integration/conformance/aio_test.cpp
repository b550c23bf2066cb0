// POSIX asynchronous I/O on a connection.
#include <aio.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>

#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

namespace {

aiocb block_of(int fd, void* bytes, std::size_t count) {
  aiocb block{};
  block.aio_fildes = fd;
  block.aio_buf = bytes;
  block.aio_nbytes = count;
  block.aio_sigevent.sigev_notify = SIGEV_NONE;
  return block;
}

// Waits for the end of an operation: its errno.
int wait_until_done(const aiocb& block) {
  const aiocb* list[] = {&block};
  while (aio_error(&block) == EINPROGRESS) aio_suspend(list, 1, nullptr);
  return aio_error(&block);
}

}  // namespace

CONFORMANCE_CASE("aio: a write arrives") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  char text[] = "asynchronous";
  aiocb block = block_of(connection.fd(), text, 12);
  REQUIRE(aio_write(&block) == 0);
  CHECK(connection.remote_receives(12) == "asynchronous");
  CHECK(wait_until_done(block) == 0);
  CHECK(aio_return(&block) == 12);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("aio: a read waits for data and takes what is there") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  char bytes[64] = {};
  aiocb block = block_of(connection.fd(), bytes, sizeof(bytes));
  REQUIRE(aio_read(&block) == 0);
  CHECK(aio_error(&block) == EINPROGRESS);
  connection.remote_sends("data");
  CHECK(wait_until_done(block) == 0);
  CHECK(aio_return(&block) == 4);
  CHECK(std::string(bytes) == "data");
  check_exchange(connection, connection.fd());
}

// Whoever is told of its end may free the block, though the call that began it has not returned.
CONFORMANCE_CASE("aio: the block may be gone before the call returns") {
  Connection connection(TestType::family);
  static constexpr std::size_t kPage = 4096;
  static std::atomic<int> freed{0};
  freed = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    auto* block = new (page) aiocb{};
    static char byte = 'x';
    *block = block_of(connection.fd(), &byte, 1);
    block->aio_sigevent.sigev_notify = SIGEV_THREAD;
    block->aio_sigevent.sigev_value.sival_ptr = page;
    block->aio_sigevent.sigev_notify_function = [](sigval value) {
      munmap(value.sival_ptr, kPage);
      ++freed;
    };
    REQUIRE(aio_write(block) == 0);
  }
  CHECK(connection.remote_receives(kRounds) == std::string(kRounds, 'x'));
  while (freed < kRounds) sched_yield();
}

CONFORMANCE_CASE("aio: the end of the stream is a read of zero bytes") {
  Connection connection(TestType::family);
  connection.remote_shuts_down_writing();
  char byte = 0;
  aiocb block = block_of(connection.fd(), &byte, 1);
  REQUIRE(aio_read(&block) == 0);
  CHECK(wait_until_done(block) == 0);
  CHECK(aio_return(&block) == 0);
}

CONFORMANCE_CASE("aio: between recv calls the bytes keep their order") {
  Connection connection(TestType::family);
  connection.remote_sends("abcdef");
  CHECK(receive_all(connection.fd(), 2) == "ab");
  char bytes[2] = {};
  aiocb block = block_of(connection.fd(), bytes, sizeof(bytes));
  REQUIRE(aio_read(&block) == 0);
  CHECK(wait_until_done(block) == 0);
  CHECK(aio_return(&block) == 2);
  CHECK(std::string(bytes, 2) == "cd");
  CHECK(receive_all(connection.fd(), 2) == "ef");
}

CONFORMANCE_CASE("aio: lio_listio reads from one connection and writes to another") {
  const int how = GENERATE(as<int>{}, LIO_WAIT, LIO_NOWAIT);
  Connection one(TestType::family);
  Connection two(TestType::family, Role::server);
  one.remote_sends("incoming");
  char incoming[8] = {};
  char outgoing[] = "outgoing";
  aiocb read_block = block_of(one.fd(), incoming, sizeof(incoming));
  read_block.aio_lio_opcode = LIO_READ;
  aiocb write_block = block_of(two.fd(), outgoing, 8);
  write_block.aio_lio_opcode = LIO_WRITE;
  aiocb* const list[] = {&read_block, nullptr, &write_block};
  REQUIRE(lio_listio(how, list, 3, nullptr) == 0);
  CHECK(wait_until_done(read_block) == 0);
  CHECK(wait_until_done(write_block) == 0);
  CHECK(aio_return(&read_block) == 8);
  CHECK(aio_return(&write_block) == 8);
  CHECK(std::string(incoming, 8) == "incoming");
  CHECK(two.remote_receives(8) == "outgoing");
}

CONFORMANCE_CASE("aio: a read on a closed number reports EBADF") {
  Connection connection(TestType::family);
  const int fd = connection.local().release();
  close(fd);
  char byte = 0;
  aiocb block = block_of(fd, &byte, 1);
  if (aio_read(&block) == 0) {
    CHECK(wait_until_done(block) == EBADF);
    CHECK(aio_return(&block) == -1);
  } else {
    CHECK(errno == EBADF);
  }
}

CONFORMANCE_CASE("aio: a megabyte written asynchronously arrives whole") {
  constexpr std::size_t kBytes = 1 << 20;
  Connection connection(TestType::family);
  std::string data = pattern(1, 0, kBytes);
  connection.peer().start_receive_pattern_to_end(connection.remote(), 1);
  std::size_t written = 0;
  while (written < kBytes) {
    aiocb block = block_of(connection.fd(), data.data() + written, kBytes - written);
    REQUIRE(aio_write(&block) == 0);
    REQUIRE(wait_until_done(block) == 0);
    written += static_cast<std::size_t>(aio_return(&block));
  }
  CHECK(shutdown(connection.fd(), SHUT_WR) == 0);
  const Outcome outcome = connection.peer().finish();
  CHECK(outcome.result == static_cast<std::int64_t>(kBytes));
  CHECK(outcome.error == 0);
}
