#pragma once

#include <poll.h>

#include "integration/conformance/harness.h"

namespace rsock::conformance {

// Whether the remote end has got, or soon gets, our end of the stream: nothing is unread before.
[[nodiscard]] inline bool remote_sees_end(Connection& connection) {
  Peer& peer = connection.peer();
  if (peer.poll(connection.remote(), POLLIN | POLLRDHUP, kSoonMs).result == 0) return false;
  const Outcome outcome = peer.receive(connection.remote(), 1);
  return outcome.result == 0 && outcome.error == 0;
}

// Whether our direction is still open as far as the remote end knows.
[[nodiscard]] inline bool remote_sees_no_end(Connection& connection) {
  return connection.peer().poll(connection.remote(), POLLRDHUP, kNotNowMs).result == 0;
}

// One small message each way over `fd`, a descriptor of our end.
inline void check_exchange(Connection& connection, int fd) {
  send_all(fd, "question");
  CHECK(connection.remote_receives(8) == "question");
  connection.remote_sends("answer");
  CHECK(receive_all(fd, 6) == "answer");
}

// The same over a pair of ends in this process.
inline void check_exchange(int one, int other) {
  send_all(one, "question");
  CHECK(receive_all(other, 8) == "question");
  send_all(other, "answer");
  CHECK(receive_all(one, 6) == "answer");
}

}  // namespace rsock::conformance
