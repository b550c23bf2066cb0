#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/os/libc_names.h"

namespace rsock::os {

enum class Name : std::uint16_t {
#define RSOCK_INTERCEPTED(name) name,
#define RSOCK_OPTIONAL(name) name,
#define RSOCK_CALLED(name) name,
#include "core/os/syscalls.inc"
};

// Finds the real function in the libraries loaded after this one, stores it in its slot of the
// table and returns it. A required function that cannot be found ends the process with a message.
using AnyFunction = void (*)();
[[nodiscard]] AnyFunction resolve(Name name) noexcept;

// What a slot holds until it is resolved: the library may be called from the constructor of
// another library, before its own has run. It resolves its own slot only, so that an allocator
// that calls us while it starts never makes the dynamic linker allocate.
template <Name name, typename F>
struct Stub;

template <Name name, typename R, typename... A>
struct Stub<name, R (*)(A...)> {
  static R call(A... arguments) {
    return reinterpret_cast<R (*)(A...)>(resolve(name))(arguments...);
  }
};

// A variadic libc function that is called through the table takes at most six integer or pointer
// arguments after the named ones (syscall). Passing on more words than the caller gave is
// harmless under the calling convention of x86-64; libc's own ioctl and fcntl do the same.
inline constexpr std::size_t kVariadicWords = 6;

template <typename P, typename... A>
auto call_with_words(AnyFunction function, va_list rest, A... named) {
  long words[kVariadicWords];
  for (long& word : words) word = va_arg(rest, long);
  return reinterpret_cast<P>(function)(named..., words[0], words[1], words[2], words[3], words[4],
                                       words[5]);
}

// One specialisation for each number of named arguments, since va_start must name the last.
#define RSOCK_VARIADIC_STUB(types, parameters, last, ...)                                    \
  struct Stub<name, R (*)(types, ...)> {                                                     \
    static R call(parameters, ...) {                                                         \
      va_list rest;                                                                          \
      va_start(rest, last);                                                                  \
      const R result = call_with_words<R (*)(types, ...)>(resolve(name), rest, __VA_ARGS__); \
      va_end(rest);                                                                          \
      return result;                                                                         \
    }                                                                                        \
  }
#define RSOCK_COMMA ,
template <Name name, typename R, typename A>
RSOCK_VARIADIC_STUB(A, A a, a, a);
template <Name name, typename R, typename A, typename B>
RSOCK_VARIADIC_STUB(A RSOCK_COMMA B, A a RSOCK_COMMA B b, b, a, b);
template <Name name, typename R, typename A, typename B, typename C>
RSOCK_VARIADIC_STUB(A RSOCK_COMMA B RSOCK_COMMA C, A a RSOCK_COMMA B b RSOCK_COMMA C c, c, a, b, c);
template <Name name, typename R, typename A, typename B, typename C, typename D>
RSOCK_VARIADIC_STUB(A RSOCK_COMMA B RSOCK_COMMA C RSOCK_COMMA D,
                    A a RSOCK_COMMA B b RSOCK_COMMA C c RSOCK_COMMA D d, d, a, b, c, d);
#undef RSOCK_COMMA
#undef RSOCK_VARIADIC_STUB

// The type of a libc function as a plain pointer, without noexcept and other attributes.
template <typename R, typename... A>
R (*plain_pointer(R (*)(A...)))
(A...);
template <typename R, typename... A>
R (*plain_pointer(R (*)(A..., ...)))
(A..., ...);

// One slot of the table. Resolving it twice at once is harmless: both threads store the same
// pointer.
template <Name name, typename P>
class Slot {
 public:
  using Pointer = P;

  [[nodiscard]] Pointer get() const noexcept { return pointer_.load(std::memory_order_relaxed); }
  // The real function, never the stub: for a caller that must jump to it.
  [[nodiscard]] Pointer resolved() const noexcept {
    const Pointer pointer = get();
    if (pointer != &Stub<name, Pointer>::call) [[likely]]
      return pointer;
    return reinterpret_cast<Pointer>(resolve(name));
  }
  void set(Pointer pointer) noexcept { pointer_.store(pointer, std::memory_order_relaxed); }

 private:
  std::atomic<Pointer> pointer_{&Stub<name, Pointer>::call};
};

template <Name name, typename P>
class Function;

template <Name name, typename R, typename... A>
class Function<name, R (*)(A...)> : public Slot<name, R (*)(A...)> {
 public:
  R operator()(A... arguments) const { return this->get()(arguments...); }
};

template <Name name, typename R, typename... A>
class Function<name, R (*)(A..., ...)> : public Slot<name, R (*)(A..., ...)> {
 public:
  template <typename... B>
  R operator()(A... arguments, B... rest) const {
    return this->get()(arguments..., rest...);
  }
};

#define RSOCK_SLOT(name) Function<Name::name, decltype(plain_pointer(&::name))> name;

// The table of real libc functions. Core reaches the kernel through it and through nothing else,
// so that it never calls into the preloaded library itself. Every call is thread-safe; set() on a
// slot is for tests, which make the n-th call fail.
struct Syscalls {
#define RSOCK_INTERCEPTED(name) RSOCK_SLOT(name)
#define RSOCK_OPTIONAL(name) RSOCK_SLOT(name)
#define RSOCK_CALLED(name) RSOCK_SLOT(name)
#include "core/os/syscalls.inc"
};

#undef RSOCK_SLOT

extern constinit Syscalls syscalls_table;

[[nodiscard]] inline Syscalls& sys() noexcept { return syscalls_table; }

// Resolves every slot, so that no dlsym happens later in a signal handler or a fork child.
// Called by the library's constructor; calling it again does nothing harmful.
void resolve_all() noexcept;

}  // namespace rsock::os
