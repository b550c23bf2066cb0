#pragma once

// The C side of entries.S.

// System call numbers below this may be decoded; larger ones pass.
#define RSOCK_SYSCALL_NUMBERS 512

#ifndef __ASSEMBLER__
namespace rsock::entries {

// From now on syscall() goes to libc's. Called once the table of libc functions is complete.
void use_real_syscall() noexcept;

}  // namespace rsock::entries
#endif
