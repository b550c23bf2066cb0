#include "core/base/mutex.h"

void caller(rsock::Mutex<rsock::LockRank::stats>& mutex);
void caller(rsock::Mutex<rsock::LockRank::stats>& mutex) {
  mutex.lock();
#ifndef RSOCK_REJECTED
  mutex.unlock();
#endif
}
