#pragma once

#include <poll.h>

#include <vector>

#include "integration/conformance/harness.h"

namespace rsock::conformance {

// A listener whose queue of connections is full, so that another connect() waits.
struct FullListener {
  explicit FullListener(int family)
      : listener(listening_socket(family, 0)), address(local_address(listener)) {
    for (int count = 0; count < kMost; ++count) {
      Fd fd = tcp_socket(family, SOCK_NONBLOCK);
      static_cast<void>(connect(fd, address.generic(), address.length));
      const bool waits = wait_for(fd, POLLOUT, kNotNowMs) == 0;
      waiting.push_back(std::move(fd));
      if (waits) return;
    }
    FAIL("the queue never filled");
  }

  static constexpr int kMost = 8;
  Fd listener;
  Address address;
  std::vector<Fd> waiting;
};

}  // namespace rsock::conformance
