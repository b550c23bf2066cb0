#pragma once

#include <atomic>
#include <type_traits>

#include "core/os/syscalls.h"

namespace rsock::os {

// What `pointer` points to; if null, it is first made from fresh zeroed pages. Null when there is
// no memory. For things that live as long as the process: threads that get here at once agree on
// one of theirs, and none waits. Async-signal-safe.
template <typename T>
T* get_or_map(std::atomic<T*>& pointer) noexcept {
  static_assert(std::is_trivially_destructible_v<T>);
  T* existing = pointer.load(std::memory_order_acquire);
  if (existing != nullptr) return existing;
  void* memory =
      sys().mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Zeroed memory is a valid T: only such types are kept this way.
  T* made = static_cast<T*>(memory);
  if (pointer.compare_exchange_strong(existing, made, std::memory_order_acq_rel)) return made;
  sys().munmap(memory, sizeof(T));
  return existing;
}

}  // namespace rsock::os
