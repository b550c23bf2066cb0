#include "core/os/address_space.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "core/os/syscalls.h"

namespace {

using namespace rsock;

TEST_CASE("a process is in its own memory") { CHECK_FALSE(os::address_space_is_borrowed()); }

// ThreadSanitizer can't follow a child that runs in its parent's memory.
#ifndef __SANITIZE_THREAD__

// What a child that shares our memory finds out about itself.
volatile int child_answer = -1;

int ask_in_child(void*) {
  child_answer = os::address_space_is_borrowed() ? 1 : 0;
  return 0;
}

int run_clone(int flags) {
  static char stack[64 * 1024];
  child_answer = -1;
  const pid_t child = clone(&ask_in_child, stack + sizeof(stack), flags | SIGCHLD, nullptr, nullptr,
                            nullptr, nullptr);
  REQUIRE(child > 0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  return child_answer;
}

TEST_CASE("the child of a vfork is in its parent's memory, and the parent is not") {
  os::note_vfork();
  CHECK(run_clone(CLONE_VM | CLONE_VFORK) == 1);
  CHECK_FALSE(os::address_space_is_borrowed());
  CHECK_FALSE(os::address_space_is_borrowed());
}

TEST_CASE("a child by clone that goes on in our memory knows it, and we know that it is ours") {
  os::note_child_in_our_memory();
  CHECK(run_clone(CLONE_VM) == 1);
  CHECK_FALSE(os::address_space_is_borrowed());
  os::note_own_address_space();
}

#endif  // __SANITIZE_THREAD__

TEST_CASE("a vfork in one thread says nothing about another") {
  os::note_vfork();
  bool other = true;
  std::thread([&other] { other = os::address_space_is_borrowed(); }).join();
  CHECK_FALSE(other);
  CHECK_FALSE(os::address_space_is_borrowed());
}

TEST_CASE("a forked process owns its memory, also one made by a child of vfork") {
  os::note_vfork();
  os::note_child_in_our_memory();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    os::note_own_address_space();
    _exit(os::address_space_is_borrowed() ? 1 : 0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  os::note_own_address_space();
}

}  // namespace
