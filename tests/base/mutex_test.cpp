#include "core/base/mutex.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/death.h"

namespace {

using rsock::LockRank;
using rsock::Mutex;
using rsock::MutexLock;
using rsock::testing::Death;
using rsock::testing::run_in_child;

struct Guarded {
  Mutex<LockRank::socket_table> mutex;
  long count RSOCK_GUARDED_BY(mutex) = 0;
};

// A library's mutex exists before its constructors run, and after its destructors.
constinit Guarded guarded;
static_assert(std::is_trivially_destructible_v<Mutex<LockRank::stats>>);
static_assert(!std::is_copy_constructible_v<Mutex<LockRank::stats>>);

}  // namespace

TEST_CASE("a mutex lets one thread in at a time") {
  constexpr int kThreads = 4;
  constexpr int kTimes = 1000;
  std::atomic<int> inside{0};
  std::atomic<int> met_another{0};
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int time = 0; time < kTimes; ++time) {
        const MutexLock lock(guarded.mutex);
        if (inside.fetch_add(1, std::memory_order_relaxed) != 0) ++met_another;
        ++guarded.count;
        std::this_thread::yield();  // lets another thread in, unless the lock keeps it out
        inside.fetch_sub(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(guarded.mutex);
  CHECK(guarded.count == kThreads * kTimes);
  CHECK(met_another == 0);
}

TEST_CASE("all locks may be taken in the order of their ranks") {
  Mutex<LockRank::upgrade> upgrade;
  Mutex<LockRank::socket_table> socket_table;
  Mutex<LockRank::socket_tx> socket_tx;
  Mutex<LockRank::socket_rx> socket_rx;
  Mutex<LockRank::progress> progress;
  Mutex<LockRank::stats> stats;
  Mutex<LockRank::config> config;
  Mutex<LockRank::log> log;
  STATIC_REQUIRE(rsock::kLockRankCount == 8);
  for (int time = 0; time < 2; ++time) {
    const MutexLock lock1(upgrade);
    const MutexLock lock2(socket_table);
    const MutexLock lock3(socket_tx);
    const MutexLock lock4(socket_rx);
    const MutexLock lock5(progress);
    const MutexLock lock6(stats);
    const MutexLock lock7(config);
    const MutexLock lock8(log);
  }
}

TEST_CASE("locks may be released in any order") {
  Mutex<LockRank::upgrade> first;
  Mutex<LockRank::socket_tx> second;
  Mutex<LockRank::stats> third;
  first.lock();
  second.lock();
  third.lock();
  first.unlock();
  third.unlock();
  third.lock();
  second.unlock();
  third.unlock();
  first.lock();
  first.unlock();
}

TEST_CASE("another thread's locks do not count") {
  Mutex<LockRank::log> last;
  Mutex<LockRank::upgrade> first;
  const MutexLock lock(last);
  std::thread([&first] { const MutexLock inner(first); }).join();
}

TEST_CASE("a fork child can lock what another thread held") {
  Mutex<LockRank::stats> mutex;
  mutex.lock();
  Death death{};
  std::thread([&mutex, &death] {
    death = run_in_child([&mutex] {
      mutex.reinitialize_in_child();
      alarm(60);
      mutex.lock();
      mutex.unlock();
    });
  }).join();
  mutex.unlock();
  CHECK(death.signal == 0);
  CHECK(death.exit_code == 0);
  CHECK(death.text.empty());
}

TEST_CASE("a fork child can lock what the forking thread held") {
  Mutex<LockRank::socket_table> earlier;
  Mutex<LockRank::stats> later;
  earlier.lock();
  later.lock();
  const Death death = run_in_child([&earlier, &later]() RSOCK_NO_THREAD_SAFETY_ANALYSIS {
    earlier.reinitialize_in_child();
    later.reinitialize_in_child();
    alarm(60);
    earlier.lock();
    later.lock();
    later.unlock();
    earlier.unlock();
  });
  later.unlock();
  earlier.unlock();
  CHECK(death.signal == 0);
  CHECK(death.exit_code == 0);
  CHECK(death.text.empty());
}

#if RSOCK_DEBUG_CHECKS
TEST_CASE("a lock taken against the order fails a debug check") {
  const Death death = run_in_child([] {
    Mutex<LockRank::socket_tx> first;
    Mutex<LockRank::progress> second;
    const MutexLock outer(second);
    const MutexLock inner(first);
  });
  CHECK(death.signal == SIGILL);
  CHECK(death.says("(lock socket_tx wanted while lock progress is held)"));
  CHECK(death.says("librsock:   #0 "));
}

TEST_CASE("a second lock of one rank fails a debug check") {
  const Death death = run_in_child([] {
    Mutex<LockRank::socket_tx> first;
    Mutex<LockRank::socket_tx> second;
    const MutexLock outer(first);
    const MutexLock inner(second);
  });
  CHECK(death.signal == SIGILL);
  CHECK(death.says("(lock socket_tx wanted while lock socket_tx is held)"));
}

TEST_CASE("the order counts after a release out of order") {
  const Death death = run_in_child([]() RSOCK_NO_THREAD_SAFETY_ANALYSIS {
    Mutex<LockRank::upgrade> first;
    Mutex<LockRank::socket_tx> second;
    Mutex<LockRank::stats> third;
    first.lock();
    second.lock();
    third.lock();
    second.unlock();
    second.lock();
  });
  CHECK(death.signal == SIGILL);
  CHECK(death.says("(lock socket_tx wanted while lock stats is held)"));
}

TEST_CASE("a lock taken twice fails a debug check instead of waiting for ever") {
  const Death death = run_in_child([]() RSOCK_NO_THREAD_SAFETY_ANALYSIS {
    alarm(60);
    Mutex<LockRank::stats> mutex;
    mutex.lock();
    mutex.lock();
  });
  CHECK(death.signal == SIGILL);
  CHECK(death.says("(the thread holds this lock already)"));
}

TEST_CASE("a lock released by a thread that does not hold it fails a debug check") {
  const Death death = run_in_child([]() RSOCK_NO_THREAD_SAFETY_ANALYSIS {
    Mutex<LockRank::stats> mutex;
    mutex.unlock();
  });
  CHECK(death.signal == SIGILL);
  CHECK(death.says("(the thread does not hold this lock)"));
}
#endif
