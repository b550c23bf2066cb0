// A child of vfork shares its parent's memory but not its descriptors: whatever it closes,
// replaces and opens before its exec says nothing about what the parent has.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/os/libc_names.h"
#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr unsigned int kAboveStandard = 3;
constexpr int kThreads = 4;
constexpr int kRounds = 50;
constexpr std::size_t kStackBytes = 256 * 1024;

// What the children may lay hands on: they have no arguments.
TcpPair shared_pair;
int page_descriptor = -1;
int fresh_socket = -1;

void close_all() {
  EXPECT_EQUAL(close(shared_pair.client), 0);
  EXPECT_EQUAL(close(shared_pair.server), 0);
  EXPECT_EQUAL(close_range(kAboveStandard, ~0U, 0), 0);
}

void replace_all() {
  int ends[2];
  EXPECT_EQUAL(pipe(ends), 0);
  EXPECT_EQUAL(dup2(ends[1], shared_pair.client), shared_pair.client);
  EXPECT_EQUAL(dup3(ends[0], shared_pair.server, O_CLOEXEC), shared_pair.server);
  EXPECT_EQUAL(fcntl(shared_pair.client, F_DUPFD, 0), ends[1] + 1);
}

void replace_stats_page() { EXPECT_EQUAL(dup2(STDERR_FILENO, page_descriptor), page_descriptor); }

// Natively the number is the child's own by then.
void replace_and_close_stats_page() {
  replace_stats_page();
  EXPECT_EQUAL(close(page_descriptor), 0);
}

void open_others() {
  EXPECT_EQUAL(close(shared_pair.client), 0);
  const TcpPair pair = tcp_pair();
  tcp_send(pair, 3);
  EXPECT_EQUAL(close(pair.client), 0);
  EXPECT_EQUAL(close(pair.server), 0);
}

// What the child's new socket does at a number which has a socket without a role in the parent.
void listen_in_its_place() {
  const int listener = tcp_listen();
  EXPECT_EQUAL(dup2(listener, fresh_socket), fresh_socket);
  EXPECT_EQUAL(listen(fresh_socket, 1), 0);
}

void disconnect_in_its_place() {
  const int connected = tcp_connect(tcp_listen());
  EXPECT_EQUAL(dup2(connected, fresh_socket), fresh_socket);
  sockaddr unconnected{};
  unconnected.sa_family = AF_UNSPEC;
  EXPECT_EQUAL(connect(fresh_socket, &unconnected, sizeof(unconnected)), 0);
}

void set_option_in_its_place() {
  const int on = 1;
  EXPECT_EQUAL(dup2(tcp_listen(), fresh_socket), fresh_socket);
  EXPECT_EQUAL(setsockopt(fresh_socket, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)), 0);
}

void execute_true() {
  EXPECT_EQUAL(dup2(shared_pair.client, STDIN_FILENO), STDIN_FILENO);
  close_all();
  execl("/bin/true", "true", nullptr);
}

void execute_nothing() {
  EXPECT_EQUAL(execl("/nonexistent", "nonexistent", nullptr), -1);
  EXPECT_EQUAL(errno, ENOENT);
  close_all();
}

void vfork_again() {
  run_in_vfork_child(&close_all);
  close_all();
}

// The pair of the parent is untouched by what `make_child` does: same rows, same counters, and
// its bytes still count.
template <typename MakeChild>
void expect_untouched(MakeChild make_child) {
  shared_pair = tcp_pair();
  tcp_send(shared_pair, 10);
  const OwnPage page;
  page_descriptor = page.descriptor();
  const stats::ConnectionRow* row = page.row(shared_pair.client);
  EXPECT(row != nullptr);
  const std::uint64_t identity = row->identity.load();
  const std::uint64_t tracked = page.count(stats::Counter::sockets_tracked);
  make_child();
  EXPECT_EQUAL(row->identity.load(), identity);
  EXPECT_EQUAL(row->role.load(), stats::Role::client);
  EXPECT_EQUAL(page.open_sockets(), 2);
  EXPECT_EQUAL(page.count(stats::Counter::sockets_tracked), tracked);
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 0);
  tcp_send(shared_pair, 7);
  EXPECT_EQUAL(row->tx_tcp_bytes.load(), 17);
  EXPECT_EQUAL(page.row(shared_pair.server)->rx_tcp_bytes.load(), 17);
  // The stats page is where it was, and still nobody else's to close.
  EXPECT_EQUAL(own_page_descriptor(), page_descriptor);
  EXPECT_EQUAL(close(page_descriptor), -1);
  EXPECT_EQUAL(errno, EBADF);
  // What the parent does counts again.
  EXPECT_EQUAL(close(shared_pair.client), 0);
  EXPECT_EQUAL(page.open_sockets(), 1);
  EXPECT(page.row(shared_pair.client) == nullptr);
  EXPECT_EQUAL(close(shared_pair.server), 0);
}

int run_clone_child(void* function) {
  reinterpret_cast<void (*)()>(function)();
  return 0;
}

using CloneFunction = int (*)(int (*)(void*), void*, int, void*, ...);

void run_in_clone_child(int flags, void (*function)(), CloneFunction clone_function = &clone) {
  static char stack[kStackBytes];
  const pid_t child = clone_function(&run_clone_child, stack + kStackBytes, flags | SIGCHLD,
                                     reinterpret_cast<void*>(function));
  EXPECT_EQUAL(exit_status_of(child), 0);
}

// A thread's own connection, since all vfork at once.
struct Worker {
  pthread_t thread;
  TcpPair pair;
};

void close_everything() { EXPECT_EQUAL(close_range(kAboveStandard, ~0U, 0), 0); }

// Vforks, and between that opens and closes: what this thread does while another one's child
// runs must not be taken for the child's doing.
void* work(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  for (int round = 0; round < kRounds; ++round) {
    run_in_vfork_child(round % 2 == 0 ? &close_everything : &open_others);
    const TcpPair pair = tcp_pair();
    tcp_send(pair, 1);
    EXPECT_EQUAL(close(pair.client), 0);
    EXPECT_EQUAL(close(pair.server), 0);
    tcp_send(worker->pair, 1);
  }
  return nullptr;
}

}  // namespace

PURITY_CASE(closes) {
  expect_untouched([] { run_in_vfork_child(&close_all); });
}

PURITY_CASE(replaces) {
  expect_untouched([] { run_in_vfork_child(&replace_all); });
}

PURITY_CASE(replaces_stats_page) {
  expect_untouched([] { run_in_vfork_child(&replace_stats_page); });
}

PURITY_CASE(replaces_and_closes_stats_page) {
  expect_untouched([] { run_in_vfork_child(&replace_and_close_stats_page); });
}

PURITY_CASE(opens) {
  expect_untouched([] { run_in_vfork_child(&open_others); });
}

PURITY_CASE(changes_its_own_socket) {
  fresh_socket = socket(AF_INET, SOCK_STREAM, 0);
  const OwnPage page;
  const stats::ConnectionRow* row = page.row(fresh_socket);
  run_in_vfork_child(&listen_in_its_place);
  EXPECT_EQUAL(row->role.load(), stats::Role::fresh);
  run_in_vfork_child(&set_option_in_its_place);
  EXPECT_EQUAL(row->reason.load(), stats::Reason::none);
  const int connected = tcp_connect(tcp_listen());
  EXPECT_EQUAL(dup2(connected, fresh_socket), fresh_socket);
  run_in_vfork_child(&disconnect_in_its_place);
  EXPECT_EQUAL(page.row(connected)->role.load(), stats::Role::client);
}

PURITY_CASE(executes) {
  expect_untouched([] { run_in_vfork_child(&execute_true); });
}

PURITY_CASE(fails_to_execute) {
  expect_untouched([] { run_in_vfork_child(&execute_nothing); });
}

PURITY_CASE(vforks_again) {
  expect_untouched([] { run_in_vfork_child(&vfork_again); });
}

PURITY_CASE(of_alias) {
  expect_untouched([] { run_in_forked_child(&__vfork, &close_all); });
}

PURITY_CASE(of_clone) {
  expect_untouched([] { run_in_clone_child(CLONE_VM | CLONE_VFORK, &close_all); });
}

PURITY_CASE(of_alias_of_clone) {
  expect_untouched([] { run_in_clone_child(CLONE_VM | CLONE_VFORK, &close_all, &__clone); });
}

// A child with memory of its own.
PURITY_CASE(of_clone_as_fork) {
  expect_untouched([] { run_in_clone_child(0, &close_all); });
  expect_untouched([] { run_in_clone_child(0, &close_all, &__clone); });
}

// The child lives on while the parent works, in one memory.
PURITY_CASE(of_clone_without_waiting) {
  expect_untouched([] { run_in_clone_child(CLONE_VM, &close_all); });
}

PURITY_CASE(many_times) {
  expect_untouched([] {
    for (int round = 0; round < kRounds; ++round) run_in_vfork_child(&close_all);
  });
}

PURITY_CASE(of_several_threads) {
  Worker workers[kThreads];
  shared_pair = tcp_pair();
  const OwnPage page;
  for (Worker& worker : workers) {
    worker.pair = tcp_pair();
    EXPECT_EQUAL(pthread_create(&worker.thread, nullptr, &work, &worker), 0);
  }
  for (Worker& worker : workers) EXPECT_EQUAL(pthread_join(worker.thread, nullptr), 0);
  EXPECT_EQUAL(page.open_sockets(), 2 + 2 * kThreads);
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 0);
  for (const Worker& worker : workers) {
    EXPECT_EQUAL(page.row(worker.pair.client)->tx_tcp_bytes.load(), kRounds);
    EXPECT_EQUAL(page.row(worker.pair.server)->rx_tcp_bytes.load(), kRounds);
  }
}

// After a vfork, the process forks in ways that the library sees: the child's memory is its own.
PURITY_CASE(is_not_a_later_fork_child) {
  run_in_vfork_child(&close_everything);
  const auto raw_fork = [] {
    return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L));
  };
  const auto use_sockets = [] {
    const TcpPair pair = tcp_pair();
    EXPECT_EQUAL(OwnPage().open_sockets(), 2);
    EXPECT_EQUAL(close(pair.client), 0);
    EXPECT_EQUAL(OwnPage().open_sockets(), 1);
  };
  run_in_forked_child(raw_fork, use_sockets);
  run_in_forked_child(&fork, use_sockets);
  run_in_forked_child(&_Fork, use_sockets);
}

}  // namespace rsock::purity
