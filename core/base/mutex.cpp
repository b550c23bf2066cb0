#include "core/base/mutex.h"

#include "core/base/text_buffer.h"

#if RSOCK_DEBUG_CHECKS

namespace rsock::held_locks {

namespace {

struct HeldLock {
  const void* mutex;
  LockRank rank;
};

// The locks that a thread holds, in the order in which it took them; ranks only grow along it,
// so it cannot be longer than there are ranks.
struct HeldLocks {
  HeldLock locks[kLockRankCount];
  std::size_t count;

  [[nodiscard]] HeldLock* find(const void* mutex) noexcept {
    for (std::size_t index = 0; index < count; ++index) {
      if (locks[index].mutex == mutex) return &locks[index];
    }
    return nullptr;
  }

  void remove(HeldLock* lock) noexcept {
    const HeldLock* end = locks + count;
    for (; lock + 1 != end; ++lock) *lock = *(lock + 1);
    --count;
  }
};

constinit thread_local HeldLocks held{};

std::string_view name_of(LockRank rank) { return kLockRankNames[static_cast<std::size_t>(rank)]; }

[[noreturn]] void fail_order(LockRank wanted, LockRank last) noexcept {
  constexpr std::size_t kMessageBytes = 128;
  TextBuffer<kMessageBytes> message;
  message.append("lock ").append(name_of(wanted));
  message.append(" wanted while lock ").append(name_of(last)).append(" is held");
  check_failed("lock order", __FILE__, __LINE__, message.view());
}

}  // namespace

void acquire(const void* mutex, LockRank rank) noexcept {
  RSOCK_CHECK(held.find(mutex) == nullptr, "the thread holds this lock already");
  if (held.count != 0) {
    const LockRank last = held.locks[held.count - 1].rank;
    if (last >= rank) fail_order(rank, last);
  }
  held.locks[held.count++] = {mutex, rank};
}

void release(const void* mutex) noexcept {
  HeldLock* lock = held.find(mutex);
  RSOCK_CHECK(lock != nullptr, "the thread does not hold this lock");
  held.remove(lock);
}

void forget(const void* mutex) noexcept {
  HeldLock* lock = held.find(mutex);
  if (lock != nullptr) held.remove(lock);
}

}  // namespace rsock::held_locks

#endif
