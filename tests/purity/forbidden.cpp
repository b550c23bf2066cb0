#include "tests/purity/forbidden.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "tests/purity/expect.h"

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace rsock::purity {

namespace {

constexpr long kDisarmed = -2;

// Not dynamic TLS: an executable's is there from the first instruction on.
constinit thread_local long allowed_calls = kDisarmed;
constinit thread_local long counted_calls = 0;

void note(const char* name) noexcept {
  if (allowed_calls == kDisarmed) return;
  ++counted_calls;
  if (allowed_calls == Forbidden::kAny || counted_calls <= allowed_calls) return;
  const long wanted = allowed_calls;
  allowed_calls = kDisarmed;
  fail(__FILE__, __LINE__, name, counted_calls, wanted);
}

}  // namespace

Forbidden::Forbidden(long allowed) noexcept
    : outer_allowed_(allowed_calls), outer_count_(counted_calls) {
  counted_calls = 0;
  allowed_calls = allowed;
}

Forbidden::~Forbidden() {
  allowed_calls = outer_allowed_;
  counted_calls = outer_count_;
}

long Forbidden::count() const noexcept { return counted_calls; }

}  // namespace rsock::purity

#define REPLACEMENT extern "C" [[gnu::visibility("default")]]

REPLACEMENT void* malloc(std::size_t bytes) noexcept {
  rsock::purity::note("malloc");
  return __libc_malloc(bytes);
}

REPLACEMENT void* calloc(std::size_t count, std::size_t bytes) noexcept {
  rsock::purity::note("calloc");
  return __libc_calloc(count, bytes);
}

REPLACEMENT void* realloc(void* memory, std::size_t bytes) noexcept {
  rsock::purity::note("realloc");
  return __libc_realloc(memory, bytes);
}

REPLACEMENT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  rsock::purity::note("aligned_alloc");
  return __libc_memalign(alignment, bytes);
}

REPLACEMENT int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  rsock::purity::note("posix_memalign");
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

REPLACEMENT void free(void* memory) noexcept {
  rsock::purity::note("free");
  __libc_free(memory);
}

REPLACEMENT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Function = int (*)(pthread_mutex_t*);
  static constinit std::atomic<Function> real{nullptr};
  rsock::purity::note("pthread_mutex_lock");
  Function function = real.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    real.store(function, std::memory_order_relaxed);
  }
  return function(mutex);
}
