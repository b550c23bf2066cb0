#pragma once

namespace rsock::purity {

// While one exists in a thread, a call of malloc, calloc, realloc, free, posix_memalign,
// aligned_alloc or pthread_mutex_lock by this thread is counted, and ends the process when it is
// one more than `allowed`. Programs that link forbidden.cpp have these functions in the place of
// libc's, for every library in the process. Async-signal-safe.
class Forbidden {
 public:
  explicit Forbidden(long allowed) noexcept;
  Forbidden(const Forbidden&) = delete;
  Forbidden& operator=(const Forbidden&) = delete;
  ~Forbidden();

  [[nodiscard]] long count() const noexcept;

  static constexpr long kAny = -1;  // as `allowed`: counts only

 private:
  // What an enclosing one (of the code that a signal handler interrupted) had.
  long outer_allowed_;
  long outer_count_;
};

}  // namespace rsock::purity
