#include "core/base/offset.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <type_traits>

#include "tests/death.h"

namespace {

using rsock::StreamOffset;
using Count = std::uint64_t;

template <typename A, typename B>
concept CanAdd = requires(A a, B b) {
  a + b;
};
template <typename A, typename B>
concept CanAddTo = requires(A a, B b) {
  a += b;
};
template <typename A, typename B>
concept CanSubtract = requires(A a, B b) {
  a - b;
};
template <typename A, typename B>
concept CanSubtractFrom = requires(A a, B b) {
  a -= b;
};
template <typename A, typename B>
concept CanCompare = requires(A a, B b) {
  a < b;
}
|| requires(A a, B b) { a == b; };
template <typename A, typename B>
concept CanAssign = requires(A& a, B b) {
  a = b;
};
template <typename A>
concept CanCount = requires(A a) {
  ++a;
}
|| requires(A a) { a--; };
template <typename A>
concept CanDoOtherArithmetic = requires(A a) {
  a* a;
}
|| requires(A a) { a / 2U; }
|| requires(A a) { a % 2U; }
|| requires(A a) { a & 2U; }
|| requires(A a) { -a; }
|| requires(A a) { !a; };

// What compiles.
static_assert(std::is_same_v<decltype(StreamOffset() + Count{}), StreamOffset>);
static_assert(std::is_same_v<decltype(StreamOffset() - StreamOffset()), Count>);
static_assert(CanAdd<StreamOffset, std::size_t> && CanAdd<StreamOffset, std::uint32_t>);
static_assert(CanAddTo<StreamOffset, std::size_t>);
static_assert(CanCompare<StreamOffset, StreamOffset>);

// What must not.
static_assert(!CanAdd<StreamOffset, StreamOffset>, "the sum of two positions has no meaning");
static_assert(!CanAdd<Count, StreamOffset>);
static_assert(!CanAdd<StreamOffset, int> && !CanAdd<StreamOffset, std::ptrdiff_t>,
              "a signed number may be an error code");
static_assert(!CanAdd<StreamOffset, bool> && !CanAdd<StreamOffset, double>);
static_assert(!CanAddTo<StreamOffset, StreamOffset> && !CanAddTo<StreamOffset, int>);
static_assert(!CanSubtract<StreamOffset, Count> && !CanSubtractFrom<StreamOffset, Count>,
              "a stream does not go back");
static_assert(!CanSubtract<Count, StreamOffset>);
static_assert(!CanCompare<StreamOffset, Count> && !CanCompare<Count, StreamOffset>);
static_assert(!CanAssign<StreamOffset, Count> && !CanAssign<Count, StreamOffset>);
static_assert(!std::is_convertible_v<Count, StreamOffset>);
static_assert(!std::is_convertible_v<StreamOffset, Count>);
static_assert(!CanCount<StreamOffset> && !CanDoOtherArithmetic<StreamOffset>);
static_assert(std::is_trivially_copyable_v<StreamOffset> && sizeof(StreamOffset) == sizeof(Count));

}  // namespace

TEST_CASE("the first byte has offset zero") {
  STATIC_REQUIRE(StreamOffset().value() == 0);
  STATIC_REQUIRE(StreamOffset() == StreamOffset(0));
}

TEST_CASE("offsets add and subtract like the numbers they hold") {
  for (std::uint64_t start = 0; start < 16; ++start) {
    for (std::uint64_t count = 0; count < 16; ++count) {
      const StreamOffset before(start);
      StreamOffset after = before + count;
      CHECK(after.value() == start + count);
      CHECK(after - before == count);
      CHECK((before < after) == (count != 0));
      CHECK((before == after) == (count == 0));
      CHECK(before <= after);
      after += count;
      CHECK(after - before == 2 * count);
    }
  }
}

TEST_CASE("offsets reach the last of 64 bits") {
  STATIC_REQUIRE(StreamOffset(UINT64_MAX) - StreamOffset() == UINT64_MAX);
  STATIC_REQUIRE((StreamOffset(UINT64_MAX - 1) + 1U).value() == UINT64_MAX);
}

#if RSOCK_DEBUG_CHECKS
TEST_CASE("an offset that would leave 64 bits fails a debug check") {
  const auto under =
      rsock::testing::run_in_child([] { static_cast<void>(StreamOffset(1) - StreamOffset(2)); });
  CHECK(under.signal == SIGILL);
  CHECK(under.says("earlier <= later"));
  const auto over =
      rsock::testing::run_in_child([] { static_cast<void>(StreamOffset(UINT64_MAX) + 1U); });
  CHECK(over.signal == SIGILL);
  CHECK(over.says("count_bytes <= "));
}
#endif
