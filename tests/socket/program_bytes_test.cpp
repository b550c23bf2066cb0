#include "core/socket/program_bytes.h"

#include <catch2/catch.hpp>
#include <string>

using rsock::socket::ProgramBytes;

TEST_CASE("parts are one row of bytes, empty ones among them") {
  char one[] = "abc";
  char two[] = "defgh";
  const iovec parts[] = {{nullptr, 0}, {one, 3}, {nullptr, 0}, {two, 5}, {nullptr, 0}};
  ProgramBytes bytes(parts, 5);
  CHECK(bytes.left_bytes() == 8);
  std::byte copy[8];
  bytes.copy_to(copy, 2);
  bytes.copy_to(copy + 2, 4);
  CHECK(bytes.left_bytes() == 2);
  bytes.copy_to(copy + 6, 2);
  CHECK(std::string(reinterpret_cast<char*>(copy), 8) == "abcdefgh");
  CHECK(bytes.left_bytes() == 0);
}

TEST_CASE("bytes are put where the last ones ended") {
  char one[2];
  char two[3];
  const iovec parts[] = {{one, 2}, {two, 3}};
  ProgramBytes bytes(parts, 2);
  const std::string text = "12345";
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  bytes.copy_from(from, 3);
  bytes.skip(1);
  bytes.copy_from(from + 4, 1);
  CHECK(std::string(one, 2) == "12");
  CHECK(two[0] == '3');
  CHECK(two[2] == '5');
}

TEST_CASE("what is left goes to the kernel as parts") {
  char one[4];
  char two[4];
  const iovec parts[] = {{one, 4}, {nullptr, 0}, {two, 4}};
  ProgramBytes bytes(parts, 3);
  bytes.skip(3);
  iovec next[3];
  CHECK(bytes.next_parts(next, 3, 100) == 3);
  CHECK(next[0].iov_base == one + 3);
  CHECK(next[0].iov_len == 1);
  CHECK(next[2].iov_len == 4);
  CHECK(bytes.next_parts(next, 1, 100) == 1);
  CHECK(bytes.next_parts(next, 3, 2) >= 2);
  CHECK(next[0].iov_len == 1);
}

TEST_CASE("no parts are no bytes") {
  const ProgramBytes bytes(nullptr, 0);
  CHECK(bytes.left_bytes() == 0);
  iovec next[1];
  CHECK(bytes.next_parts(next, 1, 10) == 0);
}
