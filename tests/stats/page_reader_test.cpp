#include "core/stats/page_reader.h"

#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "core/config/limits.h"
#include "tests/socket/sockets.h"
#include "tests/stats/page_file.h"

namespace {

using namespace rsock::stats;
using rsock::testing::PageFile;
using rsock::testing::TestFd;

PageStatus read(const PageFile& file, PageSnapshot& snapshot) {
  return read_page(file.fd(), snapshot);
}

PageStatus status_of(const PageFile& file) {
  PageSnapshot snapshot;
  return read(file, snapshot);
}

TEST_CASE("a page is read as it was written") {
  PageFile file(4);
  file.use_row(1, 4711, 5);
  file.row(1).tx_tcp_bytes = 10;
  file.row(1).rx_tcp_bytes = 20;
  file.row(1).reason = Reason::marked;
  file.row(1).role = Role::server;
  file.header().counters[static_cast<std::size_t>(Counter::sockets_tracked)] = 3;
  file.header().reasons[static_cast<std::size_t>(Reason::marked)] = 1;
  PageSnapshot snapshot;
  REQUIRE(read(file, snapshot) == PageStatus::ok);
  CHECK(snapshot.program == "tester");
  CHECK(snapshot.counters[static_cast<std::size_t>(Counter::sockets_tracked)] == 3);
  CHECK(snapshot.reasons[static_cast<std::size_t>(Reason::marked)] == 1);
  REQUIRE(snapshot.rows.size() == 1);
  CHECK(snapshot.rows[0].inode == 4711);
  CHECK(snapshot.rows[0].first_fd == 5);
  CHECK(snapshot.rows[0].tx_tcp_bytes == 10);
  CHECK(snapshot.rows[0].rx_tcp_bytes == 20);
  CHECK(snapshot.rows[0].reason == Reason::marked);
  CHECK(snapshot.rows[0].role == Role::server);
}

TEST_CASE("what is no page is not taken for one") {
  PageFile file(1);
  file.header().magic ^= 1;
  CHECK(status_of(file) == PageStatus::unreadable);

  PageSnapshot snapshot;
  CHECK(read_page(-1, snapshot) == PageStatus::unreadable);
}

TEST_CASE("another version is said to be that") {
  PageFile file(1);
  file.header().version = kPageVersion + 1;
  PageSnapshot snapshot;
  CHECK(read(file, snapshot) == PageStatus::unsupported_version);
  CHECK(snapshot.version == kPageVersion + 1);
}

TEST_CASE("sizes that contradict this version are refused") {
  const auto broken = [](auto change) {
    PageFile file(1);
    change(file.header());
    return status_of(file);
  };
  CHECK(broken([](PageHeader& header) { header.header_bytes = 8192; }) == PageStatus::unreadable);
  CHECK(broken([](PageHeader& header) { header.row_bytes = 32; }) == PageStatus::unreadable);
  CHECK(broken([](PageHeader& header) { header.counter_count = 65; }) == PageStatus::unreadable);
  CHECK(broken([](PageHeader& header) { header.reason_count = ~0U; }) == PageStatus::unreadable);
}

TEST_CASE("rows_used that lies does not lead beyond the rows") {
  PageFile file(2);
  file.use_row(0, 1, 3);
  file.use_row(1, 2, 4);
  file.header().rows_used = ~0U;
  PageSnapshot snapshot;
  REQUIRE(read(file, snapshot) == PageStatus::ok);
  CHECK(snapshot.rows.size() == 2);
}

TEST_CASE("a row_capacity that is not the file's is refused") {
  for (const std::uint32_t capacity : {0U, 1U, 3U, ~0U}) {
    PageFile file(2);
    file.header().row_capacity = capacity;
    CHECK(status_of(file) == PageStatus::unreadable);
  }
}

TEST_CASE("a page is bounded, or a sparse file could take all memory of the reader's host") {
  CHECK(status_of(PageFile(rsock::config::kSocketsMax)) == PageStatus::ok);
  CHECK(status_of(PageFile(rsock::config::kSocketsMax + 1)) == PageStatus::unreadable);
}

TEST_CASE("a file that can be cut short under the reader's feet is refused") {
  CHECK(status_of(PageFile(1, 0)) == PageStatus::unreadable);
  CHECK(status_of(PageFile(1, F_SEAL_GROW)) == PageStatus::unreadable);
}

TEST_CASE("a page that is being made is no page yet") {
  const TestFd file(memfd_create(kPageName, MFD_CLOEXEC));
  PageSnapshot snapshot;
  CHECK(read_page(file, snapshot) == PageStatus::none);
  REQUIRE(ftruncate(file, 2 * kHeaderBytes) == 0);
  CHECK(read_page(file, snapshot) == PageStatus::none);
}

TEST_CASE("a file of another kind at the place of a page is not even opened") {
  char directory[] = "/tmp/rsock-page-XXXXXX";
  REQUIRE(mkdtemp(directory) != nullptr);
  const std::string pipe = std::string(directory) + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR) == 0);
  const TestFd opens(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  REQUIRE(inotify_add_watch(opens, pipe.c_str(), IN_OPEN) >= 0);
  PageSnapshot snapshot;
  CHECK(read_page_at(pipe, snapshot) == PageStatus::unreadable);
  inotify_event event{};
  CHECK(::read(opens, &event, sizeof(event)) < 0);
  unlink(pipe.c_str());
  CHECK(read_page_at(pipe, snapshot) == PageStatus::none);
  rmdir(directory);
  PageFile file(1);
  CHECK(read_page_at("/proc/self/fd/" + std::to_string(file.fd()), snapshot) == PageStatus::ok);
}

// As the library does it, for one socket after the other in the same row.
void replace_socket(ConnectionRow& row, std::uint64_t generation) {
  row.identity.store(0, std::memory_order_release);
  row.inode.store(generation, std::memory_order_relaxed);
  row.tx_tcp_bytes.store(generation, std::memory_order_relaxed);
  row.rx_tcp_bytes.store(generation, std::memory_order_relaxed);
  row.identity.store(generation << 32 | 1, std::memory_order_release);
}

TEST_CASE("the fields of two sockets that follow each other in a row are never mixed") {
  constexpr std::uint32_t kRows = 4096;
  constexpr int kReads = 2000;
  PageFile file(kRows);
  for (std::uint32_t index = 0; index < kRows; ++index) file.use_row(index, 0, 0);
  std::atomic<bool> enough{false};
  std::thread owner([&] {
    for (std::uint64_t generation = 1; !enough; ++generation) {
      for (std::uint32_t index = 0; index < kRows; ++index) {
        replace_socket(file.row(index), generation);
      }
    }
  });
  int mixed = 0;
  for (int reads = 0; reads < kReads; ++reads) {
    PageSnapshot snapshot;
    if (read(file, snapshot) != PageStatus::ok) break;
    for (const RowSnapshot& row : snapshot.rows) {
      if (row.inode != row.tx_tcp_bytes || row.inode != row.rx_tcp_bytes) ++mixed;
    }
  }
  enough = true;
  owner.join();
  CHECK(mixed == 0);
}

TEST_CASE("values out of range become harmless ones") {
  PageFile file(1);
  file.use_row(0, 1, 3);
  file.row(0).reason = static_cast<Reason>(60000);
  file.row(0).role = static_cast<Role>(200);
  file.row(0).path = static_cast<Path>(200);
  std::memset(file.header().program, 'x', kProgramBytes);  // no NUL
  PageSnapshot snapshot;
  REQUIRE(read(file, snapshot) == PageStatus::ok);
  CHECK(snapshot.rows.at(0).reason == Reason::none);
  CHECK(snapshot.rows.at(0).role == Role::fresh);
  CHECK(snapshot.rows.at(0).path == Path::tcp);
  CHECK(snapshot.program == std::string(kProgramBytes, 'x'));
}

}  // namespace
