#include "core/socket/socket_pool.h"

#include "core/base/check.h"
#include "core/base/mark.h"
#include "core/os/pages.h"

namespace rsock::socket {

namespace {

constexpr std::uint64_t kChange = std::uint64_t{1} << 32;
constexpr std::uint64_t kLow = kChange - 1;

constexpr std::uint32_t references(std::uint64_t state) {
  return static_cast<std::uint32_t>(state & kLow);
}
constexpr std::uint32_t generation(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> 32);
}

}  // namespace

Handle SocketPool::allocate() noexcept {
  std::uint32_t index = 0;
  if (!pop_free(index) && !take_unused(index)) {
    RSOCK_MARK(socket_pool_exhausted);
    return Handle();
  }
  Socket& socket = *find(index);
  const std::uint32_t next = generation(socket.state.load(std::memory_order_relaxed)) + 1;
  socket.state.store(static_cast<std::uint64_t>(next) << 32 | 1, std::memory_order_release);
  return Handle(index, next);
}

bool SocketPool::acquire(Handle handle) noexcept {
  Socket& socket = *find(handle.index());
  std::uint64_t state = socket.state.load(std::memory_order_relaxed);
  do {
    if (generation(state) != handle.generation() || references(state) == 0) {
      RSOCK_MARK(acquire_met_old_handle);
      return false;
    }
  } while (!socket.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                               std::memory_order_relaxed));
  return true;
}

bool SocketPool::release(Handle handle) noexcept {
  const std::uint64_t before = find(handle.index())->state.fetch_sub(1, std::memory_order_acq_rel);
  RSOCK_DCHECK(generation(before) == handle.generation() && references(before) > 0);
  return references(before) == 1;
}

void SocketPool::free(Handle handle) noexcept {
  Socket& socket = *find(handle.index());
  std::uint64_t head = free_head_.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    socket.next_free_plus_one.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    next = ((head & ~kLow) + kChange) | (handle.index() + 1);
  } while (!free_head_.compare_exchange_weak(head, next, std::memory_order_release,
                                             std::memory_order_relaxed));
}

bool SocketPool::pop_free(std::uint32_t& index) noexcept {
  std::uint64_t head = free_head_.load(std::memory_order_acquire);
  std::uint64_t next = 0;
  do {
    if (static_cast<std::uint32_t>(head) == 0) return false;
    index = static_cast<std::uint32_t>(head) - 1;
    next = ((head & ~kLow) + kChange) |
           find(index)->next_free_plus_one.load(std::memory_order_relaxed);
  } while (!free_head_.compare_exchange_weak(head, next, std::memory_order_acquire,
                                             std::memory_order_acquire));
  return true;
}

bool SocketPool::take_unused(std::uint32_t& index) noexcept {
  std::uint32_t from = unused_from_.load(std::memory_order_relaxed);
  do {
    if (from >= config::kSocketsMax) return false;
    if (os::get_or_map(chunks_[from / kSocketsPerChunk]) == nullptr) return false;
  } while (!unused_from_.compare_exchange_weak(from, from + 1, std::memory_order_relaxed));
  index = from;
  return true;
}

}  // namespace rsock::socket
