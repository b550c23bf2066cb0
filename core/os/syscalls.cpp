#include "core/os/syscalls.h"

#include <cerrno>

#include "core/os/fatal.h"

namespace rsock::os {

constinit Syscalls syscalls_table{};

namespace {

struct Entry {
  const char* name;
  bool required;
  void (*store)(AnyFunction function);
};

template <auto slot>
void store_in(AnyFunction function) {
  auto& target = syscalls_table.*slot;
  target.set(
      reinterpret_cast<typename std::remove_reference_t<decltype(target)>::Pointer>(function));
}

constexpr Entry kEntries[] = {
#define RSOCK_INTERCEPTED(name) {#name, true, &store_in<&Syscalls::name>},
#define RSOCK_OPTIONAL(name) {#name, false, &store_in<&Syscalls::name>},
#define RSOCK_CALLED(name) {#name, true, &store_in<&Syscalls::name>},
#include "core/os/syscalls.inc"
};

// Stands in for a function that this libc does not have.
long not_implemented() {
  errno = ENOSYS;
  return -1;
}

}  // namespace

AnyFunction resolve(Name name) noexcept {
  const Entry& entry = kEntries[static_cast<std::size_t>(name)];
  // Not a failure of ours to report to the caller whose call is being resolved.
  const int saved_errno = errno;
  auto function = reinterpret_cast<AnyFunction>(::dlsym(RTLD_NEXT, entry.name));
  if (function == nullptr) {
    if (entry.required) die_without_libc_function(entry.name);
    function = reinterpret_cast<AnyFunction>(&not_implemented);
  }
  entry.store(function);
  errno = saved_errno;
  return function;
}

void resolve_all() noexcept {
  for (std::size_t index = 0; index < std::size(kEntries); ++index) {
    static_cast<void>(resolve(static_cast<Name>(index)));
  }
}

}  // namespace rsock::os
