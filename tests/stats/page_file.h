#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/os/inode.h"
#include "core/stats/page.h"

namespace rsock::testing {

// A stats page that a test has made, by the layout alone.
class PageFile {
 public:
  explicit PageFile(std::uint32_t rows, int seals = F_SEAL_SHRINK)
      : bytes_(stats::kHeaderBytes + rows * sizeof(stats::ConnectionRow)),
        fd_(memfd_create(stats::kPageName, MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    REQUIRE(ftruncate(fd_, static_cast<off_t>(bytes_)) == 0);
    REQUIRE(fcntl(fd_, F_ADD_SEALS, seals) == 0);
    memory_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
    REQUIRE(memory_ != MAP_FAILED);
    auto* made = new (memory_) stats::PageHeader{};
    made->magic = stats::kPageMagic;
    made->version = stats::kPageVersion;
    made->header_bytes = stats::kHeaderBytes;
    made->row_bytes = sizeof(stats::ConnectionRow);
    made->row_capacity = rows;
    made->counter_count = stats::kCounterCount;
    made->reason_count = stats::kReasonCount;
    made->inode = os::inode_of(fd_);
    std::strcpy(made->program, "tester");
  }
  ~PageFile() {
    munmap(memory_, bytes_);
    close(fd_);
  }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  stats::PageHeader& header() { return *reinterpret_cast<stats::PageHeader*>(memory_); }
  stats::ConnectionRow& row(std::uint32_t index) {
    return reinterpret_cast<stats::ConnectionRow*>(memory_ + stats::kHeaderBytes)[index];
  }
  void use_row(std::uint32_t index, std::uint64_t inode, int fd) {
    row(index).inode = inode;
    row(index).identity = std::uint64_t{1} << 32 | (static_cast<unsigned>(fd) + 1);
    if (header().rows_used <= index) header().rows_used = index + 1;
  }

 private:
  std::size_t bytes_;
  int fd_;
  char* memory_;
};

}  // namespace rsock::testing
