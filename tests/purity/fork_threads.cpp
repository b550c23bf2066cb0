// Threads that open, share and close sockets as fast as they can, while others fork children that
// do the same: no lock is left held in a child, no descriptor and no socket is lost.
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "core/os/libc_names.h"
#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr int kOpeners = 4;
constexpr int kForkers = 2;
constexpr int kForks = 60;
constexpr int kChildRounds = 5;

using ForkFunction = pid_t (*)();

std::atomic<bool> over{false};
std::atomic<std::uint64_t> rounds{0};

pid_t raw_clone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L)); }

void open_share_close() {
  int ends[2];
  EXPECT_EQUAL(pipe(ends), 0);
  const TcpPair pair = tcp_pair();
  tcp_send(pair, 1);
  const int shared = dup(pair.client);
  EXPECT(shared >= 0);
  EXPECT_EQUAL(close(pair.client), 0);
  EXPECT_EQUAL(dup2(shared, ends[0]), ends[0]);
  EXPECT_EQUAL(dup2(ends[1], shared), shared);
  tcp_send({ends[0], pair.server}, 1);
  EXPECT_EQUAL(close(pair.server), 0);
  EXPECT_EQUAL(close(shared), 0);
  EXPECT_EQUAL(close(ends[1]), 0);
  EXPECT_EQUAL(close(ends[0]), 0);
}

void* open_until_over(void*) {
  while (!over) {
    open_share_close();
    ++rounds;
  }
  return nullptr;
}

void work_in_child() {
  for (int round = 0; round < kChildRounds; ++round) open_share_close();
}

void* fork_often(void*) {
  constexpr ForkFunction kWays[] = {&fork, &_Fork, &raw_clone};
  for (int round = 0; round < kForks; ++round) {
    run_in_forked_child(kWays[static_cast<std::size_t>(round) % std::size(kWays)], &work_in_child);
  }
  return nullptr;
}

}  // namespace

PURITY_CASE(open_and_close) {
  pthread_t openers[kOpeners];
  pthread_t forkers[kForkers];
  open_share_close();  // makes the stats page
  const int open_before = open_descriptors();
  for (pthread_t& thread : openers) {
    EXPECT_EQUAL(pthread_create(&thread, nullptr, &open_until_over, nullptr), 0);
  }
  for (pthread_t& thread : forkers) {
    EXPECT_EQUAL(pthread_create(&thread, nullptr, &fork_often, nullptr), 0);
  }
  for (const pthread_t thread : forkers) EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  over = true;
  for (const pthread_t thread : openers) EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  const OwnPage page;
  EXPECT_EQUAL(open_descriptors(), open_before);
  EXPECT_EQUAL(page.open_sockets(), 0);
  // A listener, its client and its server in each round, and two bytes through them.
  const std::uint64_t all_rounds = rounds + 1;
  EXPECT_EQUAL(page.count(stats::Counter::sockets_tracked), 3 * all_rounds);
  EXPECT_EQUAL(page.count(stats::Counter::closed_tx_tcp_bytes), 2 * all_rounds);
  EXPECT_EQUAL(page.count(stats::Counter::closed_rx_tcp_bytes), 2 * all_rounds);
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 0);
}

}  // namespace rsock::purity
