#include "core/os/address_space.h"

#include <atomic>

#include "core/os/syscalls.h"

namespace rsock::os {

namespace {

// The thread that called vfork and has not been seen to come back. The child shares this very
// variable (it runs on the parent's thread-local storage while the parent's thread sleeps) but
// has another thread id.
constinit thread_local pid_t vforking_thread = 0;

// The process that owns this memory, once it has made a child by clone that shares it.
constinit std::atomic<pid_t> owner_process{0};

}  // namespace

void note_vfork() noexcept {
  if (vforking_thread == 0) vforking_thread = sys().gettid();
}

void note_child_in_our_memory() noexcept {
  pid_t nobody = 0;
  owner_process.compare_exchange_strong(nobody, sys().getpid(), std::memory_order_relaxed);
}

void note_own_address_space() noexcept {
  vforking_thread = 0;
  owner_process.store(0, std::memory_order_relaxed);
}

bool address_space_is_borrowed() noexcept {
  if (vforking_thread != 0) [[unlikely]] {
    if (sys().gettid() != vforking_thread) return true;
    vforking_thread = 0;  // The parent goes on only when the child has left its memory.
  }
  const pid_t owner = owner_process.load(std::memory_order_relaxed);
  return owner != 0 && sys().getpid() != owner;
}

}  // namespace rsock::os
