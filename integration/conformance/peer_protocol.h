#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rsock::conformance {

enum class Command : std::int32_t {
  listen,
  connect,
  accept,
  close,
  shutdown,
  set_option,
  set_linger,
  send,
  receive,
  receive_all,
  receive_pattern_to_end,
  send_pattern,
  echo,
  poll,
  query,
  give_descriptor,
  take_descriptor,
  exit,
};

// What goes over the control connection, followed by `data_bytes` of data. Both ends are the same
// program on the same machine.
struct Request {
  Command command;
  std::int32_t fd;
  std::int64_t a, b, c;
  std::int32_t delay_ms;
  std::uint32_t data_bytes;
};

struct Reply {
  std::int64_t result;
  std::int32_t error;
  std::uint32_t data_bytes;
};

// Whole messages over the control connection; false when the other end is gone. They use raw
// system calls, so that the library under test has no part in them.
bool write_control(int control, const void* bytes, std::size_t count);
bool read_control(int control, void* bytes, std::size_t count);
// One byte with a descriptor.
bool write_descriptor(int control, int fd);
int read_descriptor(int control);

}  // namespace rsock::conformance
