// main() of every purity test: runs the case that is named on the command line.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/purity/expect.h"

namespace {

using rsock::purity::Case;

constexpr int kExitUsage = 2;

// A test that the library is not loaded into would prove nothing.
bool library_is_loaded() {
  Dl_info info{};
  void* read_function = dlsym(RTLD_DEFAULT, "read");
  return read_function != nullptr && dladdr(read_function, &info) != 0 &&
         std::strstr(info.dli_fname, "librsock") != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const Case* wanted = argc == 2 ? Case::find(argv[1]) : nullptr;
  if (wanted == nullptr) {
    std::fprintf(stderr, "usage: %s CASE\n", argv[0]);
    return kExitUsage;
  }
  EXPECT(library_is_loaded());
  alarm(rsock::purity::kCaseSeconds);
  wanted->run();
  return 0;
}
