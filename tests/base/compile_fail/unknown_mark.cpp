#include "core/base/mark.h"

void caller();
void caller() {
#ifdef RSOCK_REJECTED
  RSOCK_MARK(no_such_mark);
#else
  RSOCK_MARK(text_truncated);
#endif
}
