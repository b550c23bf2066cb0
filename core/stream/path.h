#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/check.h"

namespace rsock::stream {

// What carries one direction of a connection, as one of its ends sees it.
//
//   X(name)
#define RSOCK_STREAM_PATHS(X)                                                               \
  X(tcp)         /* The spine. Also before an upgrade, and after a fallback. */             \
  X(switching)   /* The switch offset is set; the proof is not yet written, or not seen. */ \
  X(accelerated) /* The ring. */                                                            \
  X(fencing)     /* The receiver has been told where the spine goes on, and drains the ring. */

enum class Path : std::uint8_t {
#define RSOCK_STREAM_PATH_VALUE(name) name,
  RSOCK_STREAM_PATHS(RSOCK_STREAM_PATH_VALUE)
#undef RSOCK_STREAM_PATH_VALUE
};

inline constexpr std::string_view kPathNames[] = {
#define RSOCK_STREAM_PATH_NAME(name) #name,
    RSOCK_STREAM_PATHS(RSOCK_STREAM_PATH_NAME)
#undef RSOCK_STREAM_PATH_NAME
};

[[nodiscard]] constexpr std::string_view to_string(Path path) noexcept {
  return kPathNames[static_cast<std::size_t>(path)];
}

// The changes of path that exist. Whatever is not here is a fault of the program.
[[nodiscard]] constexpr bool may_change(Path from, Path to) noexcept {
  switch (from) {
    case Path::tcp:
      return to == Path::switching;
    case Path::switching:
      // To tcp: the sender stops before it has accelerated, or the receiver refuses the proof.
      return to == Path::accelerated || to == Path::tcp;
    case Path::accelerated:
      // To tcp directly: a sender has nothing to drain.
      return to == Path::fencing || to == Path::tcp;
    case Path::fencing:
      return to == Path::tcp;
  }
  return false;
}

// Changes `path` to `to`.
constexpr void transition_to(Path& path, Path to) noexcept {
  RSOCK_DCHECK(may_change(path, to));
  path = to;
}

// How far one direction's end has come, independent of its path.
enum class Half : std::uint8_t {
  open,
  fin_queued,  // the FIN's offset is set, and not yet reached by the receiver
  closed,      // the receiver has reached it
  reset,       // ended before its FIN
};

[[nodiscard]] constexpr bool may_change(Half from, Half to) noexcept {
  switch (from) {
    case Half::open:
      return to == Half::fin_queued || to == Half::reset;
    case Half::fin_queued:
      return to == Half::closed || to == Half::reset;
    case Half::closed:
    case Half::reset:
      return false;
  }
  return false;
}

constexpr void transition_to(Half& half, Half to) noexcept {
  RSOCK_DCHECK(may_change(half, to));
  half = to;
}

}  // namespace rsock::stream
