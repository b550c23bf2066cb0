#include "core/stats/page_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <new>

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

  const TestFd empty(memfd_create("empty", MFD_CLOEXEC));
  PageSnapshot snapshot;
  CHECK(read_page(empty, snapshot) == PageStatus::unreadable);
  CHECK(read_page(-1, snapshot) == PageStatus::unreadable);
}

TEST_CASE("another version is said to be that") {
  PageFile file(1);
  file.header().version = kPageVersion + 1;
  CHECK(status_of(file) == PageStatus::unsupported_version);
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

TEST_CASE("rows_used and row_capacity that lie do not lead beyond the file") {
  PageFile file(2);
  file.use_row(0, 1, 3);
  file.use_row(1, 2, 4);
  file.header().rows_used = ~0U;
  file.header().row_capacity = ~0U;
  PageSnapshot snapshot;
  REQUIRE(read(file, snapshot) == PageStatus::ok);
  CHECK(snapshot.rows.size() == 2);
  REQUIRE(ftruncate(file.fd(), kHeaderBytes + sizeof(ConnectionRow) + 10) == 0);
  PageSnapshot shorter;
  REQUIRE(read(file, shorter) == PageStatus::ok);
  CHECK(shorter.rows.size() == 1);
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
