// The peer's side: one function for each command.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "integration/conformance/addresses.h"
#include "integration/conformance/pattern.h"
#include "integration/conformance/peer.h"
#include "integration/conformance/peer_protocol.h"

namespace rsock::conformance {

namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;

Outcome outcome_of(std::int64_t result, std::string data = {}) {
  return {result, result < 0 ? errno : 0, std::move(data)};
}

Outcome do_listen(const Request& wanted) {
  const int family = static_cast<int>(wanted.a);
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Address address = loopback(family, 0);
  if (fd < 0 || bind(fd, address.generic(), address.length) != 0 ||
      listen(fd, static_cast<int>(wanted.b)) != 0) {
    return outcome_of(-1);
  }
  return outcome_of(fd, std::to_string(port_of(fd)));
}

Outcome do_connect(const Request& wanted) {
  const int family = static_cast<int>(wanted.a);
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Address address = loopback(family, static_cast<std::uint16_t>(wanted.b));
  if (fd < 0 || connect(fd, address.generic(), address.length) != 0) return outcome_of(-1);
  return outcome_of(fd);
}

Outcome do_receive(const Request& wanted) {
  std::string data(static_cast<std::size_t>(wanted.a), '\0');
  const ssize_t got = recv(wanted.fd, data.data(), data.size(), static_cast<int>(wanted.b));
  data.resize(got > 0 ? std::min(static_cast<std::size_t>(got), data.size()) : 0);
  return outcome_of(got, data);
}

Outcome do_receive_all(const Request& wanted) {
  std::string data(static_cast<std::size_t>(wanted.a), '\0');
  std::size_t filled = 0;
  while (filled < data.size()) {
    const ssize_t got = recv(wanted.fd, data.data() + filled, data.size() - filled, 0);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  data.resize(filled);
  return {static_cast<std::int64_t>(filled), 0, data};
}

Outcome do_receive_pattern_to_end(const Request& wanted) {
  const auto seed = static_cast<std::uint64_t>(wanted.a);
  const auto from = static_cast<std::uint64_t>(wanted.b);
  std::vector<char> buffer(kChunkBytes);
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t got = recv(wanted.fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return {static_cast<std::int64_t>(total), got < 0 ? errno : 0, {}};
    const auto count = static_cast<std::size_t>(got);
    const std::size_t right = matching(seed, from + total, buffer.data(), count);
    total += right;
    if (right < count) return {static_cast<std::int64_t>(total), EILSEQ, {}};
  }
}

Outcome do_send_pattern(const Request& wanted) {
  const auto seed = static_cast<std::uint64_t>(wanted.a);
  const auto from = static_cast<std::uint64_t>(wanted.b);
  const auto count = static_cast<std::uint64_t>(wanted.c);
  std::uint64_t sent = 0;
  while (sent < count) {
    const std::string chunk =
        pattern(seed, from + sent, static_cast<std::size_t>(std::min(count - sent, kChunkBytes)));
    const ssize_t put = send(wanted.fd, chunk.data(), chunk.size(), MSG_NOSIGNAL);
    if (put < 0) return {static_cast<std::int64_t>(sent), errno, {}};
    sent += static_cast<std::uint64_t>(put);
  }
  return {static_cast<std::int64_t>(sent), 0, {}};
}

Outcome do_echo(const Request& wanted) {
  std::vector<char> buffer(kChunkBytes);
  std::int64_t done = 0;
  while (done < wanted.a) {
    const ssize_t got = recv(wanted.fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return {done, got < 0 ? errno : 0, {}};
    for (ssize_t put = 0; put < got;) {
      const ssize_t now =
          send(wanted.fd, buffer.data() + put, static_cast<std::size_t>(got - put), MSG_NOSIGNAL);
      if (now < 0) return {done, errno, {}};
      put += now;
    }
    done += got;
  }
  return {done, 0, {}};
}

Outcome do_set_linger(const Request& wanted) {
  const linger value{wanted.a >= 0 ? 1 : 0, static_cast<int>(wanted.a)};
  return outcome_of(setsockopt(wanted.fd, SOL_SOCKET, SO_LINGER, &value, sizeof(value)));
}

Outcome do_set_option(const Request& wanted) {
  const int value = static_cast<int>(wanted.c);
  return outcome_of(setsockopt(wanted.fd, static_cast<int>(wanted.a), static_cast<int>(wanted.b),
                               &value, sizeof(value)));
}

Outcome do_poll(const Request& wanted) {
  pollfd entry{wanted.fd, static_cast<short>(wanted.a), 0};
  const int ready = poll(&entry, 1, static_cast<int>(wanted.b));
  return ready < 0 ? outcome_of(-1) : outcome_of(entry.revents);
}

Outcome do_query(const Request& wanted) {
  int value = 0;
  const int result = ioctl(wanted.fd, static_cast<unsigned long>(wanted.a), &value);
  return result < 0 ? outcome_of(-1) : outcome_of(value);
}

Outcome obey(int control, const Request& wanted, const std::string& data) {
  if (wanted.delay_ms > 0) usleep(static_cast<useconds_t>(wanted.delay_ms) * 1000);
  switch (wanted.command) {
    case Command::listen:
      return do_listen(wanted);
    case Command::connect:
      return do_connect(wanted);
    case Command::accept:
      return outcome_of(accept4(wanted.fd, nullptr, nullptr, SOCK_CLOEXEC));
    case Command::close:
      return outcome_of(close(wanted.fd));
    case Command::shutdown:
      return outcome_of(shutdown(wanted.fd, static_cast<int>(wanted.a)));
    case Command::set_option:
      return do_set_option(wanted);
    case Command::set_linger:
      return do_set_linger(wanted);
    case Command::send:
      return outcome_of(
          send(wanted.fd, data.data(), data.size(), static_cast<int>(wanted.a) | MSG_NOSIGNAL));
    case Command::receive:
      return do_receive(wanted);
    case Command::receive_all:
      return do_receive_all(wanted);
    case Command::receive_pattern_to_end:
      return do_receive_pattern_to_end(wanted);
    case Command::send_pattern:
      return do_send_pattern(wanted);
    case Command::echo:
      return do_echo(wanted);
    case Command::poll:
      return do_poll(wanted);
    case Command::query:
      return do_query(wanted);
    case Command::give_descriptor:
      return outcome_of(read_descriptor(control));
    case Command::take_descriptor:
      return outcome_of(write_descriptor(control, wanted.fd) ? 0 : -1);
    case Command::exit:
      std::exit(0);
  }
  return {-1, ENOSYS, {}};
}

}  // namespace

void serve_as_peer(int control) {
  fcntl(control, F_SETFD, FD_CLOEXEC);
  Request wanted{};
  while (read_control(control, &wanted, sizeof(wanted))) {
    std::string data(wanted.data_bytes, '\0');
    if (!read_control(control, data.data(), data.size())) break;
    const Outcome outcome = obey(control, wanted, data);
    const Reply reply{outcome.result, outcome.error,
                      static_cast<std::uint32_t>(outcome.data.size())};
    if (!write_control(control, &reply, sizeof(reply))) break;
    if (!write_control(control, outcome.data.data(), outcome.data.size())) break;
  }
  std::_Exit(0);
}

}  // namespace rsock::conformance
