// Calls that put bytes into a descriptor, and those that move them inside the kernel.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

RSOCK_EXPORT ssize_t write(int fd, const void* buffer, size_t count) {
  return edge::send(fd, 0, [=] { return sys().write(fd, buffer, count); });
}

RSOCK_EXPORT ssize_t __write(int fd, const void* buffer, size_t count) {
  return edge::send(fd, 0, [=] { return sys().__write(fd, buffer, count); });
}

RSOCK_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  return edge::send(fd, 0, [=] { return sys().writev(fd, parts, count); });
}

RSOCK_EXPORT ssize_t pwritev2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return edge::send(fd, 0, [=] { return sys().pwritev2(fd, parts, count, offset, flags); });
}

RSOCK_EXPORT ssize_t pwritev64v2(int fd, const iovec* parts, int count, off64_t offset, int flags) {
  return edge::send(fd, 0, [=] { return sys().pwritev64v2(fd, parts, count, offset, flags); });
}

RSOCK_EXPORT ssize_t send(int fd, const void* buffer, size_t count, int flags) {
  return edge::send(fd, flags, [=] { return sys().send(fd, buffer, count, flags); });
}

RSOCK_EXPORT ssize_t __send(int fd, const void* buffer, size_t count, int flags) {
  return edge::send(fd, flags, [=] { return sys().__send(fd, buffer, count, flags); });
}

RSOCK_EXPORT ssize_t sendto(int fd, const void* buffer, size_t count, int flags,
                            const sockaddr* address, socklen_t length) {
  return edge::send_connecting(
      fd, flags, [=] { return address; },
      [=] { return sys().sendto(fd, buffer, count, flags, address, length); });
}

RSOCK_EXPORT ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return edge::send_connecting(
      fd, flags, [=] { return message->msg_name; },
      [=] { return sys().sendmsg(fd, message, flags); });
}

RSOCK_EXPORT int sendmmsg(int fd, mmsghdr* messages, unsigned int count, int flags) {
  return edge::send_messages(fd, messages, flags,
                             [=] { return sys().sendmmsg(fd, messages, count, flags); });
}

RSOCK_EXPORT int __sendmmsg(int fd, mmsghdr* messages, unsigned int count, int flags) {
  return edge::send_messages(fd, messages, flags,
                             [=] { return sys().__sendmmsg(fd, messages, count, flags); });
}

RSOCK_EXPORT ssize_t sendfile(int to, int from, off_t* offset, size_t count) {
  return edge::move_bytes(from, to, [=] { return sys().sendfile(to, from, offset, count); });
}

RSOCK_EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, size_t count) {
  return edge::move_bytes(from, to, [=] { return sys().sendfile64(to, from, offset, count); });
}

// dprintf() writes inside libc. What it wrote is its result.
RSOCK_EXPORT int dprintf(int fd, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int bytes = edge::send(fd, 0, [&] { return sys().vdprintf(fd, format, arguments); });
  va_end(arguments);
  return bytes;
}

RSOCK_EXPORT int __dprintf_chk(int fd, int flag, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int bytes =
      edge::send(fd, 0, [&] { return sys().__vdprintf_chk(fd, flag, format, arguments); });
  va_end(arguments);
  return bytes;
}

RSOCK_EXPORT int vdprintf(int fd, const char* format, va_list arguments) {
  return edge::send(fd, 0, [&] { return sys().vdprintf(fd, format, arguments); });
}

RSOCK_EXPORT int __vdprintf_chk(int fd, int flag, const char* format, va_list arguments) {
  return edge::send(fd, 0, [&] { return sys().__vdprintf_chk(fd, flag, format, arguments); });
}

RSOCK_EXPORT ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset,
                            size_t count, unsigned int flags) {
  return edge::move_bytes(
      from, to, [=] { return sys().splice(from, from_offset, to, to_offset, count, flags); });
}

RSOCK_EXPORT ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset,
                                     size_t count, unsigned int flags) {
  return sys().copy_file_range(from, from_offset, to, to_offset, count, flags);
}

// Pipes only: never a socket of ours.
RSOCK_EXPORT ssize_t tee(int from, int to, size_t count, unsigned int flags) {
  return sys().tee(from, to, count, flags);
}

RSOCK_EXPORT ssize_t vmsplice(int fd, const iovec* parts, size_t count, unsigned int flags) {
  return sys().vmsplice(fd, parts, count, flags);
}
