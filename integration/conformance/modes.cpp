#include "integration/conformance/modes.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace rsock::conformance {

namespace {

constexpr char kModeVariable[] = "RSOCK_CONFORMANCE_MODE";
constexpr char kEnteredVariable[] = "RSOCK_CONFORMANCE_ENTERED";

const Mode kModes[] = {
    {"native", false, false},
    {"shim", true, true},
    {"shim-peer-native", true, false},
    {"native-peer-shim", false, true},
};

void preload(bool wanted) {
  if (wanted) {
    setenv("LD_PRELOAD", library_path().c_str(), 1);
  } else {
    unsetenv("LD_PRELOAD");
  }
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "conformance: %s\n", why.c_str());
  std::exit(2);
}

}  // namespace

const Mode& mode() {
  const char* wanted = std::getenv(kModeVariable);
  if (wanted == nullptr) return kModes[0];
  for (const Mode& one : kModes) {
    if (one.name == wanted) return one;
  }
  fail(std::string(kModeVariable) + "=" + wanted + " is no mode");
}

std::string library_path() {
  const char* path = std::getenv("RSOCK_LIBRARY");
  if (path == nullptr) fail("RSOCK_LIBRARY must name librsock.so in this mode");
  return path;
}

void enter_mode(char** arguments) {
  if (std::getenv(kEnteredVariable) != nullptr) return;
  setenv(kEnteredVariable, "1", 1);
  preload(mode().local_is_preloaded);
  execv("/proc/self/exe", arguments);
  fail(std::string("can't execute itself: ") + std::strerror(errno));
}

void prepare_peer_environment() { preload(mode().peer_is_preloaded); }

bool library_is_mapped(int pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("librsock.so") != std::string::npos) return true;
  }
  return false;
}

}  // namespace rsock::conformance
