// What the library does on the side is no cancellation point: a function that is none without it
// is none with it.
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr int kChildStatus = 7;

// Runs `function` in a thread that has been cancelled before, and expects it to come to its end.
void run_cancelled(void* (*function)(void*)) {
  pthread_t thread;
  void* result = nullptr;
  EXPECT_EQUAL(pthread_create(&thread, nullptr, function, nullptr), 0);
  EXPECT_EQUAL(pthread_join(thread, &result), 0);
  EXPECT(result != PTHREAD_CANCELED);
}

// The process's first socket, with all that the library then makes.
void* make_socket(void*) {
  EXPECT_EQUAL(pthread_cancel(pthread_self()), 0);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  EXPECT(fd >= 0);
  return nullptr;
}

void* make_child(void*) {
  EXPECT_EQUAL(pthread_cancel(pthread_self()), 0);
  const pid_t child = fork();
  if (child == 0) _exit(kChildStatus);
  int before = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  EXPECT_EQUAL(exit_status_of(child), kChildStatus);
  return nullptr;
}

}  // namespace

PURITY_CASE(of_the_first_socket) { run_cancelled(&make_socket); }

PURITY_CASE(of_fork) {
  static_cast<void>(tcp_pair());
  run_cancelled(&make_child);
}

}  // namespace rsock::purity
