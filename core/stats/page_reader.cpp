#include "core/stats/page_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/config/limits.h"

namespace rsock::stats {

namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

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

std::size_t page_bytes(const PageHeader& fixed) {
  return kHeaderBytes + fixed.row_capacity * sizeof(ConnectionRow);
}

// Reading a mapped file beyond its end is SIGBUS, so nobody may be able to shrink it; the limit of
// rows bounds what a page costs, for reading a hole of a memfd fills it with memory.
bool file_holds_page(int fd, const PageHeader& fixed) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return false;
  struct stat status {};
  return fixed.row_capacity <= config::kSocketsMax && fstat(fd, &status) == 0 &&
         static_cast<std::size_t>(status.st_size) == page_bytes(fixed);
}

// Looks at a copy of the fields that are fixed, which the other process can't change any more.
PageStatus check_fixed(const PageHeader& header) {
  if (header.magic == 0) return PageStatus::none;
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

constexpr std::size_t kFixedBytes = offsetof(PageHeader, rows_used);
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

void read_counters(const PageHeader& header, PageSnapshot& snapshot) {
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
  PageHeader fixed{};
  if (pread(fd, &fixed, kFixedBytes, 0) < 0) return PageStatus::unreadable;
  snapshot.version = fixed.version;
  const PageStatus checked = check_fixed(fixed);
  if (checked != PageStatus::ok) return checked;
  if (!file_holds_page(fd, fixed)) return PageStatus::unreadable;
  const Mapping page(fd, page_bytes(fixed));
  if (!page.valid()) return PageStatus::unreadable;
  snapshot.program.assign(fixed.program, strnlen(fixed.program, kProgramBytes));
  snapshot.started_realtime_ns = fixed.started_realtime_ns;
  const auto& header = *page.at<PageHeader>(0);
  read_counters(header, snapshot);
  const std::uint32_t rows =
      std::min(header.rows_used.load(std::memory_order_acquire), fixed.row_capacity);
  const auto* row = page.at<ConnectionRow>(kHeaderBytes);
  for (std::size_t index = 0; index < rows; ++index) {
    RowSnapshot one{};
    if (read_row(row[index], one)) snapshot.rows.push_back(one);
  }
  return PageStatus::ok;
}

PageStatus read_page_at(const std::string& path, PageSnapshot& snapshot) {
  const Descriptor place(path, O_PATH);
  if (place.get() < 0) return PageStatus::none;
  struct stat status {};
  if (fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode)) return PageStatus::unreadable;
  const Descriptor file("/proc/self/fd/" + std::to_string(place.get()), O_RDONLY | O_NONBLOCK);
  return read_page(file.get(), snapshot);
}

}  // namespace rsock::stats
