#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/check.h"

namespace rsock {

// Why an operation failed: an errno value, negated (-EAGAIN).
class Error {
 public:
  explicit constexpr Error(int negative_errno) noexcept : code_(negative_errno) {
    RSOCK_DCHECK(negative_errno < 0);
  }
  [[nodiscard]] constexpr int code() const noexcept { return code_; }

 private:
  int code_;
};

// The value that a function made, or why it could not. Stands in for std::expected of C++23.
//
//   Result<UniqueFd> open_page() { ... return Error(-ENOMEM); ... return fd; }
template <typename T>
class [[nodiscard]] Result {
  static_assert(std::is_object_v<T> && !std::is_same_v<T, Error>);

 public:
  constexpr Result(T value) noexcept : value_(std::move(value)) {}
  constexpr Result(Error error) noexcept : error_(error.code()) {}

  [[nodiscard]] constexpr bool ok() const noexcept { return error_ == 0; }
  // The negated errno value, zero if all went well.
  [[nodiscard]] constexpr int error() const noexcept { return error_; }

  [[nodiscard]] constexpr T& value() & noexcept { return checked(*this); }
  [[nodiscard]] constexpr const T& value() const& noexcept { return checked(*this); }
  [[nodiscard]] constexpr T&& value() && noexcept { return std::move(checked(*this)); }

 private:
  template <typename Self>
  static constexpr auto& checked(Self& self) noexcept {
    RSOCK_DCHECK(self.ok(), "value of a failed Result");
    return *self.value_;
  }

  std::optional<T> value_;
  int error_ = 0;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  constexpr Result() noexcept = default;
  constexpr Result(Error error) noexcept : error_(error.code()) {}

  [[nodiscard]] constexpr bool ok() const noexcept { return error_ == 0; }
  [[nodiscard]] constexpr int error() const noexcept { return error_; }

 private:
  int error_ = 0;
};

}  // namespace rsock
