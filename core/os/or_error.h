#pragma once

#include <cerrno>
#include <concepts>

namespace rsock::os {

// What a call of the table returned, or the error that it set, negated. To be applied at once.
template <std::signed_integral R>
[[nodiscard]] R or_error(R result) noexcept {
  return result == -1 ? static_cast<R>(-errno) : result;
}

}  // namespace rsock::os
