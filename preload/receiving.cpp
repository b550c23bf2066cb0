// Calls that take bytes out of a descriptor.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

RSOCK_EXPORT ssize_t read(int fd, void* buffer, size_t count) {
  return edge::receive(fd, 0, [=] { return sys().read(fd, buffer, count); });
}

RSOCK_EXPORT ssize_t __read(int fd, void* buffer, size_t count) {
  return edge::receive(fd, 0, [=] { return sys().__read(fd, buffer, count); });
}

RSOCK_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t count, size_t buffer_bytes) {
  return edge::receive(fd, 0, [=] { return sys().__read_chk(fd, buffer, count, buffer_bytes); });
}

RSOCK_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  return edge::receive(fd, 0, [=] { return sys().readv(fd, parts, count); });
}

RSOCK_EXPORT ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return edge::receive(fd, 0, [=] { return sys().preadv2(fd, parts, count, offset, flags); });
}

RSOCK_EXPORT ssize_t preadv64v2(int fd, const iovec* parts, int count, off64_t offset, int flags) {
  return edge::receive(fd, 0, [=] { return sys().preadv64v2(fd, parts, count, offset, flags); });
}

RSOCK_EXPORT ssize_t recv(int fd, void* buffer, size_t count, int flags) {
  return edge::receive(fd, flags, [=] { return sys().recv(fd, buffer, count, flags); });
}

RSOCK_EXPORT ssize_t __recv(int fd, void* buffer, size_t count, int flags) {
  return edge::receive(fd, flags, [=] { return sys().__recv(fd, buffer, count, flags); });
}

RSOCK_EXPORT ssize_t __recv_chk(int fd, void* buffer, size_t count, size_t buffer_bytes,
                                int flags) {
  return edge::receive(fd, flags,
                       [=] { return sys().__recv_chk(fd, buffer, count, buffer_bytes, flags); });
}

RSOCK_EXPORT ssize_t recvfrom(int fd, void* buffer, size_t count, int flags, sockaddr* address,
                              socklen_t* length) {
  return edge::receive(fd, flags,
                       [=] { return sys().recvfrom(fd, buffer, count, flags, address, length); });
}

RSOCK_EXPORT ssize_t __recvfrom_chk(int fd, void* buffer, size_t count, size_t buffer_bytes,
                                    int flags, sockaddr* address, socklen_t* length) {
  return edge::receive(fd, flags, [=] {
    return sys().__recvfrom_chk(fd, buffer, count, buffer_bytes, flags, address, length);
  });
}

RSOCK_EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return edge::receive_message(fd, message, flags,
                               [=] { return sys().recvmsg(fd, message, flags); });
}

RSOCK_EXPORT int recvmmsg(int fd, mmsghdr* messages, unsigned int count, int flags,
                          timespec* timeout) {
  return edge::receive_messages(
      fd, messages, flags, [=] { return sys().recvmmsg(fd, messages, count, flags, timeout); });
}
