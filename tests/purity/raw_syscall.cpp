// syscall(): every argument arrives, errno is as without, and what concerns descriptors is seen.
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/inline_syscall.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr long kPageBytes = 4096;
constexpr int kSentinel = 7777;  // no error number
constexpr int kStatus = 7;
constexpr long kNoSuchCall = 100'000;

volatile sig_atomic_t signalled = 0;
void note_signal(int) { signalled = 1; }

// A file of two pages, the second of which begins with 'b'.
int file_of_two_pages() {
  const int fd = memfd_create("two", 0);
  EXPECT(fd >= 0);
  EXPECT_EQUAL(pwrite(fd, "a", 1, 0), 1);
  EXPECT_EQUAL(pwrite(fd, "b", 1, kPageBytes), 1);
  return fd;
}

sockaddr_in name_of(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  EXPECT_EQUAL(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  return address;
}

int bound_udp_socket() {
  const auto fd = static_cast<int>(syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQUAL(syscall(SYS_bind, fd, &address, sizeof(address)), 0);
  return fd;
}

}  // namespace

PURITY_CASE(passes_six_arguments_of_mmap) {
  const int fd = file_of_two_pages();
  const long memory = syscall(SYS_mmap, 0L, kPageBytes, PROT_READ, MAP_PRIVATE, fd, kPageBytes);
  EXPECT(memory != -1);
  EXPECT_EQUAL(*reinterpret_cast<const char*>(memory), 'b');
}

PURITY_CASE(passes_six_arguments_of_pselect) {
  sigset_t usr1;
  sigset_t nothing;
  sigemptyset(&nothing);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  signal(SIGUSR1, &note_signal);
  EXPECT_EQUAL(sigprocmask(SIG_BLOCK, &usr1, nullptr), 0);
  EXPECT_EQUAL(raise(SIGUSR1), 0);
  // As the kernel has it: the mask and its size.
  const struct {
    const sigset_t* mask;
    size_t bytes;
  } argument{&nothing, _NSIG / 8};
  EXPECT_EQUAL(syscall(SYS_pselect6, 0L, 0L, 0L, 0L, 0L, &argument), -1);
  EXPECT_EQUAL(errno, EINTR);
  EXPECT_EQUAL(signalled, 1);
}

// Decoded ones too.
PURITY_CASE(passes_six_arguments_of_preadv2) {
  const int fd = file_of_two_pages();
  char byte = 0;
  const iovec part{&byte, 1};
  EXPECT_EQUAL(syscall(SYS_preadv2, fd, &part, 1L, kPageBytes, 0L, 0L), 1);
  EXPECT_EQUAL(byte, 'b');
  EXPECT_EQUAL(syscall(SYS_preadv2, fd, &part, 1L, 0L, 0L, 1L << 30), -1);
  EXPECT_EQUAL(errno, EOPNOTSUPP);
}

PURITY_CASE(passes_six_arguments_of_sendto) {
  const int fd = bound_udp_socket();
  sockaddr_in address = name_of(fd);
  sockaddr_in from{};
  socklen_t length = sizeof(from);
  char byte = 0;
  EXPECT_EQUAL(syscall(SYS_sendto, fd, "x", 1L, 0L, &address, sizeof(address)), 1);
  EXPECT_EQUAL(syscall(SYS_recvfrom, fd, &byte, 1L, 0L, &from, &length), 1);
  EXPECT_EQUAL(byte, 'x');
  EXPECT_EQUAL(length, sizeof(from));
  EXPECT_EQUAL(std::memcmp(&from, &address, sizeof(from)), 0);
}

PURITY_CASE(passes_six_arguments_of_splice) {
  const int fd = file_of_two_pages();
  int ends[2];
  long offset = kPageBytes;
  char byte = 0;
  EXPECT_EQUAL(pipe(ends), 0);
  EXPECT_EQUAL(syscall(SYS_splice, fd, &offset, ends[1], 0L, 1L, 0L), 1);
  EXPECT_EQUAL(offset, kPageBytes + 1);
  EXPECT_EQUAL(read(ends[0], &byte, 1), 1);
  EXPECT_EQUAL(byte, 'b');
  EXPECT_EQUAL(syscall(SYS_splice, fd, 0L, ends[1], 0L, 1L, ~0L), -1);
  EXPECT_EQUAL(errno, EINVAL);
}

PURITY_CASE(leaves_errno) {
  errno = kSentinel;
  EXPECT_EQUAL(syscall(SYS_getpid), getpid());
  const auto fd = static_cast<int>(syscall(SYS_eventfd2, 0L, 0L));
  EXPECT(fd >= 0);
  EXPECT_EQUAL(syscall(SYS_close, fd), 0);
  EXPECT_EQUAL(errno, kSentinel);
  EXPECT_EQUAL(syscall(SYS_close, fd), -1);
  EXPECT_EQUAL(errno, EBADF);
  for (const long number : {kNoSuchCall, 511L, -1L}) {
    errno = 0;
    EXPECT_EQUAL(syscall(number), -1);
    EXPECT_EQUAL(errno, ENOSYS);
  }
}

PURITY_CASE(is_seen) {
  const int listener = tcp_listen();
  const OwnPage page;
  const sockaddr_in address = name_of(listener);
  const auto client = static_cast<int>(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0));
  EXPECT(page.row(client) != nullptr);
  EXPECT_EQUAL(syscall(SYS_connect, client, &address, sizeof(address)), 0);
  EXPECT_EQUAL(page.row(client)->role.load(), stats::Role::client);
  const auto server = static_cast<int>(syscall(SYS_accept4, listener, 0L, 0L, 0L));
  EXPECT_EQUAL(page.row(server)->role.load(), stats::Role::server);
  char text[4];
  EXPECT_EQUAL(syscall(SYS_write, client, "text", 4L), 4);
  EXPECT_EQUAL(syscall(SYS_read, server, text, 4L), 4);
  EXPECT_EQUAL(page.row(client)->tx_tcp_bytes.load(), 4);
  EXPECT_EQUAL(page.row(server)->rx_tcp_bytes.load(), 4);
  const auto shared = static_cast<int>(syscall(SYS_dup, client));
  EXPECT_EQUAL(syscall(SYS_close, client), 0);
  EXPECT_EQUAL(syscall(SYS_sendto, shared, "text", 4L, 0L, 0L, 0L), 4);
  EXPECT_EQUAL(page.row(client)->tx_tcp_bytes.load(), 8);
  EXPECT_EQUAL(syscall(SYS_close_range, shared, shared, 0L), 0);
  EXPECT(page.row(client) == nullptr);
  EXPECT_EQUAL(page.open_sockets(), 2);
}

// The child returns through the caller's own stack frame, so no C code may lie between. It can do
// nothing but end, since calls would overwrite the return address that the parent still needs.
PURITY_CASE(does_not_come_between_vfork_and_its_caller) {
  const auto child = static_cast<pid_t>(syscall(SYS_vfork));
  if (child == 0) inline_syscall(SYS_exit_group, kStatus);
  EXPECT_EQUAL(exit_status_of(child), kStatus);
}

PURITY_CASE(does_not_come_between_a_sharing_clone_and_its_caller) {
  const long flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  const auto child = static_cast<pid_t>(syscall(SYS_clone, flags, 0L, 0L, 0L, 0L));
  if (child == 0) inline_syscall(SYS_exit_group, kStatus);
  EXPECT_EQUAL(exit_status_of(child), kStatus);
}

}  // namespace rsock::purity
