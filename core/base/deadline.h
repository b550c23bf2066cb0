#pragma once

#include <time.h>

#include <climits>
#include <compare>
#include <cstdint>

namespace rsock {

inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
inline constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;

// Time on CLOCK_MONOTONIC. libc answers without a system call.
[[nodiscard]] inline std::int64_t monotonic_now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

// A timeout in nanoseconds. One that does not fit is as good as for ever.
[[nodiscard]] constexpr std::int64_t to_ns(const timespec& duration) noexcept {
  std::int64_t seconds_ns = 0;
  std::int64_t sum_ns = 0;
  if (__builtin_mul_overflow(duration.tv_sec, kNanosecondsPerSecond, &seconds_ns) ||
      __builtin_add_overflow(seconds_ns, duration.tv_nsec, &sum_ns)) {
    return duration.tv_sec < 0 ? INT64_MIN : INT64_MAX;
  }
  return sum_ns;
}

// A point of time on CLOCK_MONOTONIC up to which to wait. A blocking call computes it once, so
// that a wait that is interrupted and resumed does not start its timeout anew.
//
// Thread safety: a value.
// Invariants:
//   1. Arithmetic saturates: a time that lies too far off to be represented is "never".
class Deadline {
 public:
  [[nodiscard]] static constexpr Deadline never() noexcept { return Deadline(kNever); }
  [[nodiscard]] static constexpr Deadline at(std::int64_t monotonic_ns) noexcept {
    return Deadline(monotonic_ns);
  }
  // A duration below zero counts as zero: it has expired at once.
  [[nodiscard]] static constexpr Deadline after(std::int64_t duration_ns,
                                                std::int64_t now_ns) noexcept {
    if (duration_ns <= 0) return Deadline(now_ns);
    std::int64_t at_ns = 0;
    return __builtin_add_overflow(now_ns, duration_ns, &at_ns) ? never() : Deadline(at_ns);
  }

  [[nodiscard]] friend constexpr auto operator<=>(Deadline, Deadline) noexcept = default;

  [[nodiscard]] constexpr bool is_never() const noexcept { return at_ns_ == kNever; }
  [[nodiscard]] constexpr bool expired(std::int64_t now_ns) const noexcept {
    return !is_never() && now_ns >= at_ns_;
  }

  // How long is left; zero when expired, INT64_MAX for never.
  [[nodiscard]] constexpr std::int64_t remaining_ns(std::int64_t now_ns) const noexcept {
    if (is_never()) return INT64_MAX;
    if (expired(now_ns)) return 0;
    std::int64_t left_ns = 0;
    return __builtin_sub_overflow(at_ns_, now_ns, &left_ns) ? INT64_MAX : left_ns;
  }

  // The same as a relative timeout for ppoll or futex. These take a null pointer for "never";
  // with what this returns for it they would wait for 292 years.
  [[nodiscard]] constexpr timespec remaining(std::int64_t now_ns) const noexcept {
    const std::int64_t left_ns = remaining_ns(now_ns);
    return {.tv_sec = left_ns / kNanosecondsPerSecond, .tv_nsec = left_ns % kNanosecondsPerSecond};
  }

  // The same as a timeout for poll or epoll_wait: -1 means never. Rounded up, so that a wait
  // which ends by timeout finds the deadline expired instead of spinning for its last part.
  [[nodiscard]] constexpr int remaining_poll_ms(std::int64_t now_ns) const noexcept {
    if (is_never()) return -1;
    const std::int64_t left_ns = remaining_ns(now_ns);
    const std::int64_t left_ms =
        left_ns / kNanosecondsPerMillisecond + (left_ns % kNanosecondsPerMillisecond != 0 ? 1 : 0);
    return left_ms > INT_MAX ? INT_MAX : static_cast<int>(left_ms);
  }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;

  explicit constexpr Deadline(std::int64_t at_ns) noexcept : at_ns_(at_ns) {}

  std::int64_t at_ns_;
};

}  // namespace rsock
