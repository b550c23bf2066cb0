#pragma once

#include "core/os/libc_names.h"

namespace rsock::purity {

// Every function that the library exports, as one implementation of it: the library's, or
// libc's own. The list is the product's, so a new name is here by itself.
struct Api {
#define RSOCK_INTERCEPTED(name) decltype(&::name) name;
#define RSOCK_OPTIONAL(name) decltype(&::name) name;
#define RSOCK_CALLED(name)
#include "core/os/syscalls.inc"
};

// Those of libc itself, past the library under test.
[[nodiscard]] const Api& native_api();

// Those that a program gets: the library's.
[[nodiscard]] const Api& shim_api();

inline constexpr const char* kInterceptedNames[] = {
#define RSOCK_INTERCEPTED(name) #name,
#define RSOCK_OPTIONAL(name) #name,
#define RSOCK_CALLED(name)
#include "core/os/syscalls.inc"
};

}  // namespace rsock::purity
