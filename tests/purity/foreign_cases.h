#pragma once

#include <cerrno>
#include <climits>
#include <cstddef>
#include <iterator>

#include "tests/purity/api.h"
#include "tests/purity/fixture.h"

namespace rsock::purity {

// One call of one intercepted function, to be made through either implementation.
struct ForeignCase {
  // How the call is made.
  enum Flags : unsigned char {
    kNoFlags = 0,
    kOnce = 1,        // takes no descriptor: with one kind only
    kUsesStdio = 2,   // libc itself allocates and locks, and may not be called in a vfork child
    kUsesThread = 4,  // libc makes a thread, which allocates as often as it likes
  };

  const char* name;
  Flags flags;
  long (*call)(const Api& api, Fixture& f);
};

// An intercepted function that has no case, and why.
struct Exception {
  const char* name;
  const char* reason;
};

template <typename T>
struct ListOf {
  const T* first;
  std::size_t count;

  [[nodiscard]] const T* begin() const { return first; }
  [[nodiscard]] const T* end() const { return first + count; }
};

[[nodiscard]] ListOf<ForeignCase> transfer_cases();
[[nodiscard]] ListOf<ForeignCase> descriptor_cases();
[[nodiscard]] ListOf<Exception> case_exceptions();

}  // namespace rsock::purity

#define FOREIGN_CASE_WITH(flags, name, ...) \
  {#name, ForeignCase::flags,               \
   []([[maybe_unused]] const Api& api, [[maybe_unused]] Fixture& f) -> long { __VA_ARGS__ }},
#define FOREIGN_CASE(name, ...) FOREIGN_CASE_WITH(kNoFlags, name, __VA_ARGS__)
