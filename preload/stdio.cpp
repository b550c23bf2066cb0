// stdio reads, writes and closes inside libc, where nothing of ours is called. So a socket that
// becomes a stream stays on TCP, and a stream that ends takes the slot of its descriptor along.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

namespace {

// The descriptor of `stream`, or -1, without touching errno.
int descriptor_of(FILE* stream) {
  const edge::ErrnoKeeper keeper;
  return fileno(stream);
}

template <typename Call>
FILE* make_stream(Call call) {
  FILE* stream = call();
  if (stream != nullptr) edge::table().purge_stale(descriptor_of(stream));
  return stream;
}

template <typename Call>
FILE* open_stream(int fd, Call call) {
  FILE* stream = call();
  if (stream != nullptr) edge::pin_socket(fd, rsock::stats::Reason::stdio);
  return stream;
}

template <typename Call>
FILE* reopen_stream(FILE* stream, Call call) {
  edge::table().forget(descriptor_of(stream));
  return make_stream(call);
}

}  // namespace

RSOCK_EXPORT FILE* fopen(const char* path, const char* mode) {
  return make_stream([=] { return sys().fopen(path, mode); });
}

RSOCK_EXPORT FILE* fopen64(const char* path, const char* mode) {
  return make_stream([=] { return sys().fopen64(path, mode); });
}

// Old names of libc's, for programs that were linked long ago.
RSOCK_EXPORT FILE* _IO_fopen(const char* path, const char* mode) {
  return make_stream([=] { return sys()._IO_fopen(path, mode); });
}

RSOCK_EXPORT FILE* _IO_fdopen(int fd, const char* mode) {
  return open_stream(fd, [=] { return sys()._IO_fdopen(fd, mode); });
}

RSOCK_EXPORT int _IO_fclose(FILE* stream) {
  edge::table().forget(descriptor_of(stream));
  return sys()._IO_fclose(stream);
}

RSOCK_EXPORT FILE* _IO_popen(const char* command, const char* mode) {
  return make_stream([=] { return sys()._IO_popen(command, mode); });
}

RSOCK_EXPORT FILE* popen(const char* command, const char* mode) {
  return make_stream([=] { return sys().popen(command, mode); });
}

RSOCK_EXPORT FILE* fdopen(int fd, const char* mode) {
  return open_stream(fd, [=] { return sys().fdopen(fd, mode); });
}

RSOCK_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return reopen_stream(stream, [=] { return sys().freopen(path, mode, stream); });
}

RSOCK_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return reopen_stream(stream, [=] { return sys().freopen64(path, mode, stream); });
}

RSOCK_EXPORT int fclose(FILE* stream) {
  edge::table().forget(descriptor_of(stream));
  return sys().fclose(stream);
}
