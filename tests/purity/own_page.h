#pragma once

#include <cstdint>

#include "core/stats/page.h"

namespace rsock::purity {

// What rsock-stat would see of this process: its stats page, found in the way that it finds one.
class OwnPage {
 public:
  // Fails the case when the process shows no page, or a page that is not its own.
  OwnPage();
  OwnPage(const OwnPage&) = delete;
  OwnPage& operator=(const OwnPage&) = delete;
  ~OwnPage();

  // The number of its descriptor.
  [[nodiscard]] int descriptor() const { return fd_; }
  [[nodiscard]] std::uint64_t count(stats::Counter counter) const;
  // Sockets that are followed now.
  [[nodiscard]] long open_sockets() const;
  // The row of the socket that was made as number `fd`, or null.
  [[nodiscard]] const stats::ConnectionRow* row(int fd) const;

 private:
  int fd_;
  const stats::PageHeader* header_;
};

// The descriptor of the stats page in this process's table, or -1.
[[nodiscard]] int own_page_descriptor();

// Open descriptors of this process, without that of the stats page.
[[nodiscard]] int open_descriptors();

}  // namespace rsock::purity
