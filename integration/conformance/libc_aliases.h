#pragma once

// Names that libc exports for fortified and for old binaries and that no header declares.
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

extern "C" {
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
pid_t __vfork();
int __pipe(int fds[2]);
}
