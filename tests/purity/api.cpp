#include "tests/purity/api.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>

#include "tests/purity/expect.h"

namespace rsock::purity {

namespace {

template <typename Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) fail(__FILE__, __LINE__, name, 0, 1);
}

Api look_up_all(void* library) {
  Api api{};
#define RSOCK_INTERCEPTED(name) look_up(library, #name, api.name);
#define RSOCK_OPTIONAL(name) look_up(library, #name, api.name);
#define RSOCK_CALLED(name)
#include "core/os/syscalls.inc"
  return api;
}

}  // namespace

const Api& native_api() {
  static const Api api = look_up_all(dlopen(LIBC_SO, RTLD_NOW | RTLD_NOLOAD));
  return api;
}

const Api& shim_api() {
  static const Api api = look_up_all(RTLD_DEFAULT);
  return api;
}

}  // namespace rsock::purity
