#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/base/thread_annotations.h"

namespace rsock {

// The locks in the order in which one thread may take them. A thread that holds one may only
// take a later one; so it never holds two of one rank.
//
//   X(name, what it guards)
#define RSOCK_LOCK_RANKS(X)                                                                 \
  X(upgrade, "the negotiations in progress; the service thread looks up sockets under it")  \
  X(socket_table, "the slow path of the descriptor table: making, ending, sharing sockets") \
  X(socket_tx, "the sending half of one socket")                                            \
  X(socket_rx, "the receiving half of one socket, separate so that both may run at once")   \
  X(progress, "a link's completions; each half makes progress while it is locked itself")   \
  X(stats, "the stats page's slow path")                                                    \
  X(config, "the settings")                                                                 \
  X(log, "the log's destination: anything may have to be logged, under any lock")

enum class LockRank : std::uint8_t {
#define RSOCK_LOCK_RANK_VALUE(name, guards) name,
  RSOCK_LOCK_RANKS(RSOCK_LOCK_RANK_VALUE)
#undef RSOCK_LOCK_RANK_VALUE
};

inline constexpr std::string_view kLockRankNames[] = {
#define RSOCK_LOCK_RANK_NAME(name, guards) #name,
    RSOCK_LOCK_RANKS(RSOCK_LOCK_RANK_NAME)
#undef RSOCK_LOCK_RANK_NAME
};

inline constexpr std::size_t kLockRankCount = std::size(kLockRankNames);

#if RSOCK_DEBUG_CHECKS
namespace held_locks {

// What the calling thread holds. acquire() ends the process when the thread holds a lock of the
// same or a later rank: two threads doing so in different orders would wait for each other.
void acquire(const void* mutex, LockRank rank) noexcept;
void release(const void* mutex) noexcept;
// In a fork child: the lock is no longer held, if it was.
void forget(const void* mutex) noexcept;

}  // namespace held_locks
#endif

// A lock with a place in the order of locks, which debug builds check each time it is taken.
//
// Thread safety: lock() and unlock() by any thread, not by a signal handler.
// Invariants:
//   1. Constant-initialised and never destroyed, so it works before and after the library's
//      constructor and destructor.
template <LockRank Rank>
class RSOCK_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() noexcept = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() noexcept RSOCK_ACQUIRE() {
#if RSOCK_DEBUG_CHECKS
    // First the check: the point of it is to fail instead of waiting for ever.
    held_locks::acquire(this, Rank);
#endif
    const int error = pthread_mutex_lock(&native_);
    RSOCK_CHECK(error == 0);
  }

  void unlock() noexcept RSOCK_RELEASE() {
#if RSOCK_DEBUG_CHECKS
    held_locks::release(this);
#endif
    const int error = pthread_mutex_unlock(&native_);
    RSOCK_CHECK(error == 0);
  }

  // Makes the lock free in a fork child, where the thread that held it may not exist. The caller
  // is the child's only thread. Not analysed: who held the lock is what it does away with.
  void reinitialize_in_child() noexcept RSOCK_NO_THREAD_SAFETY_ANALYSIS {
#if RSOCK_DEBUG_CHECKS
    held_locks::forget(this);
#endif
    native_ = PTHREAD_MUTEX_INITIALIZER;
  }

 private:
  pthread_mutex_t native_ = PTHREAD_MUTEX_INITIALIZER;
};

// Holds a Mutex for the length of a scope.
template <LockRank Rank>
class [[nodiscard]] RSOCK_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex<Rank>& mutex) noexcept RSOCK_ACQUIRE(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() RSOCK_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex<Rank>& mutex_;
};

}  // namespace rsock
