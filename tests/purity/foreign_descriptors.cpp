// Cases of foreign_fds.cpp: calls that make, name, change or end descriptors.
#include <gnu/lib-names.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>

#include "tests/purity/foreign_cases.h"

namespace rsock::purity {

namespace {

constexpr char kNull[] = "/dev/null";
constexpr char kNowhere[] = "/nonexistent/file";
constexpr mode_t kMode = 0604;

// Whether `fd` is open, seen past the library.
long is_open(int fd) { return native_api().fcntl(fd, F_GETFD); }

// The result of a call that ends `f.fd`, with what became of the descriptor.
long ended(Fixture& f, long result) {
  f.observed = is_open(f.fd);
  return result;
}

// The result of a call that makes a descriptor: the number itself is compared, and its flags.
long made(Fixture& f, long fd) {
  f.observed = fd < 0 ? 0 : native_api().fcntl(static_cast<int>(fd), F_GETFD);
  return fd;
}

long made_two(Fixture& f, long result, const int (&fds)[2]) {
  std::memcpy(f.buffer, fds, sizeof(fds));
  return result;
}

// The mode that open() was given must have arrived.
long made_file(Fixture& f, long fd) {
  struct stat status {};
  if (fd >= 0) fstat(static_cast<int>(fd), &status);
  f.observed = status.st_mode;
  return fd;
}

template <typename Function>
long call_naming(Function function, Fixture& f) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  const long result = function(reinterpret_cast<sockaddr*>(&address), &length);
  f.observed = address.ss_family;  // Ports differ from one fixture to the next.
  return result;
}

template <typename Function>
long call_with_address(Function function) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return function(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

template <typename Block, typename Start>
long call_aio(Start start, Fixture& f) {
  Block block{};
  block.aio_fildes = f.fd;
  block.aio_buf = f.buffer;
  block.aio_nbytes = 4;
  block.aio_lio_opcode = LIO_READ;
  const auto* waited = reinterpret_cast<const aiocb*>(&block);  // Of one layout with 64 bits.
  const long result = start(&block);
  while (aio_error(waited) == EINPROGRESS) aio_suspend(&waited, 1, nullptr);
  f.observed = aio_error(waited);
  return result;
}

long is_stream(FILE* stream) { return stream != nullptr ? 1 : 0; }

int spawned_status(FILE* stream) { return stream == nullptr ? -1 : pclose(stream); }

// clang-format off
constexpr ForeignCase kCases[] = {
  FOREIGN_CASE_WITH(kOnce, socket, return made(f, api.socket(AF_UNIX, SOCK_STREAM, 0));)
  FOREIGN_CASE_WITH(kOnce, socket,
    return made(f, api.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));)
  FOREIGN_CASE_WITH(kOnce, socket, return made(f, api.socket(-1, SOCK_STREAM, 0));)
  FOREIGN_CASE_WITH(kOnce, __socket, return made(f, api.__socket(AF_INET6, SOCK_DGRAM, 0));)
  FOREIGN_CASE_WITH(kOnce, socketpair, int fds[2] = {};
    const int result = api.socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
    return made_two(f, result, fds);)
  FOREIGN_CASE(accept, return made(f, api.accept(f.fd, nullptr, nullptr));)
  FOREIGN_CASE(accept4, return made(f, api.accept4(f.fd, nullptr, nullptr, SOCK_CLOEXEC));)
  FOREIGN_CASE(accept4, return made(f, api.accept4(f.fd, nullptr, nullptr, -1));)
  FOREIGN_CASE(close, return ended(f, api.close(f.fd));)
  FOREIGN_CASE(__close, return ended(f, api.__close(f.fd));)
  FOREIGN_CASE(close_range, const auto fd = static_cast<unsigned int>(f.fd);
    return ended(f, api.close_range(fd, fd, 0));)
  FOREIGN_CASE(close_range, const auto fd = static_cast<unsigned int>(f.fd);
    return ended(f, api.close_range(fd, fd, CLOSE_RANGE_CLOEXEC));)
  FOREIGN_CASE(close_range, return ended(f, api.close_range(9, 8, 0));)
  FOREIGN_CASE(close_range, return ended(f, api.close_range(Fixture::kUnused, ~0U, ~0));)
  FOREIGN_CASE(closefrom, api.closefrom(std::max(f.fd, Fixture::kFirstDescriptor));
    return ended(f, 0);)
  FOREIGN_CASE(shutdown, return api.shutdown(f.fd, SHUT_WR);)
  FOREIGN_CASE(dup, return made(f, api.dup(f.fd));)
  FOREIGN_CASE(dup2, return made(f, api.dup2(f.fd, Fixture::kUnused));)
  FOREIGN_CASE(dup2, return made(f, api.dup2(f.fd, f.file));)
  FOREIGN_CASE(dup2, return made(f, api.dup2(f.file, f.fd == INT_MAX ? -1 : f.fd));)
  FOREIGN_CASE(dup2, return made(f, api.dup2(f.fd, f.fd));)
  FOREIGN_CASE(__dup2, return made(f, api.__dup2(f.fd, -1));)
  FOREIGN_CASE(dup3, return made(f, api.dup3(f.fd, Fixture::kUnused, O_CLOEXEC));)
  FOREIGN_CASE(dup3, return made(f, api.dup3(f.fd, f.fd, 0));)

  FOREIGN_CASE(bind, return call_with_address([&](const sockaddr* address, socklen_t length) {
    return api.bind(f.fd, address, length); });)
  FOREIGN_CASE(listen, return api.listen(f.fd, 1);)
  FOREIGN_CASE(connect, return call_with_address([&](const sockaddr* address, socklen_t length) {
    return api.connect(f.fd, address, length); });)
  FOREIGN_CASE(__connect, return call_with_address([&](const sockaddr* address, socklen_t length) {
    return api.__connect(f.fd, address, length); });)
  FOREIGN_CASE(getsockname, return call_naming([&](sockaddr* address, socklen_t* length) {
    return api.getsockname(f.fd, address, length); }, f);)
  FOREIGN_CASE(getpeername, return call_naming([&](sockaddr* address, socklen_t* length) {
    return api.getpeername(f.fd, address, length); }, f);)

  FOREIGN_CASE(getsockopt, socklen_t length = sizeof(int);
    return api.getsockopt(f.fd, SOL_SOCKET, SO_TYPE, f.buffer, &length);)
  FOREIGN_CASE(setsockopt, const int on = 1;
    return api.setsockopt(f.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));)
  FOREIGN_CASE(setsockopt, const int on = 1;
    return api.setsockopt(f.fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));)
  FOREIGN_CASE(fcntl, return api.fcntl(f.fd, F_GETFL);)
  FOREIGN_CASE(fcntl, return api.fcntl(f.fd, F_SETFD, FD_CLOEXEC);)
  FOREIGN_CASE(fcntl, return made(f, api.fcntl(f.fd, F_DUPFD, Fixture::kUnused + 1));)
  FOREIGN_CASE(fcntl, return api.fcntl(f.fd, -1, 0);)
  FOREIGN_CASE(fcntl64, return made(f, api.fcntl64(f.fd, F_DUPFD_CLOEXEC, 0));)
  FOREIGN_CASE(__fcntl, return api.__fcntl(f.fd, F_SETFL, O_NONBLOCK);)
  FOREIGN_CASE(ioctl, return api.ioctl(f.fd, FIONREAD, f.buffer);)
  FOREIGN_CASE(ioctl, return api.ioctl(f.fd, FIONREAD, nullptr);)
  FOREIGN_CASE(sockatmark, return api.sockatmark(f.fd);)
  FOREIGN_CASE(isfdtype, return api.isfdtype(f.fd, S_IFSOCK);)

  FOREIGN_CASE_WITH(kUsesStdio, fdopen, return is_stream(api.fdopen(f.fd, "r"));)
  FOREIGN_CASE_WITH(kUsesStdio, fclose, FILE* stream = native_api().fdopen(f.fd, "r");
    return stream == nullptr ? 0 : ended(f, api.fclose(stream));)
  FOREIGN_CASE_WITH(kUsesStdio, freopen, FILE* stream = native_api().fdopen(f.fd, "r");
    return stream == nullptr ? 0 : ended(f, is_stream(api.freopen(kNull, "r", stream)));)
  FOREIGN_CASE_WITH(kUsesStdio, freopen, FILE* stream = native_api().fdopen(f.fd, "r");
    return stream == nullptr ? 0 : ended(f, is_stream(api.freopen(kNowhere, "r", stream)));)
  FOREIGN_CASE_WITH(kUsesStdio, freopen64, FILE* stream = native_api().fdopen(f.fd, "r");
    return stream == nullptr ? 0 : ended(f, is_stream(api.freopen64(kNull, "r", stream)));)
  FOREIGN_CASE_WITH(kUsesStdio, _IO_fdopen, return is_stream(api._IO_fdopen(f.fd, "r"));)
  FOREIGN_CASE_WITH(kUsesStdio, _IO_fclose, FILE* stream = native_api().fdopen(f.fd, "r");
    return stream == nullptr ? 0 : ended(f, api._IO_fclose(stream));)
  {"_IO_fopen", ForeignCase::Flags(ForeignCase::kOnce | ForeignCase::kUsesStdio),
   [](const Api& api, Fixture&) -> long { return is_stream(api._IO_fopen(kNull, "r")); }},
  {"_IO_popen", ForeignCase::Flags(ForeignCase::kOnce | ForeignCase::kUsesStdio),
   [](const Api& api, Fixture&) -> long { return spawned_status(api._IO_popen("exit 3", "r")); }},
  {"fopen", ForeignCase::Flags(ForeignCase::kOnce | ForeignCase::kUsesStdio),
   [](const Api& api, Fixture&) -> long { return is_stream(api.fopen(kNull, "r")); }},
  {"fopen64", ForeignCase::Flags(ForeignCase::kOnce | ForeignCase::kUsesStdio),
   [](const Api& api, Fixture&) -> long { return is_stream(api.fopen64(kNowhere, "r")); }},
  {"popen", ForeignCase::Flags(ForeignCase::kOnce | ForeignCase::kUsesStdio),
   [](const Api& api, Fixture&) -> long { return spawned_status(api.popen("exit 3", "r")); }},
  {"dlopen", ForeignCase::Flags(ForeignCase::kOnce | ForeignCase::kUsesStdio),
   [](const Api& api, Fixture&) -> long {
     return api.dlopen(LIBC_SO, RTLD_NOW | RTLD_NOLOAD) != nullptr ? 1 : 0; }},
  FOREIGN_CASE_WITH(kUsesThread, aio_read,
    return call_aio<aiocb>([&](aiocb* block) { return api.aio_read(block); }, f);)
  FOREIGN_CASE_WITH(kUsesThread, aio_read64,
    return call_aio<aiocb64>([&](aiocb64* block) { return api.aio_read64(block); }, f);)
  FOREIGN_CASE_WITH(kUsesThread, aio_write,
    return call_aio<aiocb>([&](aiocb* block) { return api.aio_write(block); }, f);)
  FOREIGN_CASE_WITH(kUsesThread, aio_write64,
    return call_aio<aiocb64>([&](aiocb64* block) { return api.aio_write64(block); }, f);)
  FOREIGN_CASE_WITH(kUsesThread, lio_listio, return call_aio<aiocb>([&](aiocb* block) {
    aiocb* const list[] = {nullptr, block};
    return api.lio_listio(LIO_WAIT, list, 2, nullptr); }, f);)
  FOREIGN_CASE_WITH(kUsesThread, lio_listio64, return call_aio<aiocb64>([&](aiocb64* block) {
    aiocb64* const list[] = {block}; return api.lio_listio64(LIO_NOWAIT, list, 1, nullptr); }, f);)

  FOREIGN_CASE_WITH(kOnce, open, return made(f, api.open(kNull, O_RDONLY | O_CLOEXEC));)
  FOREIGN_CASE_WITH(kOnce, open, return made(f, api.open(kNowhere, O_RDONLY));)
  FOREIGN_CASE_WITH(kOnce, open,
    return made_file(f, api.open(P_tmpdir, O_TMPFILE | O_RDWR, kMode));)
  FOREIGN_CASE_WITH(kOnce, open64,
    return made_file(f, api.open64(P_tmpdir, O_TMPFILE | O_RDWR, kMode));)
  FOREIGN_CASE_WITH(kOnce, __open,
    return made_file(f, api.__open(P_tmpdir, O_TMPFILE | O_RDWR, kMode));)
  FOREIGN_CASE_WITH(kOnce, __open64,
    return made_file(f, api.__open64(P_tmpdir, O_TMPFILE | O_RDWR, kMode));)
  FOREIGN_CASE_WITH(kOnce, __open_2, return made(f, api.__open_2(kNull, O_RDONLY));)
  FOREIGN_CASE_WITH(kOnce, __open64_2, return made(f, api.__open64_2(kNull, O_RDONLY));)
  FOREIGN_CASE(openat, return made(f, api.openat(f.fd, "dev/null", O_RDONLY));)
  FOREIGN_CASE_WITH(kOnce, openat,
    return made_file(f, api.openat(AT_FDCWD, P_tmpdir, O_TMPFILE | O_RDWR, kMode));)
  FOREIGN_CASE(openat64, return made(f, api.openat64(f.fd, "dev/null", O_RDONLY));)
  FOREIGN_CASE(__openat_2, return made(f, api.__openat_2(f.fd, "dev/null", O_RDONLY));)
  FOREIGN_CASE(__openat64_2, return made(f, api.__openat64_2(f.fd, "dev/null", O_RDONLY));)
  FOREIGN_CASE_WITH(kOnce, creat, return made(f, api.creat(kNull, kMode));)
  FOREIGN_CASE_WITH(kOnce, creat64, return made(f, api.creat64(kNowhere, kMode));)
  FOREIGN_CASE_WITH(kOnce, pipe, int fds[2] = {}; const int result = api.pipe(fds);
    return made_two(f, result, fds);)
  FOREIGN_CASE_WITH(kOnce, pipe, return api.pipe(nullptr);)
  FOREIGN_CASE_WITH(kOnce, __pipe, int fds[2] = {}; const int result = api.__pipe(fds);
    return made_two(f, result, fds);)
  FOREIGN_CASE_WITH(kOnce, pipe2, int fds[2] = {}; const int result = api.pipe2(fds, -1);
    return made_two(f, result, fds);)
  FOREIGN_CASE_WITH(kOnce, eventfd, return made(f, api.eventfd(1, EFD_CLOEXEC));)
  FOREIGN_CASE_WITH(kOnce, timerfd_create, return made(f, api.timerfd_create(CLOCK_MONOTONIC, 0));)
  FOREIGN_CASE(signalfd, sigset_t mask; sigemptyset(&mask);
    return made(f, api.signalfd(f.fd, &mask, 0));)
  FOREIGN_CASE_WITH(kOnce, memfd_create, return made(f, api.memfd_create("made", MFD_CLOEXEC));)
  FOREIGN_CASE_WITH(kOnce, inotify_init, return made(f, api.inotify_init());)
  FOREIGN_CASE_WITH(kOnce, inotify_init1, return made(f, api.inotify_init1(-1));)
  FOREIGN_CASE_WITH(kOnce, pidfd_open, return made(f, api.pidfd_open(getpid(), 0));)
  FOREIGN_CASE(open_by_handle_at, return made(f, api.open_by_handle_at(f.fd, nullptr, O_RDONLY));)
  FOREIGN_CASE_WITH(kOnce, fanotify_init, return made(f, api.fanotify_init(~0U, 0));)
  FOREIGN_CASE_WITH(kOnce, prctl, return api.prctl(PR_GET_DUMPABLE);)
  FOREIGN_CASE_WITH(kOnce, prctl, return api.prctl(PR_SET_SECCOMP, ~0UL);)
  FOREIGN_CASE(pidfd_getfd, return made(f, api.pidfd_getfd(f.fd, 0, 0));)

  FOREIGN_CASE(syscall, return ended(f, api.syscall(SYS_close, f.fd));)
  FOREIGN_CASE(syscall, return made(f, api.syscall(SYS_dup, f.fd));)
  FOREIGN_CASE(syscall, return made(f, api.syscall(SYS_dup2, f.fd, Fixture::kUnused));)
  FOREIGN_CASE(syscall, return made(f, api.syscall(SYS_dup3, f.fd, f.fd, 0L));)
  FOREIGN_CASE(syscall, return made(f, api.syscall(SYS_fcntl, f.fd, F_DUPFD, 0L));)
  FOREIGN_CASE(syscall, return made(f, api.syscall(SYS_accept4, f.fd, 0L, 0L, 0L));)
  FOREIGN_CASE(syscall, return ended(f, api.syscall(SYS_close_range, f.fd, f.fd, 0L));)
  FOREIGN_CASE_WITH(kOnce, syscall, return made(f, api.syscall(SYS_eventfd2, 0L, 0L));)
};
// clang-format on

constexpr char kProcess[] = "makes a process: processes.cpp, vfork_child.cpp";
constexpr char kReplaces[] = "takes no descriptor and replaces the process: processes.cpp";
constexpr char kEnds[] = "takes no descriptor and ends the process: processes.cpp";

constexpr Exception kExceptions[] = {
    {"fork", kProcess},        {"__fork", kProcess},       {"__libc_fork", kProcess},
    {"_Fork", kProcess},       {"vfork", kProcess},        {"__vfork", kProcess},
    {"clone", kProcess},       {"__clone", kProcess},      {"daemon", kProcess},
    {"posix_spawn", kProcess}, {"posix_spawnp", kProcess}, {"execve", kReplaces},
    {"execv", kReplaces},      {"execvp", kReplaces},      {"execvpe", kReplaces},
    {"execl", kReplaces},      {"execlp", kReplaces},      {"execle", kReplaces},
    {"execveat", kReplaces},   {"fexecve", kReplaces},     {"exit", kEnds},
    {"_exit", kEnds},          {"_Exit", kEnds},           {"quick_exit", kEnds},
    {"abort", kEnds},
};

}  // namespace

ListOf<ForeignCase> descriptor_cases() { return {kCases, std::size(kCases)}; }
ListOf<Exception> case_exceptions() { return {kExceptions, std::size(kExceptions)}; }

}  // namespace rsock::purity
