#pragma once

namespace rsock::os {

// Between vfork and the child's exec or exit, the child runs in the memory of its parent but
// with a descriptor table of its own. What it closes or opens then says nothing about the
// parent's descriptors, so the socket table must not hear of it.

// The calling thread is about to vfork.
void note_vfork() noexcept;

// The process is about to make a child (clone) that shares its memory for as long as it likes but
// not its descriptor table.
void note_child_in_our_memory() noexcept;

// The calling process has just been made by fork: its memory is its own.
void note_own_address_space() noexcept;

// True in a child that runs in its parent's memory. Costs a load and a compare, except in the
// moments after a vfork, when it makes a system call. Async-signal-safe.
[[nodiscard]] bool address_space_is_borrowed() noexcept;

}  // namespace rsock::os
