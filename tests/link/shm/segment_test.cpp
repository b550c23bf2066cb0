#include "core/link/shm/segment.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/os/failing_call.h"

using namespace rsock;
using link::shm::Segment;
using os::UniqueFd;

namespace {

Segment made() {
  Result<Segment> segment = Segment::create();
  REQUIRE(segment.ok());
  return std::move(segment).value();
}

// The memory that a segment takes, in bytes.
std::size_t memory_bytes(const Segment& segment) {
  struct stat status {};
  REQUIRE(fstat(segment.fd(), &status) == 0);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("rsock-link") != line.npos;
  return count;
}

}  // namespace

TEST_CASE("both processes see the same segment") {
  Segment mine = made();
  Result<Segment> attached = Segment::attach(UniqueFd(dup(mine.fd())));
  REQUIRE(attached.ok());
  Segment theirs = std::move(attached).value();
  theirs.block(7).sender.tail = 42;
  CHECK(mine.block(7).sender.tail == 42);
  const Result<std::byte*> here = mine.map_first_ring(7);
  const Result<std::byte*> there = theirs.map_first_ring(7);
  REQUIRE(here.ok());
  REQUIRE(there.ok());
  there.value()[5] = std::byte{9};
  CHECK(here.value()[5] == std::byte{9});
}

TEST_CASE("what runs past a ring's end is its beginning") {
  Segment segment = made();
  const Result<std::byte*> first = segment.map_first_ring(3);
  REQUIRE(first.ok());
  std::memset(first.value() + config::kFirstRingBytes - 2, 7, 4);
  CHECK(first.value()[1] == std::byte{7});
  CHECK(first.value()[2] == std::byte{0});
  const std::uint32_t bytes = 64 * 1024;
  const Result<os::Mapping> grown = segment.map_ring(Segment::place_of_ring(3, 1), bytes);
  REQUIRE(grown.ok());
  grown.value().base()[bytes] = std::byte{3};
  CHECK(grown.value().base()[0] == std::byte{3});
}

TEST_CASE("a segment takes memory only where it is used, and gives it back") {
  Segment segment = made();
  const std::size_t at_first = memory_bytes(segment);
  CHECK(at_first <= 4 * wire::kPageBytes);
  const Result<std::byte*> ring = segment.map_first_ring(100);
  REQUIRE(ring.ok());
  CHECK(memory_bytes(segment) == at_first);
  ring.value()[0] = std::byte{1};
  CHECK(memory_bytes(segment) == at_first + wire::kPageBytes);
  segment.give_back_first_ring(100);
  CHECK(memory_bytes(segment) == at_first);
  CHECK(ring.value()[0] == std::byte{0});
}

TEST_CASE("first rings of neighbours share one mapping") {
  Segment segment = made();
  REQUIRE(segment.map_first_ring(0).ok());
  const std::size_t with_one = mappings();
  for (std::uint32_t index = 1; index < 100; ++index) REQUIRE(segment.map_first_ring(index).ok());
  CHECK(mappings() <= with_one + 100);
}

TEST_CASE("a stream's block is new when the stream begins") {
  Segment segment = made();
  segment.block(1).sender.fin_at = 5;
  segment.block(1).receiver.head = 6;
  segment.reset_block(1);
  CHECK(segment.block(1).sender.fin_at == wire::kOffsetUnset);
  CHECK(segment.block(1).receiver.head == 0);
}

TEST_CASE("what is no trustworthy segment is not attached") {
  const Segment good = made();
  SECTION("not a memfd") {
    CHECK(Segment::attach(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC))).error() == -EPROTO);
  }
  SECTION("no descriptor") { CHECK(Segment::attach(UniqueFd()).error() == -EPROTO); }
  SECTION("not sealed: it could shrink") {
    UniqueFd fd(memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(ftruncate(fd.get(), wire::kSegmentBytes) == 0);
    CHECK(Segment::attach(std::move(fd)).error() == -EPROTO);
  }
  SECTION("too small") {
    UniqueFd fd(memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(ftruncate(fd.get(), wire::kPageBytes) == 0);
    REQUIRE(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    CHECK(Segment::attach(std::move(fd)).error() == -EPROTO);
  }
  SECTION("of another version") {
    UniqueFd fd(dup(good.fd()));
    const std::uint32_t version = wire::kSegmentVersion + 1;
    REQUIRE(pwrite(fd.get(), &version, sizeof(version), offsetof(wire::SegmentHeader, version)) ==
            sizeof(version));
    CHECK(Segment::attach(std::move(fd)).error() == -EPROTO);
  }
}

TEST_CASE("a ring that can't be is not mapped") {
  Segment segment = made();
  const std::uint64_t place = Segment::place_of_ring(0, 0);
  CHECK(segment.map_ring(place, 3 * 4096).error() == -EPROTO);
  CHECK(segment.map_ring(place, 2048).error() == -EPROTO);
  CHECK(segment.map_ring(place, 2 * config::kRingBytesMax).error() == -EPROTO);
  CHECK(segment.map_ring(place + 1, 4096).error() == -EPROTO);
  CHECK(segment.map_ring(0, 4096).error() == -EPROTO);
  CHECK(segment.map_ring(wire::kSegmentBytes, 4096).error() == -EPROTO);
  CHECK(segment.map_ring(UINT64_MAX - 4095, 4096).error() == -EPROTO);
}

TEST_CASE("a limit on file sizes means no segment, not the end of the program") {
  rlimit saved{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &saved) == 0);
  rlimit small = saved;
  small.rlim_cur = 1 << 20;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const int error = Segment::create().error();
  REQUIRE(setrlimit(RLIMIT_FSIZE, &saved) == 0);
  CHECK(error == -EFBIG);
}

TEST_CASE("whichever call fails, there is an error and nothing is left") {
  const auto open_fds = [] {
    std::size_t count = 0;
    for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0;
    return count;
  };
  const std::size_t fds_before = open_fds();
  const std::size_t mappings_before = mappings();
  for (int nth = 1; nth <= 2; ++nth) {
    const testing::FailingCall<&os::Syscalls::mmap> failing(nth, ENOMEM);
    CHECK(Segment::create().error() == -ENOMEM);
  }
  {
    const testing::FailingCall<&os::Syscalls::memfd_create> failing(1, EMFILE);
    CHECK(Segment::create().error() == -EMFILE);
  }
  {
    const testing::FailingCall<&os::Syscalls::ftruncate> failing(1, ENOSPC);
    CHECK(Segment::create().error() == -ENOSPC);
  }
  CHECK(open_fds() == fds_before);
  CHECK(mappings() == mappings_before);
}
