#include "core/base/deadline.h"

#include <catch2/catch.hpp>

namespace {

using rsock::Deadline;
using rsock::kNanosecondsPerMillisecond;
using rsock::kNanosecondsPerSecond;
using rsock::to_ns;

constexpr std::int64_t kNow = 5 * kNanosecondsPerSecond;

}  // namespace

TEST_CASE("a deadline expires at its time and not before") {
  constexpr Deadline kDeadline = Deadline::at(kNow);
  STATIC_REQUIRE(!kDeadline.expired(kNow - 1));
  STATIC_REQUIRE(kDeadline.expired(kNow));
  STATIC_REQUIRE(kDeadline.expired(kNow + 1));
  STATIC_REQUIRE(kDeadline.remaining_ns(kNow - 1) == 1);
  STATIC_REQUIRE(kDeadline.remaining_ns(kNow) == 0);
  STATIC_REQUIRE(kDeadline.remaining_ns(INT64_MAX) == 0);
}

TEST_CASE("never does not expire") {
  constexpr Deadline kDeadline = Deadline::never();
  STATIC_REQUIRE(kDeadline.is_never());
  STATIC_REQUIRE(!kDeadline.expired(INT64_MAX));
  STATIC_REQUIRE(kDeadline.remaining_ns(kNow) == INT64_MAX);
  STATIC_REQUIRE(kDeadline.remaining_poll_ms(kNow) == -1);
  STATIC_REQUIRE(Deadline::at(kNow) < kDeadline);
}

TEST_CASE("a deadline after a duration is that much later") {
  STATIC_REQUIRE(Deadline::after(3, kNow) == Deadline::at(kNow + 3));
  STATIC_REQUIRE(!Deadline::after(3, kNow).is_never());
}

TEST_CASE("a deadline after no time or less has expired") {
  STATIC_REQUIRE(Deadline::after(0, kNow).expired(kNow));
  STATIC_REQUIRE(Deadline::after(-1, kNow) == Deadline::at(kNow));
  STATIC_REQUIRE(Deadline::after(INT64_MIN, kNow) == Deadline::at(kNow));
}

TEST_CASE("a deadline too far off is never") {
  STATIC_REQUIRE(Deadline::after(INT64_MAX, kNow).is_never());
  STATIC_REQUIRE(Deadline::after(INT64_MAX - kNow + 1, kNow).is_never());
  STATIC_REQUIRE(!Deadline::after(INT64_MAX - kNow - 1, kNow).is_never());
}

TEST_CASE("what remains does not overflow") {
  STATIC_REQUIRE(Deadline::at(INT64_MAX - 1).remaining_ns(INT64_MIN) == INT64_MAX);
  STATIC_REQUIRE(Deadline::at(INT64_MIN).remaining_ns(INT64_MAX) == 0);
}

TEST_CASE("what remains becomes a timespec") {
  constexpr timespec kLeft = Deadline::at(kNow + 2 * kNanosecondsPerSecond + 7).remaining(kNow);
  STATIC_REQUIRE(kLeft.tv_sec == 2);
  STATIC_REQUIRE(kLeft.tv_nsec == 7);
  constexpr timespec kNothing = Deadline::at(kNow - 1).remaining(kNow);
  STATIC_REQUIRE(kNothing.tv_sec == 0);
  STATIC_REQUIRE(kNothing.tv_nsec == 0);
  constexpr timespec kForever = Deadline::never().remaining(kNow);
  STATIC_REQUIRE(kForever.tv_sec == INT64_MAX / kNanosecondsPerSecond);
  STATIC_REQUIRE(kForever.tv_nsec < kNanosecondsPerSecond);
}

TEST_CASE("what remains is rounded up to milliseconds for poll") {
  const auto left_ms = [](std::int64_t left_ns) {
    return Deadline::at(kNow + left_ns).remaining_poll_ms(kNow);
  };
  CHECK(left_ms(-1) == 0);
  CHECK(left_ms(0) == 0);
  CHECK(left_ms(1) == 1);
  CHECK(left_ms(kNanosecondsPerMillisecond - 1) == 1);
  CHECK(left_ms(kNanosecondsPerMillisecond) == 1);
  CHECK(left_ms(kNanosecondsPerMillisecond + 1) == 2);
  CHECK(left_ms(INT_MAX * kNanosecondsPerMillisecond) == INT_MAX);
  CHECK(left_ms(INT_MAX * kNanosecondsPerMillisecond + 1) == INT_MAX);
  CHECK(left_ms(INT64_MAX - kNow - 1) == INT_MAX);
}

TEST_CASE("a timespec becomes nanoseconds") {
  STATIC_REQUIRE(to_ns({.tv_sec = 2, .tv_nsec = 3}) == 2 * kNanosecondsPerSecond + 3);
  STATIC_REQUIRE(to_ns({.tv_sec = 0, .tv_nsec = 0}) == 0);
  STATIC_REQUIRE(to_ns({.tv_sec = -1, .tv_nsec = 0}) == -kNanosecondsPerSecond);
  STATIC_REQUIRE(to_ns({.tv_sec = INT64_MAX, .tv_nsec = 0}) == INT64_MAX);
  STATIC_REQUIRE(to_ns({.tv_sec = INT64_MIN, .tv_nsec = 0}) == INT64_MIN);
  // The seconds fit, the sum does not.
  STATIC_REQUIRE(to_ns({.tv_sec = INT64_MAX / kNanosecondsPerSecond,
                        .tv_nsec = kNanosecondsPerSecond - 1}) == INT64_MAX);
}

TEST_CASE("the clock does not go back") {
  const std::int64_t first = rsock::monotonic_now_ns();
  const std::int64_t second = rsock::monotonic_now_ns();
  CHECK(first > 0);
  CHECK(second >= first);
}
