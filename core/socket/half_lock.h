#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/thread_annotations.h"

namespace rsock::socket {

// Guards one half of a connection. Unlike Mutex it may be asked for by a signal handler that has
// interrupted its holder: then it says so instead of waiting for ever.
//
// Thread safety: every function by any thread and any signal handler.
// Invariants:
//   1. The word names the holder from the very instruction that takes the lock, so a handler never
//      finds its own thread's lock without a name.
class RSOCK_CAPABILITY("mutex") HalfLock {
 public:
  // False: the calling thread holds the lock already; this is a signal handler of its.
  [[nodiscard]] bool lock() noexcept RSOCK_TRY_ACQUIRE(true) {
    std::uintptr_t free = 0;
    if (word_.compare_exchange_strong(free, self(), std::memory_order_acquire)) [[likely]]
      return true;
    return lock_slowly(free);
  }
  [[nodiscard]] bool try_lock() noexcept RSOCK_TRY_ACQUIRE(true) {
    std::uintptr_t free = 0;
    return word_.compare_exchange_strong(free, self(), std::memory_order_acquire);
  }
  void unlock() noexcept RSOCK_RELEASE() {
    if ((word_.exchange(0, std::memory_order_release) & kSomebodyWaits) != 0) wake_one();
  }

 private:
  // Thread control blocks are aligned, so the lowest bit of their address is free.
  static constexpr std::uintptr_t kSomebodyWaits = 1;

  // What differs between threads and costs nothing to read: the address of the thread's control
  // block, which the x86-64 ABI keeps at %fs:0.
  static std::uintptr_t self() noexcept {
    std::uintptr_t address;
    asm("mov %%fs:0, %0" : "=r"(address));
    return address;
  }

  bool lock_slowly(std::uintptr_t found) noexcept;
  void wake_one() noexcept;

  std::atomic<std::uintptr_t> word_{0};
};

}  // namespace rsock::socket
