#include "core/stream/ring.h"

#include <catch2/catch.hpp>

using namespace rsock;
using stream::Ring;

TEST_CASE("the bytes of a stream fill a ring without gaps, whatever its size") {
  for (const std::uint32_t bytes : {1U, 2U, 4U, 8U}) {
    for (std::uint64_t offset = 0; offset < 64; ++offset) {
      const Ring ring{.number = 0, .bytes = bytes, .from = StreamOffset(3)};
      CHECK(ring.index(StreamOffset(offset)) == offset % bytes);
      CHECK(ring.index(StreamOffset(offset + bytes)) == ring.index(StreamOffset(offset)));
    }
  }
}

TEST_CASE("an offset beyond 32 bits has its place in a ring") {
  const Ring ring{.number = 0, .bytes = 4096, .from = StreamOffset()};
  CHECK(ring.index(StreamOffset((std::uint64_t{1} << 40) + 5)) == 5);
  CHECK(ring.index(StreamOffset(UINT64_MAX)) == 4095);
}
