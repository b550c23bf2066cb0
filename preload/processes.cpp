// Calls that make, replace or end a process. vfork is in entries.S.
#include "core/process/fork.h"

#include <alloca.h>
#include <unistd.h>

#include "preload/edge.h"

using rsock::edge::sys;
namespace edge = rsock::edge;
namespace process = rsock::process;

// libc runs the handler of process::watch_forks() in the children of these.
RSOCK_EXPORT pid_t fork() { return sys().fork(); }
RSOCK_EXPORT pid_t __fork() { return sys().__fork(); }
RSOCK_EXPORT pid_t __libc_fork() { return sys().__libc_fork(); }

RSOCK_EXPORT pid_t _Fork() {
  const pid_t child = sys()._Fork();
  const edge::ErrnoKeeper keeper;
  if (child == 0) process::after_fork_in_child();
  return child;
}

// libc has three optional arguments; those that the caller did not give are not looked at.
RSOCK_EXPORT int clone(int (*function)(void*), void* stack, int flags, void* argument, ...) {
  va_list rest;
  va_start(rest, argument);
  auto* parent_tid = va_arg(rest, pid_t*);
  void* tls = va_arg(rest, void*);
  auto* child_tid = va_arg(rest, pid_t*);
  va_end(rest);
  return process::clone_child(function, stack, flags, argument, parent_tid, tls, child_tid);
}

RSOCK_EXPORT int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...) {
  va_list rest;
  va_start(rest, argument);
  auto* parent_tid = va_arg(rest, pid_t*);
  void* tls = va_arg(rest, void*);
  auto* child_tid = va_arg(rest, pid_t*);
  va_end(rest);
  return process::clone_child(function, stack, flags, argument, parent_tid, tls, child_tid);
}

// Every operation of the kernel's takes up to four more words.
RSOCK_EXPORT int prctl(int operation, ...) {
  va_list rest;
  va_start(rest, operation);
  const auto a = va_arg(rest, unsigned long);
  const auto b = va_arg(rest, unsigned long);
  const auto c = va_arg(rest, unsigned long);
  const auto d = va_arg(rest, unsigned long);
  va_end(rest);
  return edge::control_process(operation, [=] { return sys().prctl(operation, a, b, c, d); });
}

// In the child, libc puts /dev/null at 0, 1 and 2 by itself.
RSOCK_EXPORT int daemon(int keep_directory, int keep_descriptors) {
  const int result = sys().daemon(keep_directory, keep_descriptors);
  if (result == 0 && keep_descriptors == 0) {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) edge::table().forget(fd);
  }
  return result;
}

RSOCK_EXPORT int posix_spawn(pid_t* child, const char* path,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const arguments[],
                             char* const environment[]) {
  return sys().posix_spawn(child, path, actions, attributes, arguments, environment);
}

RSOCK_EXPORT int posix_spawnp(pid_t* child, const char* file,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const arguments[],
                              char* const environment[]) {
  return sys().posix_spawnp(child, file, actions, attributes, arguments, environment);
}

RSOCK_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) {
  return sys().execve(path, arguments, environment);
}

RSOCK_EXPORT int execv(const char* path, char* const arguments[]) {
  return sys().execv(path, arguments);
}

RSOCK_EXPORT int execvp(const char* file, char* const arguments[]) {
  return sys().execvp(file, arguments);
}

RSOCK_EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) {
  return sys().execvpe(file, arguments, environment);
}

RSOCK_EXPORT int execveat(int directory, const char* path, char* const arguments[],
                          char* const environment[], int flags) {
  return sys().execveat(directory, path, arguments, environment, flags);
}

RSOCK_EXPORT int fexecve(int fd, char* const arguments[], char* const environment[]) {
  return sys().fexecve(fd, arguments, environment);
}

// The list forms become the array forms. The array lies on the stack: they may be called in a
// child of vfork, where nothing may be allocated.
namespace {

// Number of arguments up to and with the null pointer that ends them.
int count_arguments(va_list list) {
  int count = 1;
  while (va_arg(list, char*) != nullptr) ++count;
  return count;
}

void take_arguments(va_list list, const char* first, char** array, int count) {
  array[0] = const_cast<char*>(first);
  for (int index = 1; index < count; ++index) array[index] = va_arg(list, char*);
}

}  // namespace

// Makes `array` of the arguments of a function whose last named parameter is `first`, and leaves
// `list` behind their end.
#define RSOCK_ARGUMENT_ARRAY(array, list, first)                                            \
  va_list list;                                                                             \
  va_start(list, first);                                                                    \
  const int array##_count = 1 + count_arguments(list);                                      \
  va_end(list);                                                                             \
  auto** array =                                                                            \
      static_cast<char**>(alloca(static_cast<std::size_t>(array##_count) * sizeof(char*))); \
  va_start(list, first);                                                                    \
  take_arguments(list, first, array, array##_count)

RSOCK_EXPORT int execl(const char* path, const char* first, ...) {
  RSOCK_ARGUMENT_ARRAY(arguments, list, first);
  va_end(list);
  return sys().execv(path, arguments);
}

RSOCK_EXPORT int execlp(const char* file, const char* first, ...) {
  RSOCK_ARGUMENT_ARRAY(arguments, list, first);
  va_end(list);
  return sys().execvp(file, arguments);
}

RSOCK_EXPORT int execle(const char* path, const char* first, ...) {
  RSOCK_ARGUMENT_ARRAY(arguments, list, first);
  auto* environment = va_arg(list, char* const*);
  va_end(list);
  return sys().execve(path, arguments, environment);
}

RSOCK_EXPORT void exit(int status) {
  sys().exit(status);
  __builtin_unreachable();
}

RSOCK_EXPORT void _exit(int status) {
  sys()._exit(status);
  __builtin_unreachable();
}

RSOCK_EXPORT void _Exit(int status) {
  sys()._Exit(status);
  __builtin_unreachable();
}

RSOCK_EXPORT void quick_exit(int status) {
  sys().quick_exit(status);
  __builtin_unreachable();
}

RSOCK_EXPORT void abort() {
  sys().abort();
  __builtin_unreachable();
}
