#pragma once

#include <cstdint>
#include <string>

#include "core/stats/page.h"

namespace rsock::testing {

// The stats page of this very process, mapped as a reader would. Null before the page exists.
const stats::PageHeader* own_page();

// A counter of that page; zero before the page exists.
std::uint64_t counted(stats::Counter counter);
std::uint64_t counted(stats::Reason reason);

// The row whose socket is `fd`, found by its inode; null if there is none.
const stats::ConnectionRow* row_of(int fd);

}  // namespace rsock::testing
