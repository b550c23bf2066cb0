#include "core/base/text_buffer.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using rsock::TextBuffer;
using rsock::marks::hit_count;
using rsock::marks::Mark;

constexpr std::size_t kAmple = 256;

}  // namespace

TEST_CASE("a text buffer begins empty") {
  TextBuffer<kAmple> text;
  CHECK(text.view().empty());
  CHECK(text.end_line() == "\n");
}

TEST_CASE("a text buffer joins text and numbers") {
  TextBuffer<kAmple> text;
  text.append("sock ").append_decimal(17).append(": qp ").append_hex(0x1abU).append("");
  CHECK(text.view() == "sock 17: qp 0x1ab");
  CHECK(text.end_line() == "sock 17: qp 0x1ab\n");
}

TEST_CASE("a text buffer writes the numbers at the ends of their types") {
  const auto decimal = [](auto value) {
    return std::string(TextBuffer<kAmple>().append_decimal(value).view());
  };
  const auto hex = [](auto value) {
    return std::string(TextBuffer<kAmple>().append_hex(value).view());
  };
  CHECK(decimal(0) == "0");
  CHECK(decimal(-1) == "-1");
  CHECK(decimal(INT64_MIN) == "-9223372036854775808");
  CHECK(decimal(INT64_MAX) == "9223372036854775807");
  CHECK(decimal(UINT64_MAX) == "18446744073709551615");
  CHECK(decimal(std::int8_t{-128}) == "-128");
  CHECK(decimal(std::uint8_t{255}) == "255");
  CHECK(hex(0U) == "0x0");
  CHECK(hex(UINT64_MAX) == "0xffffffffffffffff");
}

TEST_CASE("a text buffer takes exactly what fits beside the newline") {
  TextBuffer<8> text;
  const std::uint64_t before = hit_count(Mark::text_truncated);
  text.append("1234").append("567");
  CHECK(text.view() == "1234567");
  text.append({}).append("");
  CHECK(hit_count(Mark::text_truncated) == before);
  CHECK(text.end_line() == "1234567\n");
}

TEST_CASE("a text buffer cuts what does not fit and says so") {
  TextBuffer<8> text;
  const std::uint64_t before = hit_count(Mark::text_truncated);
  text.append("1234").append("5678");
  CHECK(text.view() == "1234...");
  CHECK(hit_count(Mark::text_truncated) == before + 1);
  text.append("x").append_decimal(1).append_hex(1U).append("");
  CHECK(hit_count(Mark::text_truncated) == before + 1);
  CHECK(text.end_line() == "1234...\n");
}

TEST_CASE("a text buffer is cut at every length without harm") {
  const std::string long_text(32, 'x');
  for (std::size_t first = 0; first <= long_text.size(); ++first) {
    for (std::size_t second = 0; second <= long_text.size(); ++second) {
      TextBuffer<16> text;
      text.append(std::string_view(long_text).substr(0, first));
      text.append(std::string_view(long_text).substr(0, second));
      const bool fits = first + second <= 15;
      CHECK(text.view().size() == (fits ? first + second : 15));
      CHECK(text.view().ends_with("...") == !fits);
      CHECK(text.end_line().ends_with("\n"));
    }
  }
}
