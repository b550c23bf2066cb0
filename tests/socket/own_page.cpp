#include "tests/socket/own_page.h"

#include <sys/mman.h>

#include "core/config/limits.h"
#include "core/os/inode.h"
#include "core/os/internal_fds.h"

namespace rsock::testing {

const stats::PageHeader* own_page() {
  static const stats::PageHeader* page = nullptr;
  static std::uint64_t inode = 0;
  const int fd = os::internal_fd(os::InternalFd::stats_page);
  if (fd < 0) return nullptr;
  if (page == nullptr || inode != os::inode_of(fd)) {  // A forked child has another.
    const std::size_t bytes =
        stats::kHeaderBytes + config::kSocketsMax * sizeof(stats::ConnectionRow);
    void* memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) return nullptr;
    page = static_cast<const stats::PageHeader*>(memory);
    inode = os::inode_of(fd);
  }
  return page;
}

std::uint64_t counted(stats::Counter counter) {
  const auto* page = own_page();
  return page == nullptr ? 0 : page->counters[static_cast<std::size_t>(counter)].load();
}

std::uint64_t counted(stats::Reason reason) {
  const auto* page = own_page();
  return page == nullptr ? 0 : page->reasons[static_cast<std::size_t>(reason)].load();
}

const stats::ConnectionRow* row_of(int fd) {
  const auto* page = own_page();
  if (page == nullptr) return nullptr;
  const auto* rows = reinterpret_cast<const stats::ConnectionRow*>(
      reinterpret_cast<const char*>(page) + stats::kHeaderBytes);
  for (std::uint32_t index = 0; index < page->rows_used.load(); ++index) {
    if (rows[index].identity.load() != 0 && rows[index].inode.load() == os::inode_of(fd)) {
      return &rows[index];
    }
  }
  return nullptr;
}

}  // namespace rsock::testing
