#include "core/socket/half_lock.h"

#include <csignal>

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace {

// The lock without the compiler's analysis, which does not look through Catch's macros.
class AnyLock {
 public:
  bool lock() RSOCK_NO_THREAD_SAFETY_ANALYSIS { return lock_.lock(); }
  bool try_lock() RSOCK_NO_THREAD_SAFETY_ANALYSIS { return lock_.try_lock(); }
  void unlock() RSOCK_NO_THREAD_SAFETY_ANALYSIS { lock_.unlock(); }

 private:
  rsock::socket::HalfLock lock_;
};

AnyLock* interrupted = nullptr;
bool locked_in_handler = true;

void lock_in_handler(int) { locked_in_handler = interrupted->lock(); }

}  // namespace

TEST_CASE("one thread at a time holds the lock") {
  AnyLock lock;
  constexpr int kThreads = 4;
  constexpr int kRounds = 50'000;
  int sum = 0;
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        if (!lock.lock()) std::abort();
        ++sum;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == kThreads * kRounds);
}

TEST_CASE("a lock that another thread holds can't be taken, and is waited for") {
  AnyLock lock;
  REQUIRE(lock.lock());
  std::thread other([&] {
    CHECK_FALSE(lock.try_lock());
    CHECK(lock.lock());
    lock.unlock();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // Long enough to fall asleep, mostly.
  lock.unlock();
  other.join();
  CHECK(lock.try_lock());
  lock.unlock();
}

TEST_CASE("a signal handler is told that its own thread holds the lock") {
  AnyLock lock;
  interrupted = &lock;
  std::signal(SIGUSR1, &lock_in_handler);
  REQUIRE(lock.lock());
  std::raise(SIGUSR1);
  CHECK_FALSE(locked_in_handler);
  lock.unlock();
  std::raise(SIGUSR1);
  CHECK(locked_in_handler);
  lock.unlock();
  std::signal(SIGUSR1, SIG_DFL);
}
