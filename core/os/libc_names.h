#pragma once

// Prototypes of every name in syscalls.inc: the libc headers, and those that libc exports (for
// fortified and for old binaries) but no header declares.
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgets to say so itself

int __socket(int domain, int type, int protocol);
int __close(int fd);
int __dup2(int from, int to);
int __connect(int fd, const sockaddr* address, socklen_t length);
int __fcntl(int fd, int command, ...);
ssize_t __read(int fd, void* buffer, size_t count);
ssize_t __read_chk(int fd, void* buffer, size_t count, size_t buffer_bytes);
ssize_t __recv(int fd, void* buffer, size_t count, int flags);
ssize_t __recv_chk(int fd, void* buffer, size_t count, size_t buffer_bytes, int flags);
ssize_t __recvfrom_chk(int fd, void* buffer, size_t count, size_t buffer_bytes, int flags,
                       sockaddr* address, socklen_t* length);
ssize_t __write(int fd, const void* buffer, size_t count);
ssize_t __send(int fd, const void* buffer, size_t count, int flags);
int __sendmmsg(int fd, mmsghdr* messages, unsigned int count, int flags);
int __dprintf_chk(int fd, int flag, const char* format, ...);
int __vdprintf_chk(int fd, int flag, const char* format, va_list arguments);
int __poll(pollfd* fds, nfds_t count, int timeout_ms);
int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t fds_bytes);
int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask,
                size_t fds_bytes);
int __select(int count, fd_set* readable, fd_set* writable, fd_set* exceptional, timeval* timeout);
pid_t __fork();
pid_t __libc_fork();
pid_t __vfork();
int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);
FILE* _IO_fopen(const char* path, const char* mode);
FILE* _IO_fdopen(int fd, const char* mode);
int _IO_fclose(FILE* stream);
FILE* _IO_popen(const char* command, const char* mode);
int __open(const char* path, int flags, ...);
int __open64(const char* path, int flags, ...);
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int directory, const char* path, int flags);
int __openat64_2(int directory, const char* path, int flags);
int __pipe(int fds[2]);
}
