#include "core/os/sealed_file.h"

#include <cerrno>

#include "core/os/sandbox.h"

namespace rsock::os {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Growing a file past the limit would kill the program with SIGXFSZ.
bool file_size_is_allowed(std::size_t bytes) {
  rlimit limit{};
  return sys().getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

}  // namespace

Result<UniqueFd> make_sealed_file(const char* name, std::size_t bytes) noexcept {
  if (is_sandboxed()) return Error(-EPERM);
  if (!file_size_is_allowed(bytes)) return Error(-EFBIG);
  UniqueFd fd(sys().memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || sys().ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      sys().fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return Error(-errno);
  }
  return fd;
}

bool is_sealed_file(int fd, std::size_t bytes) noexcept {
  struct stat status {};
  const int seals = sys().fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & (F_SEAL_SHRINK | F_SEAL_WRITE)) == F_SEAL_SHRINK &&
         sys().fstat(fd, &status) == 0 && status.st_size == static_cast<off_t>(bytes);
}

}  // namespace rsock::os
