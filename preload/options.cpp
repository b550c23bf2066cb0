// Socket options and what else is asked of a descriptor.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

RSOCK_EXPORT int getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  return sys().getsockopt(fd, level, name, value, length);
}

RSOCK_EXPORT int setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  return edge::set_option(fd, level, name, value, length,
                          [=] { return sys().setsockopt(fd, level, name, value, length); });
}

// The kernel takes one word after the request, whatever its type.
RSOCK_EXPORT int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return sys().ioctl(fd, request, argument);
}

RSOCK_EXPORT int sockatmark(int fd) { return sys().sockatmark(fd); }

RSOCK_EXPORT int isfdtype(int fd, int type) { return sys().isfdtype(fd, type); }
