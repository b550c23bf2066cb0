#include "core/socket/socket_table.h"

#include <fcntl.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "core/base/mark.h"
#include "core/os/address_space.h"
#include "core/socket/traffic.h"
#include "tests/os/failing_call.h"
#include "tests/socket/own_page.h"
#include "tests/socket/sockets.h"

namespace {

using namespace rsock;
using socket::Handle;
using socket::SocketRef;
using socket::table;
using stats::Counter;
using stats::Role;
using testing::counted;
using testing::FailingCall;
using testing::row_of;
using testing::tcp_socket;
using testing::TestFd;

std::uint64_t open_sockets() {
  return counted(Counter::sockets_tracked) - counted(Counter::sockets_closed);
}

TEST_CASE("a followed socket is found, and its row shows it") {
  const TestFd fd = tcp_socket();
  static_cast<void>(table().track(fd, Role::fresh));
  REQUIRE(table().peek(fd));
  const auto* row = row_of(fd);
  REQUIRE(row != nullptr);
  CHECK(static_cast<std::uint32_t>(row->identity.load()) == static_cast<unsigned>(fd) + 1);
  CHECK(row->role.load() == Role::fresh);
  CHECK(row->path.load() == stats::Path::tcp);
  CHECK(row->since_realtime_ns.load() > 0);
  table().forget(fd);
  CHECK_FALSE(table().peek(fd));
  CHECK(row->identity.load() == 0);
}

TEST_CASE("a reference outlives the descriptor, and the socket ends with it") {
  const TestFd fd = tcp_socket();
  const auto closed_before = counted(Counter::sockets_closed);
  Handle handle;
  {
    const SocketRef ref = table().track(fd, Role::fresh);
    handle = ref.handle();
    table().forget(fd);
    CHECK(ref);
    CHECK(table().acquire(handle));
    CHECK(counted(Counter::sockets_closed) == closed_before);
  }
  CHECK_FALSE(table().acquire(handle));
  CHECK(counted(Counter::sockets_closed) == closed_before + 1);
}

TEST_CASE("bytes are added to the socket that was looked up, and to the totals at its end") {
  const TestFd fd = tcp_socket();
  const auto tx_before = counted(Counter::closed_tx_tcp_bytes);
  const auto rx_before = counted(Counter::closed_rx_tcp_bytes);
  static_cast<void>(table().track(fd, Role::fresh));
  const Handle handle = table().peek(fd);
  socket::sent(handle, 0, 100);
  socket::sent(handle, 0, -1);
  socket::received(handle, 0, 7);
  socket::received(handle, MSG_PEEK, 7);
  CHECK(row_of(fd)->tx_tcp_bytes.load() == 100);
  CHECK(row_of(fd)->rx_tcp_bytes.load() == 7);
  table().forget(fd);
  CHECK(counted(Counter::closed_tx_tcp_bytes) == tx_before + 100);
  CHECK(counted(Counter::closed_rx_tcp_bytes) == rx_before + 7);

  // The number has a new owner: what the old call moved is not his.
  static_cast<void>(table().track(fd, Role::fresh));
  socket::sent(handle, 0, 1000);
  CHECK(row_of(fd)->tx_tcp_bytes.load() == 0);
  table().forget(fd);
}

TEST_CASE("dup'ed descriptors share one socket; the last close counts") {
  const TestFd fd = tcp_socket();
  const TestFd second(dup(fd));
  const auto before = open_sockets();
  static_cast<void>(table().track(fd, Role::fresh));
  table().share(fd, second);
  CHECK(table().peek(fd) == table().peek(second));
  CHECK(open_sockets() == before + 1);
  table().forget(fd);
  CHECK(open_sockets() == before + 1);
  CHECK(table().acquire(table().peek(second)));
  table().forget(second);
  CHECK(open_sockets() == before);
}

TEST_CASE("a duplicate of something else ends what the number was") {
  const TestFd fd = tcp_socket();
  static_cast<void>(table().track(fd, Role::fresh));
  const auto purged_before = counted(Counter::stale_purged);
  table().share(0, fd);
  CHECK_FALSE(table().peek(fd));
  CHECK(counted(Counter::stale_purged) == purged_before + 1);
}

TEST_CASE("a stale slot goes when its number is given out anew") {
  const TestFd fd = tcp_socket();
  const auto purged_before = counted(Counter::stale_purged);
  const auto marked_before = marks::hit_count(marks::Mark::stale_slot_purged);
  static_cast<void>(table().track(fd, Role::fresh));
  const Handle old = table().peek(fd);
  table().purge_stale(fd);  // as open() does that got this number
  CHECK_FALSE(table().peek(fd));
  table().purge_stale(fd);
  CHECK(counted(Counter::stale_purged) == purged_before + 1);
  CHECK(marks::hit_count(marks::Mark::stale_slot_purged) == marked_before + 1);
  static_cast<void>(table().track(fd, Role::fresh));
  static_cast<void>(table().track(fd, Role::fresh));  // as socket() does
  CHECK(counted(Counter::stale_purged) == purged_before + 2);
  CHECK_FALSE(table().acquire(old));
  table().forget(fd);
}

TEST_CASE("a replaced descriptor loses its socket only if dup2 succeeds") {
  const TestFd fd = tcp_socket();
  static_cast<void>(table().track(fd, Role::fresh));
  const Handle handle = table().peek(fd);
  const auto marked_before = marks::hit_count(marks::Mark::replacement_put_back);

  Handle replaced = table().begin_replacement(fd);
  CHECK(replaced == handle);
  CHECK_FALSE(table().peek(fd));
  table().end_replacement(fd, replaced, false);
  CHECK(table().peek(fd) == handle);
  CHECK(marks::hit_count(marks::Mark::replacement_put_back) == marked_before + 1);

  replaced = table().begin_replacement(fd);
  table().end_replacement(fd, replaced, true);
  CHECK_FALSE(table().peek(fd));
  CHECK_FALSE(table().acquire(handle));
}

TEST_CASE("a failed replacement gives way to a socket that came meanwhile") {
  const TestFd fd = tcp_socket();
  static_cast<void>(table().track(fd, Role::fresh));
  const Handle replaced = table().begin_replacement(fd);
  static_cast<void>(table().track(fd, Role::fresh));
  const Handle successor = table().peek(fd);
  table().end_replacement(fd, replaced, false);
  CHECK(table().peek(fd) == successor);
  CHECK_FALSE(table().acquire(replaced));
  table().forget(fd);
}

TEST_CASE("a range forgets what is in it and nothing else") {
  const TestFd low = tcp_socket();
  const TestFd inside = tcp_socket();
  const TestFd high(fcntl(inside, F_DUPFD, 3000));
  for (const int fd : {int{low}, int{inside}, int{high}}) {
    static_cast<void>(table().track(fd, Role::fresh));
  }
  table().forget_range(static_cast<unsigned>(inside), 2999);
  CHECK(table().peek(low));
  CHECK_FALSE(table().peek(inside));
  CHECK(table().peek(high));
  table().forget_range(0, ~0U);
  CHECK_FALSE(table().peek(low));
  CHECK_FALSE(table().peek(high));
}

TEST_CASE("what can't be followed is counted and stays the kernel's") {
  const TestFd fd = tcp_socket();
  static_cast<void>(table().track(fd, Role::fresh));  // The page must exist to count.
  table().forget(fd);
  const auto before = counted(Counter::sockets_untracked);
  const auto open_before = open_sockets();
  CHECK_FALSE(table().track(config::kTrackedFdsMax, Role::fresh));
  CHECK(counted(Counter::sockets_untracked) == before + 1);
  CHECK(open_sockets() == open_before);
  const TestFd far(fcntl(fd, F_DUPFD, 9000));
  const FailingCall<&os::Syscalls::mmap> failing(1, ENOMEM);
  CHECK_FALSE(table().track(far, Role::fresh));
  CHECK_FALSE(table().peek(far));
  CHECK(counted(Counter::sockets_untracked) == before + 2);
  CHECK(open_sockets() == open_before);
}

TEST_CASE("in a parent's memory the table hears of nothing") {
  const TestFd fd = tcp_socket();
  const TestFd other = tcp_socket();
  static_cast<void>(table().track(fd, Role::fresh));
  const Handle handle = table().peek(fd);
  const auto tracked_before = counted(Counter::sockets_tracked);
  os::note_child_in_our_memory();
  {
    // The child has another process id.
    const FailingCall<&os::Syscalls::getpid> child(1, 0);
    table().forget(fd);
    table().forget_range(0, ~0U);
    table().purge_stale(fd);
    table().share(0, fd);
    CHECK_FALSE(table().begin_replacement(fd));
    CHECK_FALSE(table().track(other, Role::fresh));
    CHECK_FALSE(table().acquire(handle));
    socket::sent(handle, 0, 100);
  }
  os::note_own_address_space();
  CHECK(table().peek(fd) == handle);
  CHECK_FALSE(table().peek(other));
  CHECK(counted(Counter::sockets_tracked) == tracked_before);
  CHECK(row_of(fd)->tx_tcp_bytes.load() == 0);
  table().forget(fd);
}

TEST_CASE("threads that open and close at full speed leave nothing behind") {
  constexpr int kThreads = 4;
  constexpr int kTurns = 3'000;
  const auto before = open_sockets();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> seen{0};
  std::thread reader([&] {
    for (int fd = 0; !stop; fd = (fd + 1) % 64) {
      const SocketRef ref = table().acquire(table().peek(fd));
      if (!ref) continue;
      seen += ref.row().identity.load() != 0 ? 1 : 1'000'000'000;
      socket::sent(ref.handle(), 0, 1);
    }
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([] {
      for (int turn = 0; turn < kTurns; ++turn) {
        TestFd fd = tcp_socket();
        static_cast<void>(table().track(fd, Role::fresh));
        TestFd copy(dup(fd));
        table().share(fd, copy);
        table().forget(fd);
        fd.reset();
        table().forget(copy);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
  CHECK(seen < 1'000'000'000);
  CHECK(open_sockets() == before);
}

}  // namespace
