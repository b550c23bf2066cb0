#include "core/base/mutex.h"

class Counter {
 public:
  void increment() {
#ifndef RSOCK_REJECTED
    const rsock::MutexLock lock(mutex_);
#endif
    ++count_;
  }

 private:
  rsock::Mutex<rsock::LockRank::stats> mutex_;
  int count_ RSOCK_GUARDED_BY(mutex_) = 0;
};

void caller(Counter& counter);
void caller(Counter& counter) { counter.increment(); }
