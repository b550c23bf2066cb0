#include "core/socket/socket_table.h"

#include "core/base/check.h"
#include "core/base/mark.h"
#include "core/os/address_space.h"
#include "core/os/clock.h"
#include "core/os/inode.h"
#include "core/stats/publisher.h"

namespace rsock::socket {

namespace {

using stats::Counter;
using stats::publisher;

// Fills the row of a socket that nobody else can see yet.
void open_row(stats::ConnectionRow& row, Handle handle, int fd, stats::Role role) {
  row.inode.store(os::inode_of(fd), std::memory_order_relaxed);
  row.since_realtime_ns.store(os::realtime_ns(), std::memory_order_relaxed);
  row.tx_tcp_bytes.store(0, std::memory_order_relaxed);
  row.rx_tcp_bytes.store(0, std::memory_order_relaxed);
  row.reason.store(stats::Reason::none, std::memory_order_relaxed);
  row.role.store(role, std::memory_order_relaxed);
  row.path.store(stats::Path::tcp, std::memory_order_relaxed);
  const auto fd_plus_one = static_cast<std::uint32_t>(fd) + 1;
  row.identity.store(static_cast<std::uint64_t>(handle.generation()) << 32 | fd_plus_one,
                     std::memory_order_release);
  publisher().note_row_used(handle.index());
  publisher().count(Counter::sockets_tracked);
}

void close_row(stats::ConnectionRow& row) {
  row.identity.store(0, std::memory_order_release);
  publisher().count(Counter::closed_tx_tcp_bytes, row.tx_tcp_bytes.load(std::memory_order_relaxed));
  publisher().count(Counter::closed_rx_tcp_bytes, row.rx_tcp_bytes.load(std::memory_order_relaxed));
  publisher().count(Counter::sockets_closed);
}

}  // namespace

constinit SocketTable socket_table_instance;

SocketRef SocketTable::acquire(Handle handle) noexcept {
  if (!handle || os::address_space_is_borrowed()) return SocketRef();
  return pool_.acquire(handle) ? SocketRef(handle) : SocketRef();
}

SocketRef SocketTable::track(int fd, stats::Role role) noexcept {
  if (os::address_space_is_borrowed()) return SocketRef();
  SocketRef ref = make(fd, role);
  if (!ref) {
    publisher().count(Counter::sockets_untracked);
    return ref;
  }
  Handle previous;
  const bool acquired = pool_.acquire(ref.handle());  // For the slot.
  RSOCK_DCHECK(acquired);
  if (descriptors_.put(fd, ref.handle(), previous)) {
    drop_stale(previous);
    return ref;
  }
  drop_reference(ref.handle());
  publisher().count(Counter::sockets_untracked);
  return SocketRef();
}

SocketRef SocketTable::make(int fd, stats::Role role) noexcept {
  const Handle handle = pool_.allocate();
  if (!handle) return SocketRef();
  stats::ConnectionRow* row = publisher().row(handle.index());
  if (row == nullptr) {
    if (pool_.release(handle)) pool_.free(handle);
    return SocketRef();
  }
  open_row(*row, handle, fd, role);
  return SocketRef(handle);
}

void SocketTable::purge(int fd) noexcept {
  if (!os::address_space_is_borrowed()) drop_stale(descriptors_.take(fd));
}

void SocketTable::forget_followed(int fd) noexcept {
  if (!os::address_space_is_borrowed()) drop_if_any(descriptors_.take(fd));
}

void SocketTable::drop_stale(Handle handle) noexcept {
  if (!handle) return;
  RSOCK_MARK(stale_slot_purged);
  publisher().count(Counter::stale_purged);
  drop_reference(handle);
}

void SocketTable::forget_range(unsigned int first, unsigned int last) noexcept {
  if (os::address_space_is_borrowed()) return;
  for (int fd = descriptors_.next_used(first, last); fd >= 0;
       fd = descriptors_.next_used(static_cast<unsigned int>(fd) + 1, last)) {
    drop_if_any(descriptors_.take(fd));
  }
}

void SocketTable::share(int from, int to) noexcept {
  const Handle handle = peek(from);
  if (!handle && !peek(to)) return;
  if (os::address_space_is_borrowed()) return;
  Handle previous;
  if (handle && pool_.acquire(handle)) {
    if (!descriptors_.put(to, handle, previous)) drop_reference(handle);
  } else {
    previous = descriptors_.take(to);
  }
  // What a call was to replace has gone before (begin_replacement); this is older.
  drop_stale(previous);
}

Handle SocketTable::begin_replacement(int fd) noexcept {
  if (!peek(fd) || os::address_space_is_borrowed()) return Handle();
  return descriptors_.take(fd);
}

void SocketTable::end_replacement(int fd, Handle replaced, bool done) noexcept {
  if (!replaced) return;
  if (!done && descriptors_.put_back(fd, replaced)) {
    RSOCK_MARK(replacement_put_back);
    return;
  }
  drop_reference(replaced);
}

void SocketTable::drop_reference(Handle handle) noexcept {
  if (!pool_.release(handle)) return;
  stats::ConnectionRow* row = publisher().row(handle.index());
  if (row != nullptr) close_row(*row);
  pool_.free(handle);
}

stats::ConnectionRow& SocketRef::row() const noexcept {
  // Only a forked child that found no memory for its own page comes here without a row.
  static constinit stats::ConnectionRow lost{};
  stats::ConnectionRow* row = stats::publisher().row(handle_.index());
  return row == nullptr ? lost : *row;
}

}  // namespace rsock::socket
