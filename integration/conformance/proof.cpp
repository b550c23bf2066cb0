#include "integration/conformance/proof.h"

#include <unistd.h>

#include "integration/conformance/modes.h"
#include "integration/conformance/rsock_stat.h"

namespace rsock::conformance {

std::string what_disproves_mode() {
  if (library_is_mapped(getpid()) != mode().local_is_preloaded) {
    return mode().local_is_preloaded ? "the library is not loaded" : "the library is loaded";
  }
  if (!mode().local_is_preloaded) return {};
  const nlohmann::json process = process_statistics(getpid());
  if (process.is_null()) return "rsock-stat does not list this process (is RSOCK_STAT set?)";
  const auto tracked = process["counters"].value("sockets_tracked", 0);
  const auto closed = process["counters"].value("sockets_closed", 0);
  if (tracked == 0) return "the library has seen no socket";
  if (tracked != closed) {
    return std::to_string(tracked - closed) + " sockets are still followed after all cases";
  }
  return {};
}

}  // namespace rsock::conformance
