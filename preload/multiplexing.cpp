// Waiting for several descriptors.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

RSOCK_EXPORT int poll(pollfd* fds, nfds_t count, int timeout_ms) {
  return sys().poll(fds, count, timeout_ms);
}

RSOCK_EXPORT int __poll(pollfd* fds, nfds_t count, int timeout_ms) {
  return sys().__poll(fds, count, timeout_ms);
}

RSOCK_EXPORT int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t fds_bytes) {
  return sys().__poll_chk(fds, count, timeout_ms, fds_bytes);
}

RSOCK_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  return sys().ppoll(fds, count, timeout, mask);
}

RSOCK_EXPORT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                             const sigset_t* mask, size_t fds_bytes) {
  return sys().__ppoll_chk(fds, count, timeout, mask, fds_bytes);
}

RSOCK_EXPORT int select(int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
                        timeval* timeout) {
  return sys().select(count, readable, writable, exceptional, timeout);
}

RSOCK_EXPORT int __select(int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
                          timeval* timeout) {
  return sys().__select(count, readable, writable, exceptional, timeout);
}

RSOCK_EXPORT int pselect(int count, fd_set* readable, fd_set* writable, fd_set* exceptional,
                         const timespec* timeout, const sigset_t* mask) {
  return sys().pselect(count, readable, writable, exceptional, timeout, mask);
}

RSOCK_EXPORT int epoll_create(int size) {
  return edge::make_descriptor([=] { return sys().epoll_create(size); });
}

RSOCK_EXPORT int epoll_create1(int flags) {
  return edge::make_descriptor([=] { return sys().epoll_create1(flags); });
}

RSOCK_EXPORT int epoll_ctl(int set, int operation, int fd, epoll_event* event) {
  return sys().epoll_ctl(set, operation, fd, event);
}

RSOCK_EXPORT int epoll_wait(int set, epoll_event* events, int count, int timeout_ms) {
  return sys().epoll_wait(set, events, count, timeout_ms);
}

RSOCK_EXPORT int epoll_pwait(int set, epoll_event* events, int count, int timeout_ms,
                             const sigset_t* mask) {
  return sys().epoll_pwait(set, events, count, timeout_ms, mask);
}

RSOCK_EXPORT int epoll_pwait2(int set, epoll_event* events, int count, const timespec* timeout,
                              const sigset_t* mask) {
  return sys().epoll_pwait2(set, events, count, timeout, mask);
}
