// Calls that give out descriptors which are no sockets of ours: a number that was closed behind
// our back (by a raw system call, or inside libc) must not be taken for the old socket.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

// The mode is there only with O_CREAT or O_TMPFILE; reading it in the other cases gives a word
// that the kernel ignores.
RSOCK_EXPORT int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return edge::make_descriptor([=] { return sys().open(path, flags, mode); });
}

RSOCK_EXPORT int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return edge::make_descriptor([=] { return sys().open64(path, flags, mode); });
}

RSOCK_EXPORT int __open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return edge::make_descriptor([=] { return sys().__open(path, flags, mode); });
}

RSOCK_EXPORT int __open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return edge::make_descriptor([=] { return sys().__open64(path, flags, mode); });
}

RSOCK_EXPORT int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return edge::make_descriptor([=] { return sys().openat(directory, path, flags, mode); });
}

RSOCK_EXPORT int openat64(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return edge::make_descriptor([=] { return sys().openat64(directory, path, flags, mode); });
}

RSOCK_EXPORT int __open_2(const char* path, int flags) {
  return edge::make_descriptor([=] { return sys().__open_2(path, flags); });
}

RSOCK_EXPORT int __open64_2(const char* path, int flags) {
  return edge::make_descriptor([=] { return sys().__open64_2(path, flags); });
}

RSOCK_EXPORT int __openat_2(int directory, const char* path, int flags) {
  return edge::make_descriptor([=] { return sys().__openat_2(directory, path, flags); });
}

RSOCK_EXPORT int __openat64_2(int directory, const char* path, int flags) {
  return edge::make_descriptor([=] { return sys().__openat64_2(directory, path, flags); });
}

RSOCK_EXPORT int creat(const char* path, mode_t mode) {
  return edge::make_descriptor([=] { return sys().creat(path, mode); });
}

RSOCK_EXPORT int creat64(const char* path, mode_t mode) {
  return edge::make_descriptor([=] { return sys().creat64(path, mode); });
}

RSOCK_EXPORT int pipe(int fds[2]) {
  return edge::make_descriptor_pair(fds, [=] { return sys().pipe(fds); });
}

RSOCK_EXPORT int __pipe(int fds[2]) {
  return edge::make_descriptor_pair(fds, [=] { return sys().__pipe(fds); });
}

RSOCK_EXPORT int pipe2(int fds[2], int flags) {
  return edge::make_descriptor_pair(fds, [=] { return sys().pipe2(fds, flags); });
}

RSOCK_EXPORT int eventfd(unsigned int count, int flags) {
  return edge::make_descriptor([=] { return sys().eventfd(count, flags); });
}

RSOCK_EXPORT int timerfd_create(clockid_t clock, int flags) {
  return edge::make_descriptor([=] { return sys().timerfd_create(clock, flags); });
}

RSOCK_EXPORT int signalfd(int fd, const sigset_t* mask, int flags) {
  return edge::make_descriptor([=] { return sys().signalfd(fd, mask, flags); });
}

RSOCK_EXPORT int memfd_create(const char* name, unsigned int flags) {
  return edge::make_descriptor([=] { return sys().memfd_create(name, flags); });
}

RSOCK_EXPORT int inotify_init() {
  return edge::make_descriptor([=] { return sys().inotify_init(); });
}

RSOCK_EXPORT int inotify_init1(int flags) {
  return edge::make_descriptor([=] { return sys().inotify_init1(flags); });
}

RSOCK_EXPORT int pidfd_open(pid_t pid, unsigned int flags) {
  return edge::make_descriptor([=] { return sys().pidfd_open(pid, flags); });
}

RSOCK_EXPORT int pidfd_getfd(int pidfd, int fd, unsigned int flags) {
  return edge::take_descriptor([=] { return sys().pidfd_getfd(pidfd, fd, flags); });
}

RSOCK_EXPORT int open_by_handle_at(int mount, file_handle* handle, int flags) {
  return edge::make_descriptor([=] { return sys().open_by_handle_at(mount, handle, flags); });
}

RSOCK_EXPORT int fanotify_init(unsigned int flags, unsigned int event_flags) {
  return edge::make_descriptor([=] { return sys().fanotify_init(flags, event_flags); });
}
