#pragma once

// Names for clang's thread-safety attributes: which lock guards a field, which lock a function
// needs. A clang build with -Wthread-safety refuses code that breaks them; gcc ignores them.
#ifdef __clang__
#define RSOCK_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define RSOCK_THREAD_ATTRIBUTE(attribute)
#endif

// On a class: it is a lock, or a scope that holds one.
#define RSOCK_CAPABILITY(kind) RSOCK_THREAD_ATTRIBUTE(capability(kind))
#define RSOCK_SCOPED_CAPABILITY RSOCK_THREAD_ATTRIBUTE(scoped_lockable)

// On a field: only with the lock held may it, or what it points to, be touched.
#define RSOCK_GUARDED_BY(lock) RSOCK_THREAD_ATTRIBUTE(guarded_by(lock))
#define RSOCK_PT_GUARDED_BY(lock) RSOCK_THREAD_ATTRIBUTE(pt_guarded_by(lock))

// On a function: the caller holds the lock; the caller does not hold it; the function takes it; it
// takes it if it returns the value given; it gives it back.
#define RSOCK_REQUIRES(...) RSOCK_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define RSOCK_EXCLUDES(...) RSOCK_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define RSOCK_ACQUIRE(...) RSOCK_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RSOCK_TRY_ACQUIRE(...) RSOCK_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RSOCK_RELEASE(...) RSOCK_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))

// On a function whose locking the analysis cannot follow. Say why where it is used.
#define RSOCK_NO_THREAD_SAFETY_ANALYSIS RSOCK_THREAD_ATTRIBUTE(no_thread_safety_analysis)
