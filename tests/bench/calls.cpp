// The cost of a call as a program sees it: the cheapest calls that there are, so that what the
// library adds shows beside the system call. scripts/bench runs this with and without the library.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t kBufferBytes = 64;

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

int empty_pipe() {
  int ends[2];
  require(pipe2(ends, O_NONBLOCK) == 0, "pipe2");
  return ends[0];
}

int udp_socket() {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  require(fd >= 0, "socket");
  return fd;
}

// A connected TCP socket with nothing to read, which the library follows. Its peer stays open.
int tcp_socket() {
  sockaddr_in address{};
  auto* name = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  require(bind(listener, name, length) == 0 && listen(listener, 1) == 0, "listen");
  require(getsockname(listener, name, &length) == 0, "getsockname");
  require(connect(client, name, length) == 0, "connect");
  require(accept(listener, nullptr, nullptr) >= 0, "accept");
  close(listener);
  return client;
}

void read_empty_pipe(benchmark::State& state) {
  static const int fd = empty_pipe();
  char buffer[kBufferBytes];
  for (auto _ : state) benchmark::DoNotOptimize(read(fd, buffer, sizeof(buffer)));
}
BENCHMARK(read_empty_pipe);

void write_nothing(benchmark::State& state) {
  static const int fd = open("/dev/null", O_WRONLY);
  for (auto _ : state) benchmark::DoNotOptimize(write(fd, "", 0));
}
BENCHMARK(write_nothing);

void close_nothing(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(close(-1));
}
BENCHMARK(close_nothing);

void poll_nothing(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(poll(nullptr, 0, 0));
}
BENCHMARK(poll_nothing);

void getsockopt_udp(benchmark::State& state) {
  static const int fd = udp_socket();
  int value = 0;
  socklen_t length = sizeof(value);
  for (auto _ : state) {
    benchmark::DoNotOptimize(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length));
  }
}
BENCHMARK(getsockopt_udp);

void fcntl_pipe(benchmark::State& state) {
  static const int fd = empty_pipe();
  for (auto _ : state) benchmark::DoNotOptimize(fcntl(fd, F_GETFL));
}
BENCHMARK(fcntl_pipe);

void recv_empty_tcp(benchmark::State& state) {
  static const int fd = tcp_socket();
  char buffer[kBufferBytes];
  for (auto _ : state) {
    benchmark::DoNotOptimize(recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT));
  }
}
BENCHMARK(recv_empty_tcp);

void send_nothing_tcp(benchmark::State& state) {
  static const int fd = tcp_socket();
  for (auto _ : state) benchmark::DoNotOptimize(send(fd, "", 0, MSG_DONTWAIT));
}
BENCHMARK(send_nothing_tcp);

}  // namespace

BENCHMARK_MAIN();
