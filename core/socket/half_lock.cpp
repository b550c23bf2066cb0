#include "core/socket/half_lock.h"

#include "core/os/errno_keeper.h"
#include "core/os/futex.h"

namespace rsock::socket {

namespace {

constexpr int kTriesBeforeSleep = 100;

}  // namespace

bool HalfLock::lock_slowly(std::uintptr_t found) noexcept {
  const std::uintptr_t own = self();
  if ((found & ~kSomebodyWaits) == own) return false;
  const os::ErrnoKeeper keeper;
  for (int tries = 0;; ++tries) {
    std::uintptr_t word = word_.load(std::memory_order_relaxed);
    if (word == 0) {
      // Others may wait as well: whoever has waited assumes so.
      if (word_.compare_exchange_weak(word, own | kSomebodyWaits, std::memory_order_acquire)) {
        return true;
      }
      continue;
    }
    if (tries < kTriesBeforeSleep) {
      __builtin_ia32_pause();
      continue;
    }
    const std::uintptr_t waited_for = word | kSomebodyWaits;
    if (word != waited_for &&
        !word_.compare_exchange_weak(word, waited_for, std::memory_order_relaxed)) {
      continue;
    }
    // futex(2) looks at 32 bits: those at the word's address, in which the flag is.
    static_cast<void>(
        os::futex_wait(&word_, static_cast<std::uint32_t>(waited_for), Deadline::never()));
  }
}

void HalfLock::wake_one() noexcept {
  const os::ErrnoKeeper keeper;
  os::futex_wake(&word_, 1);
}

}  // namespace rsock::socket
