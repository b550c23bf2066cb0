// Descriptors that end or that get a second number.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

RSOCK_EXPORT int close(int fd) {
  return edge::close_descriptor(fd, [=] { return sys().close(fd); });
}

RSOCK_EXPORT int __close(int fd) {
  return edge::close_descriptor(fd, [=] { return sys().__close(fd); });
}

RSOCK_EXPORT int close_range(unsigned int first, unsigned int last, int flags) {
  return static_cast<int>(edge::close_ranges(
      first, last, flags,
      [=](unsigned int from, unsigned int to) { return sys().close_range(from, to, flags); }));
}

RSOCK_EXPORT void closefrom(int low) {
  const unsigned int first = low < 0 ? 0 : static_cast<unsigned int>(low);
  const long result = edge::close_ranges(
      first, UINT_MAX, 0,
      [](unsigned int from, unsigned int to) { return sys().close_range(from, to, 0); });
  // Without close_range(2) libc walks through /proc; it then closes ours too.
  if (result != 0) sys().closefrom(low);
}

RSOCK_EXPORT int dup(int fd) {
  return edge::duplicate(fd, [=] { return sys().dup(fd); });
}

RSOCK_EXPORT int dup2(int from, int to) {
  return edge::duplicate_onto(from, to, [=] { return sys().dup2(from, to); });
}

RSOCK_EXPORT int __dup2(int from, int to) {
  return edge::duplicate_onto(from, to, [=] { return sys().__dup2(from, to); });
}

RSOCK_EXPORT int dup3(int from, int to, int flags) {
  return edge::duplicate_onto(from, to, [=] { return sys().dup3(from, to, flags); });
}

// The kernel takes one word after the command, whatever its type. Under 64 bits the three names
// are one function.
RSOCK_EXPORT int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return edge::control(fd, command, [=] { return sys().fcntl(fd, command, argument); });
}

RSOCK_EXPORT int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return edge::control(fd, command, [=] { return sys().fcntl64(fd, command, argument); });
}

RSOCK_EXPORT int __fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return edge::control(fd, command, [=] { return sys().__fcntl(fd, command, argument); });
}
