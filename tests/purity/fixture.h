#pragma once

#include <cstddef>

namespace rsock::purity {

// What a descriptor under test may be. Data waits in each that can hold some, and none blocks.
#define PURITY_KINDS(X) \
  X(pipe_reader)        \
  X(pipe_writer)        \
  X(file)               \
  X(directory)          \
  X(unix_stream)        \
  X(event_counter)      \
  X(udp)                \
  X(tcp)                \
  X(tcp_listener)       \
  X(not_open)           \
  X(negative)           \
  X(huge)

enum class Kind : unsigned char {
#define PURITY_KIND(name) name,
  PURITY_KINDS(PURITY_KIND)
#undef PURITY_KIND
};

inline constexpr Kind kKinds[] = {
#define PURITY_KIND(name) Kind::name,
    PURITY_KINDS(PURITY_KIND)
#undef PURITY_KIND
};

inline constexpr const char* kKindNames[] = {
#define PURITY_KIND(name) #name,
    PURITY_KINDS(PURITY_KIND)
#undef PURITY_KIND
};

inline constexpr std::size_t kBufferBytes = 128;

// The descriptors of one call. Made anew for each, always in the same way, so that two calls that
// do the same also get the same numbers. The destructor closes all that is open from
// kFirstDescriptor up to the library's own.
class Fixture {
 public:
  static constexpr int kFirstDescriptor = 3;
  static constexpr unsigned int kLastDescriptor = 900;
  // A number that nothing has.
  static constexpr int kUnused = 200;

  explicit Fixture(Kind kind);
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture();

  int fd = -1;           // the descriptor under test
  int peer = -1;         // its other end, if it has one
  int pipe_reader = -1;  // a pipe with data and with room, for calls that take two descriptors
  int pipe_writer = -1;
  int file = -1;
  int epoll = -1;

  // Bad arguments, which the compiler must not see through.
  void* volatile nowhere = nullptr;
  volatile int minus_one = -1;

  // What the call read, and what else the case saw: compared between the two implementations.
  char buffer[kBufferBytes] = {};
  long observed = 0;

 private:
  void make(Kind kind);
  void make_pipe(bool reader);
  void make_unix_stream();
  void make_event_counter();
  void make_udp();
  void make_tcp(bool listener);
};

}  // namespace rsock::purity
