#pragma once

#include <string_view>

// The purity tests are plain programs: a test framework would allocate, lock and open files
// around the calls whose purity is being tested. Each program has cases; CMake runs each in a
// process of its own (program CASE) under the preloaded library.
namespace rsock::purity {

using CaseFunction = void (*)();

// Puts itself in the list that main() searches.
class Case {
 public:
  Case(const char* name, CaseFunction function) noexcept;

  [[nodiscard]] static const Case* find(std::string_view name) noexcept;
  void run() const { function_(); }

 private:
  const char* name_;
  CaseFunction function_;
  const Case* next_;
};

// Ends the process with a line on standard error. Async-signal-safe, and makes its system calls
// past the library under test.
[[noreturn]] void fail(const char* file, int line, std::string_view what, long got,
                       long wanted) noexcept;

// The case dies with SIGALRM if it is not done after this time: a deadlock is a failure.
inline constexpr unsigned int kCaseSeconds = 60;

// Keeps errno, which the failing path reads.
inline void expect(bool condition, const char* file, int line, std::string_view what) noexcept {
  if (!condition) [[unlikely]]
    fail(file, line, what, 0, 1);
}

inline void expect_equal(long got, long wanted, const char* file, int line,
                         std::string_view what) noexcept {
  if (got != wanted) [[unlikely]]
    fail(file, line, what, got, wanted);
}

}  // namespace rsock::purity

// NOLINTBEGIN(cppcoreguidelines-macro-usage): file and line of the test.
#define EXPECT(condition) ::rsock::purity::expect((condition), __FILE__, __LINE__, #condition)
#define EXPECT_EQUAL(got, wanted)                                                            \
  ::rsock::purity::expect_equal(static_cast<long>(got), static_cast<long>(wanted), __FILE__, \
                                __LINE__, #got " == " #wanted)

// CMake finds the cases of a program by lines that begin with this word.
#define PURITY_CASE(name)                                            \
  static void name();                                                \
  static const ::rsock::purity::Case case_of_##name(#name, &(name)); \
  static void name()
// NOLINTEND(cppcoreguidelines-macro-usage)
