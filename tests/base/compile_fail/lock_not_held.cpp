#include "core/base/mutex.h"

class Counter {
 public:
  void increment_twice() {
#ifndef RSOCK_REJECTED
    const rsock::MutexLock lock(mutex_);
#endif
    increment();
    increment();
  }

 private:
  void increment() RSOCK_REQUIRES(mutex_) { ++count_; }

  rsock::Mutex<rsock::LockRank::stats> mutex_;
  int count_ RSOCK_GUARDED_BY(mutex_) = 0;
};

void caller(Counter& counter);
void caller(Counter& counter) { counter.increment_twice(); }
