// dlopen() looks for a library where its caller's own run path says. The caller is whoever the
// call comes from: it must not be the library under test.
#include <dlfcn.h>

#include "tests/purity/expect.h"

namespace rsock::purity {

namespace {

void* open_by_caller(int mode) {
  void* caller = dlopen(RSOCK_PURITY_CALLER_LIBRARY, RTLD_NOW);
  EXPECT(caller != nullptr);
  auto* open_inner = reinterpret_cast<void* (*)(int)>(dlsym(caller, "open_inner"));
  EXPECT(open_inner != nullptr);
  return open_inner(mode);
}

void expect_inner(void* library) {
  EXPECT(library != nullptr);
  auto* answer = reinterpret_cast<int (*)()>(dlsym(library, "inner_answer"));
  EXPECT(answer != nullptr);
  EXPECT_EQUAL(answer(), 42);
}

}  // namespace

PURITY_CASE(keeps_its_caller) {
  EXPECT(dlopen("libpurity_dlopen_inner.so", RTLD_NOW) == nullptr);
  expect_inner(open_by_caller(RTLD_NOW));
}

PURITY_CASE(keeps_its_caller_with_deepbind) {
  expect_inner(open_by_caller(RTLD_NOW | RTLD_DEEPBIND));
}

PURITY_CASE(fails_as_without) {
  EXPECT(dlopen("/nonexistent/library.so", RTLD_NOW) == nullptr);
  EXPECT(dlerror() != nullptr);
  EXPECT(dlopen(nullptr, RTLD_NOW) != nullptr);
}

}  // namespace rsock::purity
