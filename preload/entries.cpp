#include "preload/entries.h"

#include <linux/sched.h>
#include <sys/syscall.h>

#include <atomic>

#include "core/os/address_space.h"
#include "core/os/log.h"
#include "core/process/fork.h"
#include "preload/edge.h"

namespace edge = rsock::edge;
namespace process = rsock::process;
using rsock::edge::sys;

using SyscallFunction = long (*)(long, ...);
using VforkFunction = pid_t (*)();
using DlopenFunction = void* (*)(const char*, int);

namespace {

// A library opened so finds libc before us: its sockets are not seen.
void note_deepbind(const char* file) {
  static constinit std::atomic<bool> noted{false};
  const edge::ErrnoKeeper keeper;
  if (!rsock::os::log_is_enabled(rsock::config::LogLevel::warn) || noted.exchange(true)) return;
  rsock::os::LogLine line;
  line.append(file == nullptr ? "the program" : file);
  rsock::os::log(rsock::config::LogLevel::warn,
                 line.append(" is opened with RTLD_DEEPBIND: its calls go past librsock"));
}

}  // namespace

extern "C" {
long rsock_early_syscall(long number, ...);

// Read by entries.S.
[[gnu::visibility("hidden")]] constinit std::atomic<SyscallFunction> rsock_real_syscall{
    &rsock_early_syscall};

[[gnu::visibility("hidden")]] VforkFunction rsock_prepare_vfork() {
  const edge::ErrnoKeeper keeper;
  rsock::os::note_vfork();
  return sys().vfork.resolved();
}

[[gnu::visibility("hidden")]] VforkFunction rsock_prepare_alias_vfork() {
  const edge::ErrnoKeeper keeper;
  rsock::os::note_vfork();
  return sys().__vfork.resolved();
}

[[gnu::visibility("hidden")]] DlopenFunction rsock_prepare_dlopen(const char* file, int mode) {
  if ((mode & RTLD_DEEPBIND) != 0) note_deepbind(file);
  return sys().dlopen.resolved();
}
}

namespace {

// Not the slot of the table: before the library is initialised that would ask the dynamic linker.
SyscallFunction real_syscall() { return rsock_real_syscall.load(std::memory_order_relaxed); }

// Descriptors and sizes arrive as whole registers, of which the kernel looks at the lower half.
int as_int(long word) { return static_cast<int>(word); }
unsigned int as_unsigned(long word) { return static_cast<unsigned int>(word); }

template <typename T>
const T* as_pointer(long word) {
  return reinterpret_cast<const T*>(word);
}

template <typename Call>
long make_io_uring(Call call) {
  const long fd = edge::make_descriptor(call);
  if (fd >= 0) rsock::socket::note_io_uring();
  return fd;
}

long accept_raw(long number, long listener, long address, long length, long flags) {
  return edge::accept_on(as_int(listener), reinterpret_cast<sockaddr*>(address),
                         reinterpret_cast<socklen_t*>(length),
                         [=](sockaddr* peer, socklen_t* peer_length) {
                           return real_syscall()(number, listener, peer, peer_length, flags);
                         });
}

// A fork that runs none of libc's handlers.
template <typename Call>
long fork_raw(Call call) {
  const long child = call();
  const edge::ErrnoKeeper keeper;
  if (child == 0) process::after_fork_in_child();
  return child;
}

}  // namespace

void rsock::entries::use_real_syscall() noexcept {
  rsock_real_syscall.store(sys().syscall.get(), std::memory_order_relaxed);
}

// What each raw system call means to the table: the case of the number, with the body of the
// libc function of that name. The list is used twice, to mark the numbers and to switch on them.
#define RSOCK_DECODED_SYSCALLS(CASE)                                                             \
  CASE(SYS_read, edge::receive(as_int(a), 0, call))                                              \
  CASE(SYS_readv, edge::receive(as_int(a), 0, call))                                             \
  CASE(SYS_preadv2, edge::receive(as_int(a), 0, call))                                           \
  CASE(SYS_recvfrom, edge::receive(as_int(a), as_int(d), call))                                  \
  CASE(SYS_recvmsg, edge::receive_message(as_int(a), as_pointer<msghdr>(b), as_int(c), call))    \
  CASE(SYS_recvmmsg, edge::receive_messages(as_int(a), as_pointer<mmsghdr>(b), as_int(d), call)) \
  CASE(SYS_write, edge::send(as_int(a), 0, call))                                                \
  CASE(SYS_writev, edge::send(as_int(a), 0, call))                                               \
  CASE(SYS_pwritev2, edge::send(as_int(a), 0, call))                                             \
  CASE(SYS_sendto, edge::send_connecting(                                                        \
                       as_int(a), as_int(d), [=] { return as_pointer<void>(e); }, call))         \
  CASE(SYS_sendmsg,                                                                              \
       edge::send_connecting(                                                                    \
           as_int(a), as_int(c), [=] { return as_pointer<msghdr>(b)->msg_name; }, call))         \
  CASE(SYS_sendmmsg, edge::send_messages(as_int(a), as_pointer<mmsghdr>(b), as_int(d), call))    \
  CASE(SYS_sendfile, edge::move_bytes(as_int(b), as_int(a), call))                               \
  CASE(SYS_splice, edge::move_bytes(as_int(a), as_int(c), call))                                 \
  CASE(SYS_socket, edge::make_socket(as_int(a), as_int(b), as_int(c), call))                     \
  CASE(SYS_socketpair, edge::make_descriptor_pair(as_pointer<int>(d), call))                     \
  CASE(SYS_accept, accept_raw(number, a, b, c, d))                                               \
  CASE(SYS_accept4, accept_raw(number, a, b, c, d))                                              \
  CASE(SYS_connect, edge::connect_to(as_int(a), as_pointer<sockaddr>(b), call))                  \
  CASE(SYS_listen, edge::listen_on(as_int(a), call))                                             \
  CASE(SYS_setsockopt, edge::set_option(as_int(a), as_int(b), as_int(c), as_pointer<void>(d),    \
                                        as_unsigned(e), call))                                   \
  CASE(SYS_close, edge::close_descriptor(as_int(a), call))                                       \
  CASE(SYS_close_range,                                                                          \
       edge::close_ranges(as_unsigned(a), as_unsigned(b), as_int(c), [=](auto from, auto to) {   \
         return real_syscall()(SYS_close_range, static_cast<long>(from), static_cast<long>(to),  \
                               c);                                                               \
       }))                                                                                       \
  CASE(SYS_dup, edge::duplicate(as_int(a), call))                                                \
  CASE(SYS_dup2, edge::duplicate_onto(as_int(a), as_int(b), call))                               \
  CASE(SYS_dup3, edge::duplicate_onto(as_int(a), as_int(b), call))                               \
  CASE(SYS_fcntl, edge::control(as_int(a), as_int(b), call))                                     \
  CASE(SYS_pipe, edge::make_descriptor_pair(as_pointer<int>(a), call))                           \
  CASE(SYS_pipe2, edge::make_descriptor_pair(as_pointer<int>(a), call))                          \
  CASE(SYS_open, edge::make_descriptor(call))                                                    \
  CASE(SYS_openat, edge::make_descriptor(call))                                                  \
  CASE(SYS_openat2, edge::make_descriptor(call))                                                 \
  CASE(SYS_creat, edge::make_descriptor(call))                                                   \
  CASE(SYS_open_by_handle_at, edge::make_descriptor(call))                                       \
  CASE(SYS_eventfd, edge::make_descriptor(call))                                                 \
  CASE(SYS_eventfd2, edge::make_descriptor(call))                                                \
  CASE(SYS_timerfd_create, edge::make_descriptor(call))                                          \
  CASE(SYS_signalfd, edge::make_descriptor(call))                                                \
  CASE(SYS_signalfd4, edge::make_descriptor(call))                                               \
  CASE(SYS_memfd_create, edge::make_descriptor(call))                                            \
  CASE(SYS_inotify_init, edge::make_descriptor(call))                                            \
  CASE(SYS_inotify_init1, edge::make_descriptor(call))                                           \
  CASE(SYS_fanotify_init, edge::make_descriptor(call))                                           \
  CASE(SYS_epoll_create, edge::make_descriptor(call))                                            \
  CASE(SYS_epoll_create1, edge::make_descriptor(call))                                           \
  CASE(SYS_userfaultfd, edge::make_descriptor(call))                                             \
  CASE(SYS_perf_event_open, edge::make_descriptor(call))                                         \
  CASE(SYS_pidfd_open, edge::make_descriptor(call))                                              \
  CASE(SYS_pidfd_getfd, edge::take_descriptor(call))                                             \
  CASE(SYS_io_uring_setup, make_io_uring(call))                                                  \
  CASE(SYS_prctl, edge::control_process(as_int(a), call))                                        \
  CASE(SYS_seccomp, edge::filter_calls(as_unsigned(a), call))                                    \
  CASE(SYS_fork, fork_raw(call))                                                                 \
  CASE(SYS_clone, fork_raw(call))

namespace {

struct DecodedNumbers {
  bool is_decoded[RSOCK_SYSCALL_NUMBERS] = {};
  constexpr DecodedNumbers() {
#define RSOCK_MARK_NUMBER(number, body) is_decoded[number] = true;
    RSOCK_DECODED_SYSCALLS(RSOCK_MARK_NUMBER)
#undef RSOCK_MARK_NUMBER
  }
};

}  // namespace

// One wrong entry here is a call that is passed on unseen or a jump into the wrong body, so the
// marks and the cases come from the same list.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming): as entries.S calls it
[[gnu::visibility("hidden")]] extern const DecodedNumbers rsock_syscall_is_decoded;
constinit const DecodedNumbers rsock_syscall_is_decoded{};
// NOLINTEND(readability-identifier-naming)
}

extern "C" [[gnu::visibility("hidden")]] long rsock_decode_syscall(long number, long a, long b,
                                                                   long c, long d, long e, long f) {
  const auto call = [=] { return real_syscall()(number, a, b, c, d, e, f); };
  switch (number) {
#define RSOCK_CASE(value, body) \
  case value:                   \
    return body;
    // NOLINTNEXTLINE(bugprone-branch-clone): many numbers do the same
    RSOCK_DECODED_SYSCALLS(RSOCK_CASE)
#undef RSOCK_CASE
    default:
      return call();
  }
}
