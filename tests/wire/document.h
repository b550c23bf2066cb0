#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rsock::testing {

inline std::string protocol_document() {
  std::ifstream file(RSOCK_PROTOCOL);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The bytes, written in hex there, of the example that PROTOCOL.md has of `name`.
inline std::vector<std::byte> protocol_example(const std::string& name) {
  const std::string text = protocol_document();
  std::size_t begin = text.find("Example of " + name + ":");
  REQUIRE(begin != std::string::npos);
  begin = text.find("\n    ", begin);
  const std::string block = text.substr(begin, text.find("\n\n", begin) - begin);
  std::vector<std::byte> bytes;
  std::istringstream words(block);
  for (std::string word; words >> word;) {
    bytes.push_back(static_cast<std::byte>(std::stoul(word, nullptr, 16)));
  }
  return bytes;
}

}  // namespace rsock::testing
