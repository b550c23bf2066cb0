// Sockets from their making to their connection.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

RSOCK_EXPORT int socket(int domain, int type, int protocol) {
  return edge::make_socket(domain, type, protocol,
                           [=] { return sys().socket(domain, type, protocol); });
}

RSOCK_EXPORT int __socket(int domain, int type, int protocol) {
  return edge::make_socket(domain, type, protocol,
                           [=] { return sys().__socket(domain, type, protocol); });
}

RSOCK_EXPORT int socketpair(int domain, int type, int protocol, int fds[2]) {
  return edge::make_descriptor_pair(fds,
                                    [=] { return sys().socketpair(domain, type, protocol, fds); });
}

RSOCK_EXPORT int accept(int fd, sockaddr* address, socklen_t* length) {
  return edge::accept_on(fd, address, length, [=](sockaddr* peer, socklen_t* peer_length) {
    return sys().accept(fd, peer, peer_length);
  });
}

RSOCK_EXPORT int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  return edge::accept_on(fd, address, length, [=](sockaddr* peer, socklen_t* peer_length) {
    return sys().accept4(fd, peer, peer_length, flags);
  });
}

RSOCK_EXPORT int bind(int fd, const sockaddr* address, socklen_t length) {
  return sys().bind(fd, address, length);
}

RSOCK_EXPORT int listen(int fd, int backlog) {
  return edge::listen_on(fd, [=] { return sys().listen(fd, backlog); });
}

RSOCK_EXPORT int connect(int fd, const sockaddr* address, socklen_t length) {
  return edge::connect_to(fd, address, [=] { return sys().connect(fd, address, length); });
}

RSOCK_EXPORT int __connect(int fd, const sockaddr* address, socklen_t length) {
  return edge::connect_to(fd, address, [=] { return sys().__connect(fd, address, length); });
}

RSOCK_EXPORT int getsockname(int fd, sockaddr* address, socklen_t* length) {
  return sys().getsockname(fd, address, length);
}

RSOCK_EXPORT int getpeername(int fd, sockaddr* address, socklen_t* length) {
  return sys().getpeername(fd, address, length);
}

RSOCK_EXPORT int shutdown(int fd, int how) { return sys().shutdown(fd, how); }
