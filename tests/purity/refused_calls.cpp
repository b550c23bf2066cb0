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
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr int kSentinel = 7777;  // no error number

// From now on, these calls fail with EPERM.
void refuse(std::initializer_list<int> numbers) {
  std::vector<sock_filter> program;
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const int number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned int>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  EXPECT_EQUAL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  EXPECT_EQUAL(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
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

}  // namespace rsock::purity
