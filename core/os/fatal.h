#pragma once

namespace rsock::os {

// Ends the process with a line on standard error: libc lacks `name`, so nothing could work. Uses
// no libc function, since none is known to be there.
[[noreturn]] void die_without_libc_function(const char* name) noexcept;

// Ends the process with SIGALRM in `seconds`, whatever it does about that signal.
void die_after(unsigned int seconds) noexcept;

}  // namespace rsock::os
