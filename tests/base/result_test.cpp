#include "core/base/result.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>
#include <type_traits>

#include "tests/death.h"

namespace {

using rsock::Error;
using rsock::Result;

constexpr int kValue = 17;

Result<int> half(int number) {
  if (number % 2 != 0) return Error(-EINVAL);
  return number / 2;
}

Result<std::unique_ptr<int>> make(bool possible) {
  if (!possible) return Error(-ENOMEM);
  return std::make_unique<int>(kValue);
}

Result<void> act(bool possible) {
  if (!possible) return Error(-EPIPE);
  return {};
}

// A number is a value and never an error, and an error is never made from a number by accident.
static_assert(!std::is_convertible_v<int, Error>);
static_assert(std::is_convertible_v<int, Result<int>>);
static_assert(!std::is_convertible_v<int, Result<void>>);
static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);
static_assert(std::is_nothrow_move_constructible_v<Result<std::unique_ptr<int>>>);

}  // namespace

TEST_CASE("a result holds a value or an error") {
  const Result<int> good = half(2 * kValue);
  CHECK(good.ok());
  CHECK(good.error() == 0);
  CHECK(good.value() == kValue);

  const Result<int> bad = half(1);
  CHECK(!bad.ok());
  CHECK(bad.error() == -EINVAL);
}

TEST_CASE("a result holds a negative number as a value") {
  const Result<int> result = half(-4);
  CHECK(result.ok());
  CHECK(result.value() == -2);
}

TEST_CASE("a result's value can be changed in place") {
  Result<int> result = half(4);
  ++result.value();
  CHECK(result.value() == 3);
}

TEST_CASE("a result holds what can only be moved") {
  Result<std::unique_ptr<int>> result = make(true);
  REQUIRE(result.ok());
  const std::unique_ptr<int> owner = std::move(result).value();
  REQUIRE(owner != nullptr);
  CHECK(*owner == kValue);
  CHECK(result.value() == nullptr);
  CHECK(make(false).error() == -ENOMEM);
}

TEST_CASE("a result of nothing holds success or an error") {
  CHECK(act(true).ok());
  CHECK(act(true).error() == 0);
  CHECK(!act(false).ok());
  CHECK(act(false).error() == -EPIPE);
}

TEST_CASE("a result works in a constant expression") {
  constexpr Result<int> kGood = 1;
  constexpr Result<int> kBad = Error(-EIO);
  STATIC_REQUIRE(kGood.value() == 1);
  STATIC_REQUIRE(kBad.error() == -EIO);
}

#if RSOCK_DEBUG_CHECKS
TEST_CASE("wrong use of a result fails a debug check") {
  const auto no_value = rsock::testing::run_in_child([] { static_cast<void>(half(1).value()); });
  CHECK(no_value.signal == SIGILL);
  CHECK(no_value.says("value of a failed Result"));
  const auto positive = rsock::testing::run_in_child([] { static_cast<void>(Error(EIO)); });
  CHECK(positive.signal == SIGILL);
  CHECK(positive.says("negative_errno < 0"));
}
#endif
