// A program's own seccomp filter applies to the library as well. Whatever it refuses: sockets work
// as without the library.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/inline_syscall.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr int kSentinel = 7777;  // no error number

using Numbers = std::initializer_list<int>;
using Install = long (*)(const sock_fprog*);

long install(const sock_fprog* filter) {
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter);
}
long install_by_raw_call(const sock_fprog* filter) {
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter);
}
// As if it had been there when the program started.
long install_unseen(const sock_fprog* filter) {
  return inline_syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                        reinterpret_cast<long>(filter));
}

// From now on, the filter does `action` to these calls.
void filter_calls(Numbers numbers, unsigned int action, Install install_function) {
  std::vector<sock_filter> program;
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const int number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned int>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  EXPECT_EQUAL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  EXPECT_EQUAL(install_function(&filter), 0);
}

// These calls fail with EPERM.
void refuse(Numbers numbers) { filter_calls(numbers, SECCOMP_RET_ERRNO | EPERM, &install); }

// These calls end the process.
void kill_for(Numbers numbers, Install install_function = &install) {
  filter_calls(numbers, SECCOMP_RET_KILL_PROCESS, install_function);
}

void use_sockets() {
  const TcpPair pair = tcp_pair();
  tcp_send(pair, 1);
  errno = kSentinel;
  const int shared = dup(pair.client);
  const int made = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(shared >= 0 && made >= 0);
  EXPECT_EQUAL(dup2(shared, made), made);
  EXPECT_EQUAL(close(shared), 0);
  EXPECT_EQUAL(close(made), 0);
  EXPECT_EQUAL(close(pair.client), 0);
  EXPECT_EQUAL(close(pair.server), 0);
  EXPECT_EQUAL(errno, kSentinel);
}

void use_sockets_in_all_processes() {
  use_sockets();
  run_in_forked_child(&fork, &use_sockets);
  run_in_vfork_child(&use_sockets);
}

}  // namespace

PURITY_CASE(memfd_create_is_refused) {
  refuse({SYS_memfd_create});
  use_sockets_in_all_processes();
  EXPECT_EQUAL(own_page_descriptor(), -1);
}

PURITY_CASE(fstat_is_refused) {
  refuse({SYS_fstat, SYS_newfstatat, SYS_statx});
  use_sockets_in_all_processes();
}

PURITY_CASE(all_of_them_are_refused) {
  refuse({SYS_memfd_create, SYS_ftruncate, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_prlimit64,
          SYS_getrlimit, SYS_mremap, SYS_gettid, SYS_clock_gettime});
  use_sockets_in_all_processes();
}

PURITY_CASE(ftruncate_is_refused) {
  refuse({SYS_ftruncate});
  use_sockets_in_all_processes();
}

// The filter comes when the process has a page already.
PURITY_CASE(later_calls_are_refused) {
  const TcpPair pair = tcp_pair();
  const int open_before = open_descriptors();
  refuse({SYS_memfd_create, SYS_fstat, SYS_newfstatat, SYS_mremap});
  use_sockets_in_all_processes();
  tcp_send(pair, 1);
  EXPECT_EQUAL(open_descriptors(), open_before);
}

// The child can have no page, which is no failure of fork().
PURITY_CASE(refusal_leaves_errno_after_fork) {
  static_cast<void>(tcp_listen());
  refuse({SYS_memfd_create});
  errno = kSentinel;
  const pid_t child = fork();
  if (child == 0) _exit(errno == kSentinel ? 0 : 1);
  EXPECT_EQUAL(exit_status_of(child), 0);
}

PURITY_CASE(memory_is_refused) {
  const TcpPair pair = tcp_pair();
  refuse({SYS_mmap, SYS_mremap, SYS_memfd_create});
  use_sockets();
  run_in_forked_child(&fork, &use_sockets);
  tcp_send(pair, 1);
}

// Whoever has sandboxed itself hears no more from us than what it asks for.
PURITY_CASE(kills_for_what_we_would_do) {
  kill_for({SYS_memfd_create, SYS_ftruncate, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_prlimit64,
            SYS_getrlimit, SYS_mremap, SYS_gettid, SYS_getsockopt, SYS_fcntl});
  use_sockets();
  run_in_forked_child(&fork, &use_sockets);
  use_sockets();
}

PURITY_CASE(kills_after_we_began) {
  const TcpPair pair = tcp_pair();
  kill_for({SYS_memfd_create, SYS_ftruncate, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_prlimit64,
            SYS_getrlimit, SYS_mremap, SYS_gettid, SYS_getsockopt, SYS_fcntl},
           &install_by_raw_call);
  use_sockets();
  run_in_forked_child(&fork, &use_sockets);
  tcp_send(pair, 1);
}

// Sockets that are not TCP's are none of our business, filter or not.
PURITY_CASE(kills_for_asking_about_other_sockets) {
  int fds[2];
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr unnamed{};
  unnamed.sa_family = AF_UNIX;
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  EXPECT_EQUAL(bind(listener, &unnamed, sizeof(unnamed.sa_family)), 0);
  EXPECT_EQUAL(listen(listener, 2), 0);
  EXPECT_EQUAL(getsockname(listener, reinterpret_cast<sockaddr*>(&name), &length), 0);
  for (int& fd : fds) {
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQUAL(connect(fd, reinterpret_cast<sockaddr*>(&name), length), 0);
  }
  kill_for({SYS_getsockopt, SYS_fstat, SYS_newfstatat, SYS_memfd_create}, &install_unseen);
  EXPECT(accept(listener, nullptr, nullptr) >= 0);
  length = sizeof(name);
  EXPECT(accept4(listener, reinterpret_cast<sockaddr*>(&name), &length, SOCK_CLOEXEC) >= 0);
}

}  // namespace rsock::purity
