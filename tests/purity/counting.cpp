// Rare ways to use a socket, which count as the common ones do.
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "tests/purity/expect.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr long kBytes = 5;
constexpr unsigned int kAboveStandard = 3;

// The thread's own descriptors go; the process's stay.
void* leave_and_close(void*) {
  EXPECT_EQUAL(close_range(kAboveStandard, ~0U, CLOSE_RANGE_UNSHARE), 0);
  return nullptr;
}

template <typename Sendfile>
void expect_counted(Sendfile sendfile_function) {
  const TcpPair pair = tcp_pair();
  const OwnPage page;
  int ends[2];
  EXPECT_EQUAL(pipe(ends), 0);
  EXPECT_EQUAL(send(pair.client, "12345", kBytes, 0), kBytes);
  const long moved = sendfile_function(ends[1], pair.server);
  if (moved < 0) {
    EXPECT_EQUAL(errno, EINVAL);  // A kernel that can't.
    return;
  }
  EXPECT_EQUAL(page.row(pair.server)->rx_tcp_bytes.load(), moved);
}

}  // namespace

PURITY_CASE(sendfile_out_of_a_socket) {
  expect_counted([](int to, int from) { return sendfile(to, from, nullptr, kBytes); });
  expect_counted([](int to, int from) { return sendfile64(to, from, nullptr, kBytes); });
  expect_counted([](int to, int from) { return syscall(SYS_sendfile, to, from, 0L, kBytes); });
}

PURITY_CASE(a_thread_that_leaves_the_others_descriptors) {
  const TcpPair pair = tcp_pair();
  const OwnPage page;
  pthread_t thread;
  EXPECT_EQUAL(pthread_create(&thread, nullptr, &leave_and_close, nullptr), 0);
  EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  EXPECT_EQUAL(page.open_sockets(), 2);
  tcp_send(pair, 1);
}

}  // namespace rsock::purity
