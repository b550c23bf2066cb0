#pragma once

#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "core/os/errno_keeper.h"
#include "core/os/internal_fds.h"
#include "core/os/sandbox.h"
#include "core/os/syscalls.h"
#include "core/socket/lifecycle.h"
#include "core/socket/pinning.h"
#include "core/socket/traffic.h"

// A function that programs call in the place of libc's.
#define RSOCK_EXPORT extern "C" [[gnu::visibility("default")]]

// The shared bodies of the exported functions. Each takes the call to the real function as
// `call`, so that a program's read() stays a read(2) (also under its own seccomp filter), and
// the variants of a name, libc's aliases and raw system calls have one body.
//
// This is the only place where errno lives. A body leaves it as the real call left it.
namespace rsock::edge {

using os::ErrnoKeeper;
using os::sys;
using socket::Handle;
using socket::table;

// Bytes out of `fd`. No reference is held during the call: it may block for ever, and
// pthread_cancel may end the thread in it.
template <typename Call>
[[gnu::always_inline]] inline auto receive(int fd, int flags, Call call) {
  const Handle handle = table().peek(fd);
  if (!handle) [[likely]]
    return call();
  const auto bytes = call();
  socket::received(handle, flags, static_cast<ssize_t>(bytes));
  return bytes;
}

// Bytes into `fd`.
template <typename Call>
[[gnu::always_inline]] inline auto send(int fd, int flags, Call call) {
  const Handle handle = table().peek(fd);
  if (!handle) [[likely]]
    return call();
  const auto bytes = call();
  socket::sent(handle, flags, static_cast<ssize_t>(bytes));
  return bytes;
}

// A send that may also connect (TCP fast open). `address_of` gives the address; it is asked only
// when the kernel has taken it.
template <typename Call, typename AddressOf>
[[gnu::always_inline]] inline auto send_connecting(int fd, int flags, AddressOf address_of,
                                                   Call call) {
  const auto bytes = send(fd, flags, call);
  if ((flags & MSG_FASTOPEN) != 0 && table().peek(fd)) [[unlikely]] {
    const ErrnoKeeper keeper;
    if (bytes >= 0 || keeper.saved() == EINPROGRESS) {
      socket::connection_begun(fd, static_cast<const sockaddr*>(address_of()));
    }
  }
  return bytes;
}

template <typename Call>
inline auto receive_message(int fd, const msghdr* message, int flags, Call call) {
  const auto bytes = receive(fd, flags, call);
  if (bytes >= 0 && message->msg_controllen != 0) [[unlikely]] {
    const ErrnoKeeper keeper;
    socket::descriptors_received(*message);
  }
  return bytes;
}

template <typename Call>
inline auto receive_messages(int fd, const mmsghdr* messages, int flags, Call call) {
  const Handle handle = table().peek(fd);
  const auto count = call();
  for (int index = 0; index < static_cast<int>(count); ++index) {
    if (handle) socket::received(handle, flags, static_cast<ssize_t>(messages[index].msg_len));
    const ErrnoKeeper keeper;
    if (messages[index].msg_hdr.msg_controllen != 0) {
      socket::descriptors_received(messages[index].msg_hdr);
    }
  }
  return count;
}

template <typename Call>
inline auto send_messages(int fd, const mmsghdr* messages, int flags, Call call) {
  const Handle handle = table().peek(fd);
  const auto count = call();
  for (int index = 0; handle && index < static_cast<int>(count); ++index) {
    socket::sent(handle, flags, static_cast<ssize_t>(messages[index].msg_len));
  }
  if ((flags & MSG_FASTOPEN) != 0 && handle) [[unlikely]] {
    const ErrnoKeeper keeper;
    if (count > 0 || (count < 0 && keeper.saved() == EINPROGRESS)) {
      socket::connection_begun(fd, static_cast<const sockaddr*>(messages[0].msg_hdr.msg_name));
    }
  }
  return count;
}

// Bytes from one descriptor to another inside the kernel.
template <typename Call>
inline auto move_bytes(int from, int to, Call call) {
  return send(to, 0, [&] { return receive(from, 0, call); });
}

// A call that gives out a descriptor which is of no interest.
template <typename Call>
inline auto make_descriptor(Call call) {
  const auto fd = call();
  if (fd >= 0) table().purge_stale(static_cast<int>(fd));
  return fd;
}

// A call that takes a descriptor out of another process.
template <typename Call>
inline auto take_descriptor(Call call) {
  const auto fd = call();
  const ErrnoKeeper keeper;
  if (fd >= 0) socket::adopt(static_cast<int>(fd));
  return fd;
}

template <typename Call>
inline auto make_descriptor_pair(const int* fds, Call call) {
  const auto result = call();
  if (result == 0) {
    table().purge_stale(fds[0]);
    table().purge_stale(fds[1]);
  }
  return result;
}

template <typename Call>
inline auto make_socket(int domain, int type, int protocol, Call call) {
  const auto fd = call();
  const ErrnoKeeper keeper;
  if (fd >= 0) socket::socket_made(static_cast<int>(fd), domain, type, protocol);
  return fd;
}

// `call` takes the places for the peer's address. Where the program does not ask for it, and the
// listener is not followed, we do: the kernel then tells what kind of socket that is.
template <typename Call>
inline auto accept_on(int listener, sockaddr* address, socklen_t* length, Call call) {
  const bool followed = static_cast<bool>(table().peek(listener));
  sockaddr_storage own{};
  socklen_t own_length = sizeof(own);
  auto* peer = reinterpret_cast<sockaddr*>(&own);
  const bool we_ask = !followed && address == nullptr;
  const auto fd = we_ask ? call(peer, &own_length) : call(address, length);
  if (fd < 0) return fd;
  const ErrnoKeeper keeper;
  if (!followed && !we_ask) peer = address;
  socket::connection_accepted(listener, static_cast<int>(fd), peer->sa_family);
  return fd;
}

template <typename Call>
inline auto connect_to(int fd, const sockaddr* address, Call call) {
  const auto result = call();
  const ErrnoKeeper keeper;
  // EINTR too: the kernel goes on connecting in the background.
  if (result == 0 || keeper.saved() == EINPROGRESS || keeper.saved() == EINTR) {
    socket::connection_begun(fd, address);
  }
  return result;
}

template <typename Call>
inline auto listen_on(int fd, Call call) {
  const auto result = call();
  if (result == 0) socket::now_listening(fd);
  return result;
}

inline void pin_socket(int fd, stats::Reason reason) {
  const ErrnoKeeper keeper;
  const socket::SocketRef ref = table().acquire(table().peek(fd));
  if (ref) socket::pin(ref, reason);
}

template <typename Call>
inline auto set_option(int fd, int level, int name, const void* value, socklen_t length,
                       Call call) {
  const auto result = call();
  const Handle handle = table().peek(fd);
  if (result != 0 || !handle) return result;
  const stats::Reason reason = socket::reason_of_option(level, name, value, length);
  if (reason != stats::Reason::none) pin_socket(fd, reason);
  return result;
}

// close(). Our own descriptors are not the program's to close: for it, none is open there.
template <typename Call>
inline auto close_descriptor(int fd, Call call) -> decltype(call()) {
  if (os::is_internal_fd(fd)) [[unlikely]] {
    errno = EBADF;
    return -1;
  }
  table().forget(fd);
  return call();
}

template <typename Call>
inline auto duplicate(int from, Call call) {
  const auto to = call();
  const ErrnoKeeper keeper;
  if (to >= 0) table().share(from, static_cast<int>(to));
  return to;
}

template <typename Call>
inline auto duplicate_onto(int from, int to, Call call) {
  if (from == to) return call();
  const int entry_errno = errno;
  const int spare = os::spare_internal_fd(to);
  const Handle replaced = table().begin_replacement(to);
  errno = entry_errno;
  const auto result = call();
  const ErrnoKeeper keeper;
  os::settle_internal_fd(to, spare, result >= 0);
  table().end_replacement(to, replaced, result >= 0);
  if (result >= 0) table().share(from, to);
  return result;
}

// close_range() over the ranges between our own descriptors.
template <typename Call>
inline long close_ranges(unsigned int first, unsigned int last, int flags, Call call) {
  constexpr auto kCloseOnExec = static_cast<int>(CLOSE_RANGE_CLOEXEC);
  constexpr int kKnownFlags = static_cast<int>(CLOSE_RANGE_UNSHARE) | kCloseOnExec;
  const bool closes = first <= last && (flags & ~kKnownFlags) == 0 && (flags & kCloseOnExec) == 0;
  // Forgetting comes before closing, so be sure that the kernel will close: nothing is there.
  if (!closes || call(UINT_MAX, UINT_MAX) != 0) return call(first, last);
  // A thread that leaves the others' descriptors says nothing about theirs.
  const bool leaves_others =
      (flags & static_cast<int>(CLOSE_RANGE_UNSHARE)) != 0 && __libc_single_threaded == 0;
  if (!leaves_others) table().forget_range(first, last);
  for (int own = os::first_internal_fd_in(first, last); own >= 0;
       own = os::first_internal_fd_in(first, last)) {
    const auto number = static_cast<unsigned int>(own);
    if (number > first && call(first, number - 1) != 0) return -1;
    if (number == last) return 0;
    first = number + 1;
  }
  return call(first, last);
}

// prctl() and seccomp(): a filter applies to the library as well.
template <typename Call>
inline auto control_process(int operation, Call call) {
  const auto result = call();
  if (result == 0 && operation == PR_SET_SECCOMP) os::note_sandbox();
  return result;
}
template <typename Call>
inline auto filter_calls(unsigned int operation, Call call) {
  const auto result = call();
  const bool filters = operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER;
  if (result >= 0 && filters) os::note_sandbox();
  return result;
}

// fcntl(): only the commands that duplicate concern us.
template <typename Call>
inline auto control(int fd, int command, Call call) {
  if (command != F_DUPFD && command != F_DUPFD_CLOEXEC) [[likely]]
    return call();
  return duplicate(fd, call);
}

}  // namespace rsock::edge
