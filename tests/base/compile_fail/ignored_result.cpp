#include "core/base/result.h"

rsock::Result<void> may_fail();

void caller();
void caller() {
#ifdef RSOCK_REJECTED
  may_fail();
#else
  static_cast<void>(may_fail());
#endif
}
