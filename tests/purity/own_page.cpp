#include "tests/purity/own_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "core/config/limits.h"
#include "tests/purity/expect.h"

namespace rsock::purity {

namespace {

constexpr int kDescriptorsMax = 4096;
constexpr std::size_t kPathBytes = 256;

std::string name_of(int fd) {
  char path[kPathBytes];
  char target[kPathBytes];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(path, target, sizeof(target));
  return length < 0 ? std::string{} : std::string(target, static_cast<std::size_t>(length));
}

std::size_t bytes_of(const stats::PageHeader& header) {
  return header.header_bytes + std::size_t{header.row_bytes} * header.row_capacity;
}

}  // namespace

int own_page_descriptor() {
  const std::string wanted = std::string("/memfd:") + stats::kPageName + " (deleted)";
  for (int fd = 0; fd < kDescriptorsMax; ++fd) {
    if (name_of(fd) == wanted) return fd;
  }
  return -1;
}

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < kDescriptorsMax; ++fd) count += name_of(fd).empty() ? 0 : 1;
  return count - (own_page_descriptor() >= 0 ? 1 : 0);
}

OwnPage::OwnPage() : fd_(own_page_descriptor()), header_(nullptr) {
  EXPECT(fd_ >= 0);
  void* memory = mmap(nullptr, stats::kHeaderBytes, PROT_READ, MAP_SHARED, fd_, 0);
  EXPECT(memory != MAP_FAILED);
  const auto* first = static_cast<const stats::PageHeader*>(memory);
  EXPECT_EQUAL(first->magic, stats::kPageMagic);
  const std::size_t bytes = bytes_of(*first);
  EXPECT_EQUAL(munmap(memory, stats::kHeaderBytes), 0);
  memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
  EXPECT(memory != MAP_FAILED);
  header_ = static_cast<const stats::PageHeader*>(memory);
  // Inherited from a parent by mistake, the page would be that of the parent.
  struct stat status {};
  EXPECT_EQUAL(fstat(fd_, &status), 0);
  EXPECT_EQUAL(header_->inode, status.st_ino);
}

OwnPage::~OwnPage() { munmap(const_cast<stats::PageHeader*>(header_), bytes_of(*header_)); }

std::uint64_t OwnPage::count(stats::Counter counter) const {
  return header_->counters[static_cast<std::size_t>(counter)].load();
}

long OwnPage::open_sockets() const {
  return static_cast<long>(count(stats::Counter::sockets_tracked) -
                           count(stats::Counter::sockets_closed));
}

const stats::ConnectionRow* OwnPage::row(int fd) const {
  const auto* rows = reinterpret_cast<const stats::ConnectionRow*>(
      reinterpret_cast<const char*>(header_) + header_->header_bytes);
  const std::uint32_t used = header_->rows_used.load();
  for (std::uint32_t index = 0; index < used; ++index) {
    const auto fd_plus_one = static_cast<std::uint32_t>(rows[index].identity.load());
    if (fd_plus_one == static_cast<std::uint32_t>(fd) + 1) return &rows[index];
  }
  return nullptr;
}

}  // namespace rsock::purity
