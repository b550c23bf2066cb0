#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rsock::marks {

// A mark sits in a branch that is rarely taken and counts how often it was. A test that means to
// exercise the branch reads the counter, and so cannot pass without having been there.
//
// Thread safety: everything here is atomic and may be used by any thread and signal handler.
// All marks are listed in marks.inc: a misspelt one does not compile, and a test run can tell
// which were never passed.
enum class Mark : std::uint16_t {
#define RSOCK_MARK_ENTRY(name, when) name,
#include "core/base/marks.inc"
};

inline constexpr std::string_view kNames[] = {
#define RSOCK_MARK_ENTRY(name, when) #name,
#include "core/base/marks.inc"
};

inline constexpr std::size_t kCount = std::size(kNames);

#ifdef RSOCK_NO_MARKS
#define RSOCK_MARK(name) static_cast<void>(::rsock::marks::Mark::name)
#else
#define RSOCK_MARK(name) ::rsock::marks::pass(::rsock::marks::Mark::name)

inline constinit std::array<std::atomic<std::uint64_t>, kCount> counters{};

inline void pass(Mark mark) noexcept {
  counters[static_cast<std::size_t>(mark)].fetch_add(1, std::memory_order_relaxed);
}

[[nodiscard]] inline std::uint64_t hit_count(Mark mark) noexcept {
  return counters[static_cast<std::size_t>(mark)].load(std::memory_order_relaxed);
}

// Calls visit(name, hit count) for each mark.
template <typename Visit>
void for_each(Visit visit) {
  for (std::size_t index = 0; index < kCount; ++index) {
    visit(kNames[index], hit_count(static_cast<Mark>(index)));
  }
}
#endif

}  // namespace rsock::marks
