// A library that opens another one, which the dynamic linker finds by the caller's run path only.
#include <dlfcn.h>

extern "C" [[gnu::visibility("default")]] void* open_inner(int mode) {
  // Not a tail call, by which the caller of this function would be the one who calls dlopen.
  void* volatile library = dlopen("libpurity_dlopen_inner.so", mode);
  return library;
}
