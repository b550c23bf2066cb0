#include "core/socket/socket_pool.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/base/mark.h"
#include "tests/os/failing_call.h"

namespace {

using namespace rsock;
using socket::Handle;
using socket::SocketPool;

void end(SocketPool& pool, Handle handle) {
  if (pool.release(handle)) pool.free(handle);
}

TEST_CASE("sockets in use are different sockets") {
  const auto pool = std::make_unique<SocketPool>();
  std::set<std::uint32_t> indices;
  for (int count = 0; count < 3000; ++count) {  // into a third chunk
    const Handle handle = pool->allocate();
    REQUIRE(handle);
    indices.insert(handle.index());
  }
  CHECK(indices.size() == 3000);
}

TEST_CASE("a socket ends with its last reference, and its memory is used anew") {
  const auto pool = std::make_unique<SocketPool>();
  const Handle first = pool->allocate();
  REQUIRE(pool->acquire(first));
  CHECK_FALSE(pool->release(first));
  CHECK(pool->release(first));
  pool->free(first);
  const Handle second = pool->allocate();
  CHECK(second.index() == first.index());
  CHECK(second.generation() != first.generation());
}

TEST_CASE("a handle of a socket that has ended gives no reference") {
  const auto pool = std::make_unique<SocketPool>();
  const Handle old = pool->allocate();
  const auto met_before = marks::hit_count(marks::Mark::acquire_met_old_handle);
  CHECK(pool->release(old));
  CHECK_FALSE(pool->acquire(old));  // No references, not yet free.
  pool->free(old);
  CHECK_FALSE(pool->acquire(old));
  const Handle successor = pool->allocate();
  REQUIRE(successor.index() == old.index());
  CHECK_FALSE(pool->acquire(old));
  CHECK(pool->acquire(successor));
  CHECK(marks::hit_count(marks::Mark::acquire_met_old_handle) == met_before + 3);
}

TEST_CASE("without memory there is no socket, and later there is again") {
  const auto pool = std::make_unique<SocketPool>();
  {
    const testing::FailingCall<&os::Syscalls::mmap> failing(1, ENOMEM);
    const auto exhausted_before = marks::hit_count(marks::Mark::socket_pool_exhausted);
    CHECK_FALSE(pool->allocate());
    CHECK(marks::hit_count(marks::Mark::socket_pool_exhausted) == exhausted_before + 1);
  }
  CHECK(pool->allocate());
}

TEST_CASE("threads that make and end sockets never own the same one") {
  constexpr int kThreads = 4;
  constexpr int kTurns = 20'000;
  constexpr std::size_t kHeld = 16;
  const auto pool = std::make_unique<SocketPool>();
  std::array<std::atomic<int>, kThreads * kHeld * 2> owners{};
  std::atomic<int> conflicts{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<Handle> held;
      for (int turn = 0; turn < kTurns; ++turn) {
        if (held.size() < kHeld && random() % 2 == 0) {
          held.push_back(pool->allocate());
          conflicts += owners.at(held.back().index()).fetch_add(1);
        } else if (!held.empty()) {
          const std::size_t which = random() % held.size();
          owners.at(held[which].index()).fetch_sub(1);
          end(*pool, held[which]);
          held[which] = held.back();
          held.pop_back();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(conflicts == 0);
}

TEST_CASE("a reference that was got keeps the socket from becoming another") {
  constexpr int kTurns = 50'000;
  const auto pool = std::make_unique<SocketPool>();
  std::atomic<std::uint64_t> published{0};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> got{0};
  std::thread reader([&] {
    while (!stop) {
      const Handle handle(published.load());
      if (!handle || !pool->acquire(handle)) continue;
      ++got;
      const auto state = pool->at(handle).state.load();
      if (static_cast<std::uint32_t>(state >> 32) != handle.generation()) ++wrong;
      end(*pool, handle);
    }
  });
  for (int turn = 0; turn < kTurns || got == 0; ++turn) {
    const Handle handle = pool->allocate();
    published = handle.word();
    end(*pool, handle);
  }
  stop = true;
  reader.join();
  CHECK(wrong == 0);
}

}  // namespace
