// A socket that was closed where the library could not see it, and a number that the kernel gave
// out again: whatever has the number now is not taken for the socket.
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "core/os/libc_names.h"
#include "tests/purity/expect.h"
#include "tests/purity/inline_syscall.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

// What the makers below need that exists before the number is free.
struct Materials {
  int directory = -1;
  int foreign = -1;  // a UNIX socket, with a message in it that carries a descriptor
  int listener = -1;
  int client = -1;  // waits to be accepted
};

Materials materials;

// A call that makes one descriptor (or two; the first counts), by its name.
struct Maker {
  const char* name;
  int (*make)();
};

template <typename Pipe>
int first_of(Pipe make_pair) {
  int ends[2] = {-1, -1};
  EXPECT_EQUAL(make_pair(ends), 0);
  return ends[0];
}

int receive_descriptor() {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  EXPECT_EQUAL(recvmsg(materials.foreign, &message, 0), 1);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
  return fd;
}

void send_descriptor(int to, int fd) {
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  EXPECT_EQUAL(sendmsg(to, &message, 0), 1);
}

sigset_t no_signals() {
  sigset_t set;
  sigemptyset(&set);
  return set;
}

template <typename... Arguments>
int raw(long number, Arguments... arguments) {
  return static_cast<int>(syscall(number, arguments...));
}

constexpr char kNull[] = "/dev/null";

// clang-format off
constexpr Maker kForeignMakers[] = {
  {"open", [] { return open(kNull, O_RDWR); }},
  {"open64", [] { return open64(kNull, O_RDWR); }},
  {"__open", [] { return __open(kNull, O_RDWR); }},
  {"__open64", [] { return __open64(kNull, O_RDWR); }},
  {"__open_2", [] { return __open_2(kNull, O_RDWR); }},
  {"__open64_2", [] { return __open64_2(kNull, O_RDWR); }},
  {"openat", [] { return openat(materials.directory, "dev/null", O_RDWR); }},
  {"openat64", [] { return openat64(materials.directory, "dev/null", O_RDWR); }},
  {"__openat_2", [] { return __openat_2(materials.directory, "dev/null", O_RDWR); }},
  {"__openat64_2", [] { return __openat64_2(materials.directory, "dev/null", O_RDWR); }},
  {"creat", [] { return creat(kNull, 0600); }},
  {"creat64", [] { return creat64(kNull, 0600); }},
  {"fopen", [] { return fileno(fopen(kNull, "r")); }},
  {"fopen64", [] { return fileno(fopen64(kNull, "r")); }},
  {"popen", [] { return fileno(popen("exit 0", "r")); }},
  {"_IO_fopen", [] { return fileno(_IO_fopen(kNull, "r")); }},
  {"_IO_popen", [] { return fileno(_IO_popen("exit 0", "r")); }},
  {"pipe", [] { return first_of([](int* ends) { return pipe(ends); }); }},
  {"__pipe", [] { return first_of([](int* ends) { return __pipe(ends); }); }},
  {"pipe2", [] { return first_of([](int* ends) { return pipe2(ends, O_CLOEXEC); }); }},
  {"socketpair", [] {
     return first_of([](int* ends) { return socketpair(AF_UNIX, SOCK_STREAM, 0, ends); }); }},
  {"eventfd", [] { return eventfd(0, 0); }},
  {"timerfd_create", [] { return timerfd_create(CLOCK_MONOTONIC, 0); }},
  {"signalfd", [] { const sigset_t set = no_signals(); return signalfd(-1, &set, 0); }},
  {"memfd_create", [] { return memfd_create("stale", 0); }},
  {"inotify_init", [] { return inotify_init(); }},
  {"inotify_init1", [] { return inotify_init1(IN_CLOEXEC); }},
  {"epoll_create", [] { return epoll_create(1); }},
  {"epoll_create1", [] { return epoll_create1(0); }},
  {"pidfd_open", [] { return pidfd_open(getpid(), 0); }},
  {"socket", [] { return socket(AF_INET, SOCK_DGRAM, 0); }},
  {"__socket", [] { return __socket(AF_UNIX, SOCK_STREAM, 0); }},
  {"dup", [] { return dup(materials.foreign); }},
  {"fcntl", [] { return fcntl(materials.foreign, F_DUPFD, 0); }},
  {"fcntl64", [] { return fcntl64(materials.foreign, F_DUPFD_CLOEXEC, 0); }},
  {"__fcntl", [] { return __fcntl(materials.foreign, F_DUPFD, 0); }},
  {"recvmsg", [] { return receive_descriptor(); }},
  {"SYS_open", [] { return raw(SYS_open, kNull, O_RDWR, 0L); }},
  {"SYS_openat", [] { return raw(SYS_openat, materials.directory, "dev/null", O_RDWR, 0L); }},
  {"SYS_creat", [] { return raw(SYS_creat, kNull, 0600L); }},
  {"SYS_pipe", [] { return first_of([](int* ends) { return raw(SYS_pipe, ends); }); }},
  {"SYS_pipe2", [] { return first_of([](int* ends) { return raw(SYS_pipe2, ends, 0L); }); }},
  {"SYS_eventfd", [] { return raw(SYS_eventfd, 0L); }},
  {"SYS_eventfd2", [] { return raw(SYS_eventfd2, 0L, 0L); }},
  {"SYS_timerfd_create", [] { return raw(SYS_timerfd_create, CLOCK_MONOTONIC, 0L); }},
  {"SYS_memfd_create", [] { return raw(SYS_memfd_create, "stale", 0L); }},
  {"SYS_inotify_init", [] { return raw(SYS_inotify_init); }},
  {"SYS_inotify_init1", [] { return raw(SYS_inotify_init1, 0L); }},
  {"SYS_epoll_create", [] { return raw(SYS_epoll_create, 1L); }},
  {"SYS_epoll_create1", [] { return raw(SYS_epoll_create1, 0L); }},
  {"SYS_pidfd_open", [] { return raw(SYS_pidfd_open, getpid(), 0L); }},
  {"SYS_socket", [] { return raw(SYS_socket, AF_INET, SOCK_DGRAM, 0L); }},
  {"SYS_socketpair", [] { return first_of([](int* ends) {
     return raw(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0L, ends); }); }},
  {"SYS_dup", [] { return raw(SYS_dup, materials.foreign); }},
  {"SYS_fcntl", [] { return raw(SYS_fcntl, materials.foreign, F_DUPFD, 0L); }},
};
// clang-format on

constexpr Maker kTcpMakers[] = {
    {"socket", [] { return socket(AF_INET6, SOCK_STREAM, 0); }},
    {"__socket", [] { return __socket(AF_INET, SOCK_STREAM, 0); }},
    {"SYS_socket", [] { return raw(SYS_socket, AF_INET, SOCK_STREAM, 0L); }},
    {"accept", [] { return accept(materials.listener, nullptr, nullptr); }},
    {"accept4", [] { return accept4(materials.listener, nullptr, nullptr, 0); }},
    {"SYS_accept4", [] { return raw(SYS_accept4, materials.listener, 0L, 0L, 0L); }},
};

void prepare() {
  int ends[2];
  materials.directory = open("/", O_RDONLY | O_DIRECTORY);
  EXPECT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  materials.foreign = ends[0];
  send_descriptor(ends[1], STDERR_FILENO);
  materials.listener = tcp_listen();
  materials.client = tcp_connect(materials.listener);
}

struct Stale {
  TcpPair pair;
  std::uint64_t purged;
  long open_sockets;
};

// A connection whose client end has the lowest number to get free.
TcpPair lowest_pair() {
  const TcpPair pair = tcp_pair();
  EXPECT(dup(materials.foreign) < pair.client);  // in the place of the pair's listener
  return pair;
}

// A connection with a history, whose client end is then closed unseen.
Stale make_stale(const OwnPage& page) {
  Stale stale{lowest_pair(), page.count(stats::Counter::stale_purged), 0};
  tcp_send(stale.pair, 10);
  stale.open_sockets = page.open_sockets();
  EXPECT_EQUAL(close_unseen(stale.pair.client), 0);
  return stale;
}

void fail_maker(const Maker& maker, int line, long got, long wanted) {
  if (got != wanted) fail(__FILE__, line, maker.name, got, wanted);
}

void expect_purged(const Maker& maker, bool makes_tcp) {
  prepare();
  const OwnPage page;
  const Stale stale = make_stale(page);
  const int fd = maker.make();
  fail_maker(maker, __LINE__, fd, stale.pair.client);  // else nothing is tested
  fail_maker(maker, __LINE__, static_cast<long>(page.count(stats::Counter::stale_purged)),
             static_cast<long>(stale.purged + 1));
  fail_maker(maker, __LINE__, page.open_sockets(), stale.open_sockets - (makes_tcp ? 0 : 1));
  const stats::ConnectionRow* row = page.row(fd);
  fail_maker(maker, __LINE__, row != nullptr, makes_tcp);
  if (makes_tcp) fail_maker(maker, __LINE__, static_cast<long>(row->tx_tcp_bytes.load()), 0);
  fail_maker(maker, __LINE__,
             static_cast<long>(page.count(stats::Counter::closed_tx_tcp_bytes)) % 10, 0);
  EXPECT_EQUAL(close_range(STDERR_FILENO + 1, ~0U, 0), 0);
}

}  // namespace

PURITY_CASE(number_of_another_file) {
  for (const Maker& maker : kForeignMakers) expect_purged(maker, false);
}

PURITY_CASE(number_of_another_tcp_socket) {
  for (const Maker& maker : kTcpMakers) expect_purged(maker, true);
}

PURITY_CASE(number_replaced_by_dup2) {
  prepare();
  const OwnPage page;
  const Stale stale = make_stale(page);
  EXPECT_EQUAL(dup2(materials.foreign, stale.pair.client), stale.pair.client);
  EXPECT(page.row(stale.pair.client) == nullptr);
  EXPECT_EQUAL(page.open_sockets(), stale.open_sockets - 1);
}

PURITY_CASE(number_closed_by_fclose) {
  prepare();
  const OwnPage page;
  const TcpPair pair = tcp_pair();
  const long open_before = page.open_sockets();
  FILE* stream = fdopen(pair.client, "w");
  EXPECT(stream != nullptr);
  EXPECT_EQUAL(page.row(pair.client)->reason.load(), stats::Reason::stdio);
  EXPECT_EQUAL(fclose(stream), 0);
  EXPECT(page.row(pair.client) == nullptr);
  EXPECT_EQUAL(page.open_sockets(), open_before - 1);
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 0);
}

PURITY_CASE(number_closed_by_freopen) {
  prepare();
  const OwnPage page;
  const TcpPair pair = tcp_pair();
  FILE* stream = freopen(kNull, "r", fdopen(pair.client, "r"));
  EXPECT(stream != nullptr);
  EXPECT(page.row(pair.client) == nullptr);
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 0);
}

// Another name of the socket keeps it.
PURITY_CASE(shared_socket_lives_on) {
  prepare();
  const OwnPage page;
  const Stale stale{lowest_pair(), 0, page.open_sockets()};
  const int shared = dup(stale.pair.client);
  EXPECT_EQUAL(close_unseen(stale.pair.client), 0);
  EXPECT_EQUAL(eventfd(0, 0), stale.pair.client);
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 1);
  EXPECT_EQUAL(page.open_sockets(), stale.open_sockets);
  const std::uint64_t one = 1;
  EXPECT_EQUAL(write(stale.pair.client, &one, sizeof(one)), sizeof(one));
  EXPECT_EQUAL(page.row(stale.pair.client)->tx_tcp_bytes.load(), 0);
  tcp_send({shared, stale.pair.server}, 5);
  EXPECT_EQUAL(page.row(stale.pair.client)->tx_tcp_bytes.load(), 5);
}

}  // namespace rsock::purity
