#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "core/os/unique_fd.h"

namespace rsock::os {

// A file in memory (memfd) of `bytes`, sparse, that nobody can shrink or grow: whoever maps it gets
// no SIGBUS from it. -EFBIG if the program's RLIMIT_FSIZE forbids it, -EPERM once it has sandboxed
// itself, or errno as memfd_create(2) and ftruncate(2). Async-signal-safe; errno may change.
[[nodiscard]] Result<UniqueFd> make_sealed_file(const char* name, std::size_t bytes) noexcept;

// Whether `fd` is a file of `bytes` that can't shrink and can be written, whoever made it.
[[nodiscard]] bool is_sealed_file(int fd, std::size_t bytes) noexcept;

}  // namespace rsock::os
