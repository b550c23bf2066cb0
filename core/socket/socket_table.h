#pragma once

#include <cstdint>

#include "core/socket/descriptor_table.h"
#include "core/socket/socket.h"
#include "core/socket/socket_pool.h"
#include "core/stats/page.h"

namespace rsock::socket {

class SocketRef;

// The TCP sockets that the program holds, by descriptor.
//
// The table follows what the kernel has done, so each function is called at a fixed moment:
// take before the kernel frees a number, put after it has given one out. A number that the kernel
// has not given out is thereby never found.
//
// Thread safety: every function, by any thread and any signal handler, at any time; no lock, and
// errno may change. In a child that still runs in its parent's memory (vfork) the functions that
// change the table do nothing.
//
// Invariants:
//   1. Each slot with a handle owns one reference of that socket; so do SocketRefs. The last
//      reference to go ends the socket.
//   2. A socket's stats row is in use from its making to its end.
class SocketTable {
 public:
  // The handle at `fd`, or none; see DescriptorTable::peek.
  [[nodiscard]] Handle peek(int fd) const noexcept { return descriptors_.peek(fd); }

  // A counted reference to the socket that `handle` names, if it is still there. None in a child
  // in its parent's memory: what it does is not the parent's doing.
  [[nodiscard]] SocketRef acquire(Handle handle) noexcept;

  // The kernel has just given out `fd` for a TCP socket: follow it. Whatever was remembered of an
  // earlier owner of the number goes. None when it can't be followed (no memory, a number beyond
  // config::kTrackedFdsMax); then it is an untracked descriptor, which is harmless.
  [[nodiscard]] SocketRef track(int fd, stats::Role role) noexcept;

  // The kernel has just given out `fd` for something else, or put something else there.
  void purge_stale(int fd) noexcept {
    if (peek(fd)) [[unlikely]]
      purge(fd);
  }

  // The program is about to close `fd`, or every descriptor in [first, last].
  void forget(int fd) noexcept {
    if (peek(fd)) forget_followed(fd);
  }
  void forget_range(unsigned int first, unsigned int last) noexcept;

  // The kernel has just made `to` a duplicate of `from`. `from` names no socket of ours: `to` is
  // forgotten.
  void share(int from, int to) noexcept;

  // dup2 is about to replace `fd`. What was there is out of the table until the call has either
  // succeeded (end_replacement with true) or failed (false: it is put back).
  [[nodiscard]] Handle begin_replacement(int fd) noexcept;
  void end_replacement(int fd, Handle replaced, bool done) noexcept;

 private:
  friend class SocketRef;

  [[nodiscard]] SocketRef make(int fd, stats::Role role) noexcept;
  void purge(int fd) noexcept;
  void forget_followed(int fd) noexcept;
  void drop_stale(Handle handle) noexcept;
  void drop_reference(Handle handle) noexcept;
  void drop_if_any(Handle handle) noexcept {
    if (handle) drop_reference(handle);
  }

  DescriptorTable descriptors_;
  SocketPool pool_;
};

// The process's only table.
extern constinit SocketTable socket_table_instance;
[[nodiscard]] inline SocketTable& table() noexcept { return socket_table_instance; }

// A counted reference: while it exists, the socket and its row do not turn into another's.
class SocketRef {
 public:
  SocketRef() = default;
  SocketRef(SocketRef&& other) noexcept : handle_(other.handle_) { other.handle_ = Handle(); }
  SocketRef& operator=(SocketRef&&) = delete;
  ~SocketRef() {
    if (handle_) table().drop_reference(handle_);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
  [[nodiscard]] Handle handle() const noexcept { return handle_; }

  // What rsock-stat shows of the socket. Never null while the reference is held.
  [[nodiscard]] stats::ConnectionRow& row() const noexcept;

 private:
  friend class SocketTable;
  explicit SocketRef(Handle handle) noexcept : handle_(handle) {}

  Handle handle_;
};

}  // namespace rsock::socket
