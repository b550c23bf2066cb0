#pragma once

#include <sys/types.h>

namespace rsock::process {

// Called in a process just made by fork, before the program's own code goes on: the child gets
// its own stats page and leaves its parent's alone. Calling it twice does no harm.
// Async-signal-safe; errno stays.
void after_fork_in_child() noexcept;

// Makes after_fork_in_child() run in every child that libc makes for itself (fork, daemon,
// forkpty). _Fork and clone run no such handlers; their wrappers call it.
void watch_forks() noexcept;

// clone(2) as libc has it, with the bookkeeping that its flags ask for.
int clone_child(int (*function)(void*), void* stack, int flags, void* argument, pid_t* parent_tid,
                void* tls, pid_t* child_tid) noexcept;

}  // namespace rsock::process
