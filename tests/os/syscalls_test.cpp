#include "core/os/syscalls.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/death.h"
#include "tests/os/failing_call.h"

namespace {

using namespace rsock;
using testing::FailingCall;

TEST_CASE("a slot that was never resolved works at its first call") {
  // A table of its own, as it is before the constructor.
  static constinit os::Syscalls fresh{};
  const auto stub = fresh.getpid.get();
  CHECK(fresh.getpid() == getpid());
  // The stub resolves the slot of the process's table.
  CHECK(os::sys().getpid.get() != stub);
}

TEST_CASE("a variadic slot that was never resolved passes its argument on") {
  static constinit os::Syscalls fresh{};
  int fds[2];
  REQUIRE(fresh.pipe(fds) == 0);
  CHECK(fresh.fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
  CHECK((fresh.fcntl(fds[0], F_GETFL) & O_NONBLOCK) != 0);
  CHECK(fresh.syscall(SYS_close, fds[0]) == 0);
  CHECK(fresh.close(fds[1]) == 0);
}

TEST_CASE("resolving keeps errno and finds libc's functions") {
  errno = ENOTTY;
  os::resolve_all();
  CHECK(errno == ENOTTY);
  CHECK(os::sys().read.get() ==
        reinterpret_cast<decltype(os::sys().read.get())>(dlsym(RTLD_DEFAULT, "read")));
  CHECK(os::sys().gettid() == gettid());
}

TEST_CASE("threads that resolve at once all reach the function") {
  static constinit os::Syscalls fresh{};
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&right] {
      for (int turn = 0; turn < 1000; ++turn) right += fresh.getpid() == getpid() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 8000);
}

TEST_CASE("the list names each function once") {
  const std::vector<std::string> names = {
#define RSOCK_INTERCEPTED(name) #name,
#define RSOCK_OPTIONAL(name) #name,
#define RSOCK_CALLED(name) #name,
#include "core/os/syscalls.inc"
  };
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("a test can make the n-th call fail, once or for ever") {
  {
    const FailingCall<&os::Syscalls::getpid> failing(
        2, EPERM, FailingCall<&os::Syscalls::getpid>::Kind::once);
    CHECK(os::sys().getpid() == getpid());
    CHECK(os::sys().getpid() == -1);
    CHECK(errno == EPERM);
    CHECK(os::sys().getpid() == getpid());
  }
  const FailingCall<&os::Syscalls::getpid> failing(1, EPERM);
  CHECK(os::sys().getpid() == -1);
  CHECK(os::sys().getpid() == -1);
}

}  // namespace
