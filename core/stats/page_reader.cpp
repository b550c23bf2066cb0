#include "core/stats/page_reader.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

namespace rsock::stats {

namespace {

class Mapping {
 public:
  Mapping(int fd, std::size_t bytes)
      : bytes_(bytes), memory_(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0)) {}
  ~Mapping() {
    if (valid()) munmap(memory_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] bool valid() const { return memory_ != MAP_FAILED; }
  template <typename T>
  [[nodiscard]] const T* at(std::size_t offset) const {
    return reinterpret_cast<const T*>(static_cast<const char*>(memory_) + offset);
  }

 private:
  std::size_t bytes_;
  void* memory_;
};

PageStatus check_header(const PageHeader& header) {
  if (header.magic != kPageMagic) return PageStatus::unreadable;
  if (header.version != kPageVersion) return PageStatus::unsupported_version;
  if (header.header_bytes != kHeaderBytes || header.row_bytes != sizeof(ConnectionRow)) {
    return PageStatus::unreadable;
  }
  // A page of the same version may come from a library that counts less or more than we know.
  if (header.counter_count > kCounterSlots || header.reason_count > kReasonSlots) {
    return PageStatus::unreadable;
  }
  return PageStatus::ok;
}

// Makes sense of a value that may be any.
template <typename Enum>
Enum bounded(Enum value, Enum largest, Enum otherwise) {
  return value <= largest ? value : otherwise;
}

constexpr auto kLastReason = static_cast<Reason>(kReasonCount - 1);

// The row if it is in use and stayed the same socket's while it was read: each load of a field is
// an acquire, so that the second look at the identity comes after all of them.
bool read_row(const ConnectionRow& row, RowSnapshot& snapshot) {
  const std::uint64_t identity = row.identity.load(std::memory_order_acquire);
  if (identity == 0) return false;
  snapshot.first_fd = static_cast<int>(static_cast<std::uint32_t>(identity)) - 1;
  snapshot.inode = row.inode.load(std::memory_order_acquire);
  snapshot.since_realtime_ns = row.since_realtime_ns.load(std::memory_order_acquire);
  snapshot.tx_tcp_bytes = row.tx_tcp_bytes.load(std::memory_order_acquire);
  snapshot.rx_tcp_bytes = row.rx_tcp_bytes.load(std::memory_order_acquire);
  snapshot.reason = bounded(row.reason.load(std::memory_order_acquire), kLastReason, Reason::none);
  snapshot.role = bounded(row.role.load(std::memory_order_acquire), Role::inherited, Role::fresh);
  snapshot.path = bounded(row.path.load(std::memory_order_acquire), Path::shm, Path::tcp);
  return row.identity.load(std::memory_order_relaxed) == identity;
}

void read_fixed(const PageHeader& header, PageSnapshot& snapshot) {
  snapshot.program.assign(header.program, strnlen(header.program, kProgramBytes));
  snapshot.started_realtime_ns = header.started_realtime_ns;
  for (std::size_t index = 0; index < kCounterCount; ++index) {
    snapshot.counters[index] = header.counters[index].load(std::memory_order_relaxed);
  }
  for (std::size_t index = 0; index < kReasonCount; ++index) {
    snapshot.reasons[index] = header.reasons[index].load(std::memory_order_relaxed);
  }
}

}  // namespace

const char* to_string(PageStatus status) {
  switch (status) {
    case PageStatus::ok:
      return "ok";
    case PageStatus::none:
      return "none";
    case PageStatus::unreadable:
      return "unreadable";
    case PageStatus::unsupported_version:
      return "unsupported version";
  }
  return "unreadable";
}

PageStatus read_page(int fd, PageSnapshot& snapshot) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(kHeaderBytes)) {
    return PageStatus::unreadable;
  }
  // Only what the file really holds, or reading it would end in SIGBUS.
  const auto file_bytes = static_cast<std::size_t>(status.st_size);
  const Mapping page(fd, file_bytes);
  if (!page.valid()) return PageStatus::unreadable;
  const auto& header = *page.at<PageHeader>(0);
  const PageStatus checked = check_header(header);
  if (checked != PageStatus::ok) return checked;
  read_fixed(header, snapshot);
  const std::size_t rows_in_file = (file_bytes - kHeaderBytes) / sizeof(ConnectionRow);
  const std::size_t rows =
      std::min<std::size_t>(header.rows_used.load(std::memory_order_acquire), rows_in_file);
  const auto* row = page.at<ConnectionRow>(kHeaderBytes);
  for (std::size_t index = 0; index < rows; ++index) {
    RowSnapshot one{};
    if (read_row(row[index], one)) snapshot.rows.push_back(one);
  }
  return PageStatus::ok;
}

}  // namespace rsock::stats
