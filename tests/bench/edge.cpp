// The library's own nanoseconds, alone: the bodies of the exported functions, with functions in
// the table that do nothing. "direct" calls such a function as a program calls libc's, through one
// pointer; the others call what the library exports.
#include "preload/edge.h"

#include <benchmark/benchmark.h>

namespace {

namespace edge = rsock::edge;
using edge::sys;

constexpr std::size_t kBufferBytes = 64;

// One byte, so that a followed socket has something to count.
ssize_t read_byte(int, void*, size_t) { return 1; }
ssize_t write_byte(int, const void*, size_t) { return 1; }
int close_nothing(int) { return 0; }

// What preload/ exports under these names.
[[gnu::noinline]] ssize_t shim_read(int fd, void* buffer, size_t count) {
  return edge::receive(fd, 0, [=] { return sys().read(fd, buffer, count); });
}
[[gnu::noinline]] ssize_t shim_write(int fd, const void* buffer, size_t count) {
  return edge::send(fd, 0, [=] { return sys().write(fd, buffer, count); });
}
[[gnu::noinline]] int shim_close(int fd) {
  return edge::close_descriptor(fd, [=] { return sys().close(fd); });
}

// Descriptors of each sort. The numbers in the table's second leaf have no followed neighbour.
constexpr int kFarFromSockets = rsock::config::kFdsPerLeaf;
int foreign_fd = -1;
int followed_fd = -1;

void prepare() {
  followed_fd = sys().socket(AF_INET, SOCK_STREAM, 0);
  foreign_fd = sys().dup(followed_fd);
  const auto followed = edge::table().track(followed_fd, rsock::stats::Role::fresh);
  if (!followed || foreign_fd < 0) std::abort();
  sys().read.set(&read_byte);
  sys().write.set(&write_byte);
  sys().close.set(&close_nothing);
}

template <typename Function, typename... Arguments>
void call_repeatedly(benchmark::State& state, Function function, Arguments... arguments) {
  // As in the table of a program's own links: the compiler knows nothing of the target.
  Function volatile linked = function;
  for (auto _ : state) benchmark::DoNotOptimize(linked(arguments...));
}

char buffer[kBufferBytes];

void add_benchmarks() {
  const auto add = [](const char* name, auto function, auto... arguments) {
    benchmark::RegisterBenchmark(
        name, [=](benchmark::State& state) { call_repeatedly(state, function, arguments...); });
  };
  add("read/direct", &read_byte, foreign_fd, buffer, kBufferBytes);
  add("read/foreign", &shim_read, foreign_fd, buffer, kBufferBytes);
  add("read/far", &shim_read, kFarFromSockets, buffer, kBufferBytes);
  add("read/followed", &shim_read, followed_fd, buffer, kBufferBytes);
  add("write/direct", &write_byte, foreign_fd, buffer, kBufferBytes);
  add("write/foreign", &shim_write, foreign_fd, buffer, kBufferBytes);
  add("write/followed", &shim_write, followed_fd, buffer, kBufferBytes);
  add("close/direct", &close_nothing, foreign_fd);
  add("close/foreign", &shim_close, foreign_fd);
}

}  // namespace

int main(int argc, char** argv) {
  prepare();
  add_benchmarks();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
