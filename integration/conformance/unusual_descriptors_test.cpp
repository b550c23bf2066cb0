// Descriptors at high numbers and by unusual ways, and sockets that libc makes for itself.
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>

#include "integration/conformance/ends.h"
#include "integration/conformance/epoll_harness.h"

using namespace rsock::conformance;

// glibc 2.36 declares these without C linkage.
extern "C" {
int pidfd_open(pid_t pid, unsigned int flags);
int pidfd_getfd(int pidfd, int fd, unsigned int flags);
}

namespace {

// As many descriptors as may be, for the time of a case.
class ManyDescriptors {
 public:
  ManyDescriptors() {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit wanted = before_;
    wanted.rlim_cur = wanted.rlim_max;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &wanted) == 0);
  }
  ~ManyDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  ManyDescriptors(const ManyDescriptors&) = delete;
  ManyDescriptors& operator=(const ManyDescriptors&) = delete;

  [[nodiscard]] int limit() const {
    return static_cast<int>(std::min<rlim_t>(before_.rlim_max, 1 << 20));
  }

 private:
  rlimit before_{};
};

}  // namespace

CONFORMANCE_CASE("unusual: a connection at a high number is used like any other") {
  const ManyDescriptors many;
  Connection connection(TestType::family);
  for (const int number : {1024, 4095, 65'536, 500'000}) {
    if (number >= many.limit()) break;
    INFO("number " << number);
    const Fd high(fcntl(connection.fd(), F_DUPFD_CLOEXEC, number));
    REQUIRE(high >= number);
    check_exchange(connection, high);
    Epoll set;
    set.add(high, EPOLLIN);
    CHECK(set.wait_one(0) == 0);
    connection.remote_sends("x");
    CHECK(wait_for(high, POLLIN) == POLLIN);
    CHECK(set.wait_one() == EPOLLIN);
    CHECK(receive_all(high, 1) == "x");
  }
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("unusual: a connection that lives at a high number alone ends there") {
  const ManyDescriptors many;
  Connection connection(TestType::family);
  const int number = std::min(many.limit() - 1, 70'000);
  Fd high(fcntl(connection.fd(), F_DUPFD_CLOEXEC, number));
  REQUIRE(high >= 0);
  connection.local().reset();
  check_exchange(connection, high);
  high.reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("unusual: pidfd_getfd gives a descriptor of the same stream") {
  Connection connection(TestType::family);
  const Fd self(pidfd_open(getpid(), 0));
  REQUIRE(self >= 0);
  Fd copy(pidfd_getfd(self, connection.fd(), 0));
  if (copy < 0) {
    CHECK(errno == EPERM);  // forbidden on this machine
    return;
  }
  check_exchange(connection, copy);
  connection.local().reset();
  CHECK(remote_sees_no_end(connection));
  check_exchange(connection, copy);
  copy.reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("unusual: a connection can't be opened through /proc") {
  Connection connection(TestType::family);
  const std::string path = "/proc/self/fd/" + std::to_string(connection.fd());
  CHECK_FAILS(open(path.c_str(), O_RDWR | O_CLOEXEC), ENXIO);
  char target[64] = {};
  REQUIRE(readlink(path.c_str(), target, sizeof(target) - 1) > 0);
  CHECK(std::string(target).rfind("socket:[", 0) == 0);
}

CONFORMANCE_CASE("unusual: the sockets that libc makes for itself work beside connections") {
  Connection connection(TestType::family);
  const int before = open_descriptors();
  addrinfo hints{};
  hints.ai_family = TestType::family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* addresses = nullptr;
  REQUIRE(getaddrinfo(TestType::family == AF_INET ? "127.0.0.1" : "::1", "80", &hints,
                      &addresses) == 0);
  CHECK(addresses->ai_family == TestType::family);
  freeaddrinfo(addresses);
  ifaddrs* interfaces = nullptr;
  REQUIRE(getifaddrs(&interfaces) == 0);
  CHECK(interfaces != nullptr);
  freeifaddrs(interfaces);
  CHECK(open_descriptors() == before);
  check_exchange(connection, connection.fd());
}
