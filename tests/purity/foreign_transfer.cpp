// Cases of foreign_fds.cpp: calls that move bytes or wait for them.
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "tests/purity/foreign_cases.h"

namespace rsock::purity {

namespace {

constexpr std::size_t kBytes = 8;

// The buffer as a message of two parts with room for control data.
struct Message {
  explicit Message(Fixture& f) : parts{{f.buffer, kBytes}, {f.buffer + kBytes, kBytes}}, header{} {
    header.msg_iov = parts;
    header.msg_iovlen = std::size(parts);
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }

  iovec parts[2];
  alignas(cmsghdr) char control[64] = {};
  msghdr header;
};

struct Messages {
  explicit Messages(Fixture& f) : message(f) {
    headers[0].msg_hdr = message.header;
    headers[0].msg_hdr.msg_controllen = 0;
  }

  Message message;
  mmsghdr headers[1] = {};
};

fd_set set_of(int fd) {
  fd_set set;
  FD_ZERO(&set);
  if (fd >= 0 && fd < FD_SETSIZE) FD_SET(fd, &set);
  return set;
}

int count_of(int fd) { return fd >= 0 && fd < FD_SETSIZE ? fd + 1 : 0; }

template <typename Select, typename Time>
long call_select(Select select_function, Fixture& f, Time time) {
  fd_set readable = set_of(f.fd);
  fd_set writable = set_of(f.fd);
  const long result = select_function(count_of(f.fd), &readable, &writable, &time);
  std::memcpy(f.buffer, &readable, kBytes);
  std::memcpy(f.buffer + kBytes, &writable, kBytes);
  return result;
}

template <typename Poll>
long call_poll(Poll poll_function, Fixture& f) {
  pollfd waited{f.fd, POLLIN | POLLOUT, 0};
  const long result = poll_function(&waited);
  f.observed = waited.revents;
  return result;
}

template <typename Wait>
long call_epoll(Wait wait_function, int set, Fixture& f) {
  epoll_event event{};
  const long result = wait_function(set, &event);
  f.observed = static_cast<long>(event.events);
  return result;
}

// A list of one argument, for "%d".
template <typename Function>
long with_list(Function function, int dummy, ...) {
  va_list list;
  va_start(list, dummy);
  const long result = function(list);
  va_end(list);
  return result;
}

constexpr timespec kNoTime{0, 0};

// clang-format off
constexpr ForeignCase kCases[] = {
  FOREIGN_CASE(read, return api.read(f.fd, f.buffer, kBytes);)
  FOREIGN_CASE(read, return api.read(f.fd, f.nowhere, kBytes);)
  FOREIGN_CASE(__read, return api.__read(f.fd, f.buffer, kBytes);)
  FOREIGN_CASE(__read_chk, return api.__read_chk(f.fd, f.buffer, kBytes, sizeof(f.buffer));)
  FOREIGN_CASE(readv, return api.readv(f.fd, Message(f).parts, 2);)
  FOREIGN_CASE(readv, return api.readv(f.fd, nullptr, f.minus_one);)
  FOREIGN_CASE(preadv2, return api.preadv2(f.fd, Message(f).parts, 2, -1, 0);)
  FOREIGN_CASE(preadv2, return api.preadv2(f.fd, Message(f).parts, 2, 3, 0);)
  FOREIGN_CASE(preadv64v2, return api.preadv64v2(f.fd, Message(f).parts, 2, -1, 0);)
  FOREIGN_CASE(recv, return api.recv(f.fd, f.buffer, kBytes, MSG_PEEK);)
  FOREIGN_CASE(recv, return api.recv(f.fd, f.buffer, kBytes, MSG_OOB);)
  FOREIGN_CASE(__recv, return api.__recv(f.fd, f.buffer, kBytes, 0);)
  FOREIGN_CASE(__recv_chk, return api.__recv_chk(f.fd, f.buffer, kBytes, sizeof(f.buffer), 0);)
  FOREIGN_CASE(recvfrom, return api.recvfrom(f.fd, f.buffer, kBytes, MSG_TRUNC, nullptr, nullptr);)
  FOREIGN_CASE(__recvfrom_chk,
    return api.__recvfrom_chk(f.fd, f.buffer, kBytes, sizeof(f.buffer), 0, nullptr, nullptr);)
  FOREIGN_CASE(recvmsg, Message message(f); return api.recvmsg(f.fd, &message.header, 0);)
  FOREIGN_CASE(recvmmsg, Messages messages(f);
    return api.recvmmsg(f.fd, messages.headers, 1, MSG_DONTWAIT, nullptr);)

  FOREIGN_CASE(write, return api.write(f.fd, "message", kBytes);)
  FOREIGN_CASE(write, return api.write(f.fd, f.nowhere, kBytes);)
  FOREIGN_CASE(__write, return api.__write(f.fd, "message", kBytes);)
  FOREIGN_CASE(writev, return api.writev(f.fd, Message(f).parts, 2);)
  FOREIGN_CASE(pwritev2, return api.pwritev2(f.fd, Message(f).parts, 2, -1, 0);)
  FOREIGN_CASE(pwritev64v2, return api.pwritev64v2(f.fd, Message(f).parts, 2, -1, 0);)
  FOREIGN_CASE(send, return api.send(f.fd, "message", kBytes, MSG_NOSIGNAL);)
  FOREIGN_CASE(send, return api.send(f.fd, "message", kBytes, MSG_OOB | MSG_NOSIGNAL);)
  FOREIGN_CASE(__send, return api.__send(f.fd, "message", kBytes, MSG_NOSIGNAL);)
  FOREIGN_CASE(sendto, return api.sendto(f.fd, "message", kBytes, MSG_NOSIGNAL, nullptr, 0);)
  FOREIGN_CASE(sendto,
    return api.sendto(f.fd, "message", kBytes, MSG_NOSIGNAL | MSG_FASTOPEN, nullptr, 0);)
  FOREIGN_CASE(sendmsg, Message message(f); message.header.msg_controllen = 0;
    return api.sendmsg(f.fd, &message.header, MSG_NOSIGNAL);)
  FOREIGN_CASE(sendmmsg, Messages messages(f);
    return api.sendmmsg(f.fd, messages.headers, 1, MSG_NOSIGNAL);)
  FOREIGN_CASE(__sendmmsg, Messages messages(f);
    return api.__sendmmsg(f.fd, messages.headers, 1, MSG_NOSIGNAL);)
  FOREIGN_CASE(sendfile, return api.sendfile(f.fd, f.file, nullptr, kBytes);)
  FOREIGN_CASE(sendfile, off_t offset = 4; const long sent = api.sendfile(f.pipe_writer, f.fd,
    &offset, kBytes); f.observed = offset; return sent;)
  FOREIGN_CASE(sendfile64, off64_t offset = 4; const long sent = api.sendfile64(f.fd, f.file,
    &offset, kBytes); f.observed = offset; return sent;)
  FOREIGN_CASE_WITH(kUsesStdio, dprintf, return api.dprintf(f.fd, "%d %s\n", 12, "text");)
  FOREIGN_CASE_WITH(kUsesStdio, __dprintf_chk,
    return api.__dprintf_chk(f.fd, 1, "%d %s\n", 12, "text");)
  FOREIGN_CASE_WITH(kUsesStdio, vdprintf,
    return with_list([&](va_list list) { return api.vdprintf(f.fd, "%d\n", list); }, 0, 12);)
  FOREIGN_CASE_WITH(kUsesStdio, __vdprintf_chk,
    return with_list([&](va_list list) { return api.__vdprintf_chk(f.fd, 1, "%d\n", list); }, 0,
                     12);)

  FOREIGN_CASE(splice,
    return api.splice(f.fd, nullptr, f.pipe_writer, nullptr, kBytes, SPLICE_F_NONBLOCK);)
  FOREIGN_CASE(splice,
    return api.splice(f.pipe_reader, nullptr, f.fd, nullptr, kBytes, SPLICE_F_NONBLOCK);)
  FOREIGN_CASE(tee, return api.tee(f.fd, f.pipe_writer, kBytes, SPLICE_F_NONBLOCK);)
  FOREIGN_CASE(vmsplice, return api.vmsplice(f.fd, Message(f).parts, 2, SPLICE_F_NONBLOCK);)
  FOREIGN_CASE(copy_file_range,
    return api.copy_file_range(f.file, nullptr, f.fd, nullptr, kBytes, 0);)

  FOREIGN_CASE(poll, return call_poll([&](pollfd* fds) { return api.poll(fds, 1, 0); }, f);)
  FOREIGN_CASE(__poll, return call_poll([&](pollfd* fds) { return api.__poll(fds, 1, 0); }, f);)
  FOREIGN_CASE(__poll_chk,
    return call_poll([&](pollfd* fds) { return api.__poll_chk(fds, 1, 0, sizeof(*fds)); }, f);)
  FOREIGN_CASE(ppoll,
    return call_poll([&](pollfd* fds) { return api.ppoll(fds, 1, &kNoTime, nullptr); }, f);)
  FOREIGN_CASE(__ppoll_chk, return call_poll([&](pollfd* fds) {
    return api.__ppoll_chk(fds, 1, &kNoTime, nullptr, sizeof(*fds)); }, f);)
  FOREIGN_CASE(select, return call_select([&](int count, fd_set* in, fd_set* out, timeval* time) {
    return api.select(count, in, out, nullptr, time); }, f, timeval{});)
  FOREIGN_CASE(__select, return call_select([&](int count, fd_set* in, fd_set* out, timeval* time) {
    return api.__select(count, in, out, nullptr, time); }, f, timeval{});)
  FOREIGN_CASE(pselect, return call_select([&](int count, fd_set* in, fd_set* out, timespec* time) {
    return api.pselect(count, in, out, nullptr, time, nullptr); }, f, timespec{});)
  FOREIGN_CASE_WITH(kOnce, epoll_create, return api.epoll_create(1);)
  FOREIGN_CASE_WITH(kOnce, epoll_create, return api.epoll_create(-1);)
  FOREIGN_CASE_WITH(kOnce, epoll_create1, return api.epoll_create1(EPOLL_CLOEXEC);)
  FOREIGN_CASE(epoll_ctl, epoll_event event{EPOLLIN, {}};
    return api.epoll_ctl(f.epoll, EPOLL_CTL_ADD, f.fd, &event);)
  FOREIGN_CASE(epoll_ctl, return api.epoll_ctl(f.fd, EPOLL_CTL_DEL, f.pipe_reader, nullptr);)
  FOREIGN_CASE(epoll_wait, return call_epoll([&](int set, epoll_event* event) {
    return api.epoll_wait(set, event, 1, 0); }, f.fd, f);)
  FOREIGN_CASE(epoll_wait, return call_epoll([&](int set, epoll_event* event) {
    return api.epoll_wait(set, event, 1, 0); }, f.epoll, f);)
  FOREIGN_CASE(epoll_pwait, return call_epoll([&](int set, epoll_event* event) {
    return api.epoll_pwait(set, event, 1, 0, nullptr); }, f.epoll, f);)
  FOREIGN_CASE(epoll_pwait2, return call_epoll([&](int set, epoll_event* event) {
    return api.epoll_pwait2(set, event, 1, &kNoTime, nullptr); }, f.epoll, f);)

  FOREIGN_CASE(syscall, return api.syscall(SYS_read, f.fd, f.buffer, kBytes);)
  FOREIGN_CASE(syscall, return api.syscall(SYS_write, f.fd, "message", kBytes);)
  FOREIGN_CASE(syscall, return api.syscall(SYS_recvfrom, f.fd, f.buffer, kBytes, 0, 0L, 0L);)
  FOREIGN_CASE(syscall, return api.syscall(SYS_sendto, f.fd, "text", 4L, MSG_NOSIGNAL, 0L, 0L);)
  FOREIGN_CASE(syscall, return call_poll([&](pollfd* fds) {
    return static_cast<int>(api.syscall(SYS_poll, fds, 1L, 0L)); }, f);)
};
// clang-format on

}  // namespace

ListOf<ForeignCase> transfer_cases() { return {kCases, std::size(kCases)}; }

}  // namespace rsock::purity
