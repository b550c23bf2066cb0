#pragma once

#include <cerrno>
#include <type_traits>

#include "core/os/syscalls.h"

namespace rsock::testing {

// Makes the n-th call from now on to one function of the table fail, for as long as it lives: the
// seam of conventions.md C1. One at a time for each function; not thread-safe.
template <auto slot>
class FailingCall {
  using Function = std::remove_reference_t<decltype(os::sys().*slot)>;
  using Pointer = typename Function::Pointer;

 public:
  enum class Kind { once, for_ever };

  FailingCall(int nth, int error, Kind kind = Kind::for_ever) {
    os::resolve_all();  // A slot that resolves itself later would throw us out of it.
    original_ = (os::sys().*slot).get();
    state = {original_, nth, error, kind};
    (os::sys().*slot).set(&Stand<Pointer>::call);
  }
  ~FailingCall() { (os::sys().*slot).set(original_); }
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;

  // Whether the n-th call came.
  [[nodiscard]] static bool was_reached() { return state.calls_left <= 0; }

 private:
  struct State {
    Pointer original;
    int calls_left;
    int error;
    Kind kind;
  };
  static inline State state{};

  static bool fails_now() {
    --state.calls_left;
    if (state.calls_left > 0 || (state.calls_left < 0 && state.kind == Kind::once)) return false;
    errno = state.error;
    return true;
  }

  // MAP_FAILED is -1 too, as every function of the table that gives back a pointer has it.
  template <typename R>
  static R failure() {
    if constexpr (std::is_pointer_v<R>) {
      return reinterpret_cast<R>(-1L);
    } else {
      return static_cast<R>(-1);
    }
  }

  template <typename P>
  struct Stand;
  template <typename R, typename... A>
  struct Stand<R (*)(A...)> {
    static R call(A... arguments) {
      return fails_now() ? failure<R>() : state.original(arguments...);
    }
  };
  template <typename R>  // fcntl
  struct Stand<R (*)(int, int, ...)> {
    static R call(int fd, int command, ...) {
      va_list rest;
      va_start(rest, command);
      void* argument = va_arg(rest, void*);
      va_end(rest);
      return fails_now() ? failure<R>() : state.original(fd, command, argument);
    }
  };
  template <typename R>  // mremap
  struct Stand<R (*)(void*, std::size_t, std::size_t, int, ...)> {
    static R call(void* memory, std::size_t from, std::size_t to, int flags, ...) {
      va_list rest;
      va_start(rest, flags);
      void* target = va_arg(rest, void*);
      va_end(rest);
      return fails_now() ? failure<R>() : state.original(memory, from, to, flags, target);
    }
  };

  Pointer original_;
};

}  // namespace rsock::testing
