#pragma once

#include <sys/epoll.h>

#include <vector>

#include "integration/conformance/harness.h"

namespace rsock::conformance {

// An epoll set with the calls of a test.
class Epoll {
 public:
  Epoll() : set_(epoll_create1(EPOLL_CLOEXEC)) { REQUIRE(set_ >= 0); }

  [[nodiscard]] int fd() const { return set_; }
  void add(int fd, std::uint32_t events, std::uint64_t cookie = 0) {
    REQUIRE(control(EPOLL_CTL_ADD, fd, events, cookie) == 0);
  }
  void modify(int fd, std::uint32_t events, std::uint64_t cookie = 0) {
    REQUIRE(control(EPOLL_CTL_MOD, fd, events, cookie) == 0);
  }
  void remove(int fd) { REQUIRE(control(EPOLL_CTL_DEL, fd, 0, 0) == 0); }
  int control(int operation, int fd, std::uint32_t events, std::uint64_t cookie) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = cookie;
    return epoll_ctl(set_, operation, fd, &event);
  }
  // The events that are there or come within the time.
  std::vector<epoll_event> wait(int timeout_ms = kSoonMs, int count = 16) {
    std::vector<epoll_event> events(static_cast<std::size_t>(count));
    const int got = epoll_wait(set_, events.data(), count, timeout_ms);
    REQUIRE(got >= 0);
    events.resize(static_cast<std::size_t>(got));
    return events;
  }
  // The events of the only descriptor that has any; zero if none has.
  std::uint32_t wait_one(int timeout_ms = kSoonMs) {
    const auto events = wait(timeout_ms);
    REQUIRE(events.size() <= 1);
    return events.empty() ? 0 : static_cast<std::uint32_t>(events[0].events);
  }

 private:
  Fd set_;
};

}  // namespace rsock::conformance
