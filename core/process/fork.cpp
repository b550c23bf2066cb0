#include "core/process/fork.h"

#include <pthread.h>
#include <sched.h>

#include "core/os/address_space.h"
#include "core/os/errno_keeper.h"
#include "core/os/sandbox.h"
#include "core/os/syscalls.h"
#include "core/stats/publisher.h"

namespace rsock::process {

namespace {

struct ChildStart {
  int (*function)(void*);
  void* argument;
};

// First code of a clone()d child that has memory of its own: `start` is its copy.
int start_forked_child(void* start) {
  after_fork_in_child();
  const ChildStart child = *static_cast<ChildStart*>(start);
  return child.function(child.argument);
}

// Handlers of libraries that started before us run in the child before ours. Until ours has run,
// the child is as one that has its parent's memory: what it closes is not the parent's.
void before_fork() {
  const os::ErrnoKeeper keeper;
  if (!os::is_sandboxed()) os::note_vfork();
}

}  // namespace

void after_fork_in_child() noexcept {
  const os::ErrnoKeeper keeper;
  os::note_own_address_space();
  stats::publisher().after_fork_in_child();
}

void watch_forks() noexcept {
  static_cast<void>(pthread_atfork(&before_fork, nullptr, &after_fork_in_child));
}

int clone_child(int (*function)(void*), void* stack, int flags, void* argument, pid_t* parent_tid,
                void* tls, pid_t* child_tid) noexcept {
  if ((flags & CLONE_VM) != 0 && (flags & CLONE_FILES) == 0) os::note_child_in_our_memory();
  if ((flags & CLONE_VM) != 0 || function == nullptr) {
    return os::sys().clone(function, stack, flags, argument, parent_tid, tls, child_tid);
  }
  ChildStart start{function, argument};
  return os::sys().clone(&start_forked_child, stack, flags, &start, parent_tid, tls, child_tid);
}

}  // namespace rsock::process
