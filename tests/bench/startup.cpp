// What the library costs a whole process: starts a program with and without it, in turn, so that
// whatever else the machine does hits both alike, and prints the medians as JSON.
//
//   startup PAIRS LIBRARY PROGRAM [ARGUMENT...]
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
constexpr double kNanosecondsPerMicrosecond = 1e3;
// The first starts fill the page cache.
constexpr int kWarmUpPairs = 5;
constexpr char kPreload[] = "LD_PRELOAD=";

using Environment = std::vector<char*>;

double now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * kMicrosecondsPerSecond +
         static_cast<double>(now.tv_nsec) / kNanosecondsPerMicrosecond;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "startup: %s\n", what);
  std::exit(1);
}

// Our own environment, with `preload` (a whole variable) in the place of any LD_PRELOAD.
Environment environment_with(char* preload) {
  Environment result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, kPreload, sizeof(kPreload) - 1) != 0) result.push_back(*variable);
  }
  if (preload != nullptr) result.push_back(preload);
  result.push_back(nullptr);
  return result;
}

double run_us(char** command, const Environment& environment) {
  pid_t child = 0;
  int status = 0;
  const double start = now_us();
  if (posix_spawn(&child, command[0], nullptr, nullptr, command, environment.data()) != 0) {
    fail("the program can't be started");
  }
  if (waitpid(child, &status, 0) != child || status != 0) fail("the program failed");
  return now_us() - start;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("usage: startup PAIRS LIBRARY PROGRAM [ARGUMENT...]");
  const int pairs = std::atoi(argv[1]);
  if (pairs <= 0) fail("the number of pairs must be positive");
  std::string preload = std::string(kPreload) + argv[2];
  char** command = argv + 3;
  const Environment native = environment_with(nullptr);
  const Environment shim = environment_with(preload.data());
  std::vector<double> native_us;
  std::vector<double> shim_us;
  for (int pair = -kWarmUpPairs; pair < pairs; ++pair) {
    const double without = run_us(command, native);
    const double with = run_us(command, shim);
    if (pair < 0) continue;
    native_us.push_back(without);
    shim_us.push_back(with);
  }
  std::printf("{\"program\": \"%s\", \"pairs\": %d, \"native_us\": %.1f, \"shim_us\": %.1f}\n",
              command[0], pairs, median(native_us), median(shim_us));
}
