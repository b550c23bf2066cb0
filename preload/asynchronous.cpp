// POSIX asynchronous I/O: libc's own threads read and write, so a socket used this way stays on
// TCP.
#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;

namespace {

// Before the call: once the transfer has begun, the program may have freed the block by the time
// that the call returns.
template <typename Block, typename Call>
int start(Block* block, Call call) {
  edge::pin_socket(block->aio_fildes, rsock::stats::Reason::posix_aio);
  return call();
}

template <typename Block, typename Call>
int start_list(Block* const* blocks, int count, Call call) {
  for (int index = 0; index < count; ++index) {
    if (blocks[index] != nullptr) {
      edge::pin_socket(blocks[index]->aio_fildes, rsock::stats::Reason::posix_aio);
    }
  }
  return call();
}

}  // namespace

RSOCK_EXPORT int aio_read(aiocb* block) {
  return start(block, [=] { return sys().aio_read(block); });
}

RSOCK_EXPORT int aio_read64(aiocb64* block) {
  return start(block, [=] { return sys().aio_read64(block); });
}

RSOCK_EXPORT int aio_write(aiocb* block) {
  return start(block, [=] { return sys().aio_write(block); });
}

RSOCK_EXPORT int aio_write64(aiocb64* block) {
  return start(block, [=] { return sys().aio_write64(block); });
}

RSOCK_EXPORT int lio_listio(int mode, aiocb* const* blocks, int count, sigevent* event) {
  return start_list(blocks, count, [=] { return sys().lio_listio(mode, blocks, count, event); });
}

RSOCK_EXPORT int lio_listio64(int mode, aiocb64* const* blocks, int count, sigevent* event) {
  return start_list(blocks, count, [=] { return sys().lio_listio64(mode, blocks, count, event); });
}
