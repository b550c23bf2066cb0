#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/config/limits.h"

namespace rsock::upgrade {

// An address that connections go to.
struct Destination {
  std::array<std::uint8_t, 16> address{};  // IPv4 mapped into IPv6
  std::uint16_t port = 0;
  friend bool operator==(const Destination&, const Destination&) = default;
};

// Which destinations have said "no" (nobody there runs the library, or it declined) and when to
// ask again: each time later, up to a limit. Of a fixed size; the entry that ends first makes room.
//
// Thread safety: none; it belongs to the service thread.
class NegativeCache {
 public:
  [[nodiscard]] bool may_ask(const Destination& destination, std::int64_t now_ns) const noexcept {
    const Entry* entry = find(destination);
    return entry == nullptr || now_ns >= entry->until_ns;
  }

  void said_no(const Destination& destination, std::int64_t now_ns) noexcept {
    Entry* entry = const_cast<Entry*>(find(destination));
    if (entry == nullptr) {
      entry = &*std::min_element(entries_.begin(), entries_.end(), [](auto& one, auto& other) {
        return one.until_ns < other.until_ns;
      });
      *entry = {.destination = destination};
    }
    entry->pause_ns = entry->pause_ns == 0 ? config::kFirstPauseNs
                                           : std::min(entry->pause_ns * 2, config::kPauseNsMax);
    entry->until_ns = now_ns + entry->pause_ns;
  }

  void said_yes(const Destination& destination) noexcept {
    Entry* entry = const_cast<Entry*>(find(destination));
    if (entry != nullptr) *entry = {};
  }

 private:
  struct Entry {
    Destination destination;
    std::int64_t until_ns = 0;
    std::int64_t pause_ns = 0;  // zero: the entry is free
  };

  const Entry* find(const Destination& destination) const noexcept {
    for (const Entry& entry : entries_) {
      if (entry.pause_ns != 0 && entry.destination == destination) return &entry;
    }
    return nullptr;
  }

  std::array<Entry, config::kNegativeCacheEntries> entries_{};
};

}  // namespace rsock::upgrade
