#pragma once

#include <atomic>
#include <cstdint>

#include "core/config/limits.h"
#include "core/socket/socket.h"

namespace rsock::socket {

// The sockets themselves: memory, references, generations.
//
// Thread safety: every function, by any thread and any signal handler, at any time; no lock.
//
// Invariants:
//   1. Memory of a socket is used for nothing but sockets, ever.
//   2. A socket with references belongs to their holders; with none it is in the list of free
//      sockets or on its way there.
class SocketPool {
 public:
  // A new socket with one reference, or no handle when there is no room.
  [[nodiscard]] Handle allocate() noexcept;

  // Adds a reference if the socket still is the one that `handle` names.
  [[nodiscard]] bool acquire(Handle handle) noexcept;

  // Takes back a reference. True when it was the last; the caller then cleans up what belongs to
  // the socket and calls free().
  [[nodiscard]] bool release(Handle handle) noexcept;

  // Makes the memory of a socket without references free to use.
  void free(Handle handle) noexcept;

  // The socket. The caller holds a reference.
  [[nodiscard]] Socket& at(Handle handle) noexcept { return *find(handle.index()); }

 private:
  static constexpr std::uint32_t kSocketsPerChunk = config::kSocketsPerChunk;
  static constexpr std::uint32_t kChunks = config::kSocketsMax / kSocketsPerChunk;

  struct Chunk {
    Socket sockets[kSocketsPerChunk];
  };

  [[nodiscard]] Socket* find(std::uint32_t index) noexcept {
    Chunk* chunk = chunks_[index / kSocketsPerChunk].load(std::memory_order_acquire);
    return &chunk->sockets[index % kSocketsPerChunk];
  }
  [[nodiscard]] bool pop_free(std::uint32_t& index) noexcept;
  [[nodiscard]] bool take_unused(std::uint32_t& index) noexcept;

  // Head of the list of free sockets: change counter << 32 | index + 1. The counter keeps a slow
  // pop from mistaking a list that came back to the same head for an unchanged one.
  std::atomic<std::uint64_t> free_head_{0};
  // Sockets from this index on have never been used.
  std::atomic<std::uint32_t> unused_from_{0};
  std::atomic<Chunk*> chunks_[kChunks]{};
};

}  // namespace rsock::socket
