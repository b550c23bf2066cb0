#include "core/config/config.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/mark.h"

namespace {

using rsock::config::Config;
using rsock::config::kLogFilePathBytes;
using rsock::config::kShownValueBytes;
using rsock::config::LogLevel;
using rsock::config::ParseErrors;
using rsock::config::Transport;
using rsock::config::UpgradePolicy;

const std::vector<std::string> kVariables = {"RSOCK_TRANSPORT", "RSOCK_UPGRADE", "RSOCK_LOG",
                                             "RSOCK_LOG_FILE", "RSOCK_STATS"};

std::map<std::string, std::string> environment;

const char* look_up(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.c_str();
}

struct Parsed {
  Config config;
  ParseErrors errors;
};

Parsed parse(std::map<std::string, std::string> variables) {
  environment = std::move(variables);
  Parsed parsed{};
  parsed.errors = rsock::config::parse(&look_up, parsed.config);
  return parsed;
}

void check_defaults(const Config& config) {
  CHECK(config.transport == Transport::automatic);
  CHECK(config.upgrade == UpgradePolicy::adaptive);
  CHECK(config.log_level == LogLevel::error);
  CHECK(config.stats);
  CHECK(std::string(config.log_file).empty());
}

static_assert(std::is_trivially_copyable_v<Config>);

}  // namespace

TEST_CASE("the settings have defaults before anything is read") { check_defaults(Config{}); }

TEST_CASE("an empty environment leaves the defaults") {
  const Parsed parsed = parse({});
  check_defaults(parsed.config);
  CHECK(parsed.errors.size() == 0);
}

TEST_CASE("an empty variable is as good as none") {
  std::map<std::string, std::string> variables;
  for (const std::string& name : kVariables) variables[name] = "";
  const Parsed parsed = parse(variables);
  check_defaults(parsed.config);
  CHECK(parsed.errors.size() == 0);
}

TEST_CASE("every documented value is understood") {
  CHECK(parse({{"RSOCK_TRANSPORT", "auto"}}).config.transport == Transport::automatic);
  CHECK(parse({{"RSOCK_TRANSPORT", "rdma"}}).config.transport == Transport::rdma);
  CHECK(parse({{"RSOCK_TRANSPORT", "shm"}}).config.transport == Transport::shm);
  CHECK(parse({{"RSOCK_TRANSPORT", "tcp"}}).config.transport == Transport::tcp);
  CHECK(parse({{"RSOCK_UPGRADE", "eager"}}).config.upgrade == UpgradePolicy::eager);
  CHECK(parse({{"RSOCK_UPGRADE", "adaptive"}}).config.upgrade == UpgradePolicy::adaptive);
  CHECK(parse({{"RSOCK_UPGRADE", "off"}}).config.upgrade == UpgradePolicy::off);
  CHECK(parse({{"RSOCK_LOG", "error"}}).config.log_level == LogLevel::error);
  CHECK(parse({{"RSOCK_LOG", "warn"}}).config.log_level == LogLevel::warn);
  CHECK(parse({{"RSOCK_LOG", "info"}}).config.log_level == LogLevel::info);
  CHECK(parse({{"RSOCK_LOG", "debug"}}).config.log_level == LogLevel::debug);
  CHECK(parse({{"RSOCK_LOG", "trace"}}).config.log_level == LogLevel::trace);
  CHECK(parse({{"RSOCK_STATS", "on"}}).config.stats);
  CHECK(!parse({{"RSOCK_STATS", "off"}}).config.stats);
  CHECK(std::string(parse({{"RSOCK_LOG_FILE", "/var/log/x"}}).config.log_file) == "/var/log/x");
  for (const auto& [name, value] : std::map<std::string, std::string>{{"RSOCK_TRANSPORT", "shm"},
                                                                      {"RSOCK_UPGRADE", "off"},
                                                                      {"RSOCK_LOG", "trace"},
                                                                      {"RSOCK_STATS", "off"},
                                                                      {"RSOCK_LOG_FILE", "x"}}) {
    CHECK(parse({{name, value}}).errors.size() == 0);
  }
}

TEST_CASE("levels of the log grow with what they print") {
  CHECK(LogLevel::error < LogLevel::warn);
  CHECK(LogLevel::warn < LogLevel::info);
  CHECK(LogLevel::info < LogLevel::debug);
  CHECK(LogLevel::debug < LogLevel::trace);
}

TEST_CASE("the text of a value is what is parsed") {
  CHECK(to_string(Transport::automatic) == "auto");
  CHECK(to_string(Transport::tcp) == "tcp");
  CHECK(to_string(UpgradePolicy::eager) == "eager");
  CHECK(to_string(UpgradePolicy::off) == "off");
  CHECK(to_string(LogLevel::error) == "error");
  CHECK(to_string(LogLevel::trace) == "trace");
}

TEST_CASE("a broken value leaves its default and the other settings") {
  const auto before = rsock::marks::hit_count(rsock::marks::Mark::config_value_broken);
  const Parsed parsed = parse({{"RSOCK_TRANSPORT", "infiniband"}, {"RSOCK_LOG", "debug"}});
  CHECK(parsed.config.transport == Transport::automatic);
  CHECK(parsed.config.log_level == LogLevel::debug);
  REQUIRE(parsed.errors.size() == 1);
  CHECK(parsed.errors.begin()->variable == "RSOCK_TRANSPORT");
  CHECK(std::string(parsed.errors.begin()->value) == "infiniband");
  CHECK(parsed.errors.begin()->why == "none of: auto rdma shm tcp");
  CHECK(rsock::marks::hit_count(rsock::marks::Mark::config_value_broken) == before + 1);
}

TEST_CASE("a value that nearly is one is broken") {
  const std::vector<std::string> values = {"TCP", "tcp ", " tcp", "tc", "tcpp", "tcp\n", "tcp,shm"};
  for (const std::string& value : values) {
    CAPTURE(value);
    const Parsed parsed = parse({{"RSOCK_TRANSPORT", value}});
    CHECK(parsed.errors.size() == 1);
    CHECK(parsed.config.transport == Transport::automatic);
  }
  CHECK(parse({{"RSOCK_STATS", "1"}}).errors.begin()->why == "none of: off on");
  CHECK(parse({{"RSOCK_UPGRADE", "on"}}).errors.begin()->why == "none of: eager adaptive off");
  CHECK(parse({{"RSOCK_LOG", "5"}}).errors.begin()->why == "none of: error warn info debug trace");
}

TEST_CASE("all variables may be broken at once") {
  const Parsed parsed = parse({{"RSOCK_TRANSPORT", "?"},
                               {"RSOCK_UPGRADE", "?"},
                               {"RSOCK_LOG", "?"},
                               {"RSOCK_STATS", "?"},
                               {"RSOCK_LOG_FILE", std::string(kLogFilePathBytes, 'x')}});
  check_defaults(parsed.config);
  CHECK(parsed.errors.size() == rsock::config::kVariableCount);
  CHECK(kVariables.size() == rsock::config::kVariableCount);
}

TEST_CASE("a path of the log may be as long as a path can be") {
  const std::string longest(kLogFilePathBytes - 1, 'x');
  const Parsed fits = parse({{"RSOCK_LOG_FILE", longest}});
  CHECK(fits.errors.size() == 0);
  CHECK(std::string(fits.config.log_file) == longest);

  const Parsed too_long = parse({{"RSOCK_LOG_FILE", longest + "x"}});
  REQUIRE(too_long.errors.size() == 1);
  CHECK(too_long.errors.begin()->variable == "RSOCK_LOG_FILE");
  CHECK(std::string(too_long.config.log_file).empty());
}

TEST_CASE("the value shown of a broken variable is short and printable") {
  const Parsed parsed = parse({{"RSOCK_LOG", "\x1b[31mred\n\x7f\xff" + std::string(500, 'x')}});
  REQUIRE(parsed.errors.size() == 1);
  const std::string shown = parsed.errors.begin()->value;
  CHECK(shown.starts_with("?[31mred???xxx"));
  CHECK(shown.size() == kShownValueBytes - 1);
}

TEST_CASE("any value is either understood or an error") {
  constexpr int kRounds = 2000;
  constexpr std::size_t kLengthMax = 80;
  std::mt19937 random(1);
  for (int round = 0; round < kRounds; ++round) {
    std::map<std::string, std::string> variables;
    for (const std::string& name : kVariables) {
      std::string& value = variables[name];
      for (std::size_t left = random() % kLengthMax; left != 0; --left) {
        value += static_cast<char>(random());
      }
    }
    const Parsed parsed = parse(variables);
    for (const rsock::config::ParseError& error : parsed.errors) {
      CHECK(error.variable != "RSOCK_LOG_FILE");
      for (const char* at = error.value; *at != '\0'; ++at) {
        if (*at < ' ' || *at > '~') FAIL("a character that is not printable is shown");
      }
    }
    CHECK(std::string(parsed.config.log_file) == variables["RSOCK_LOG_FILE"].c_str());
  }
}

TEST_CASE("the settings in force are those that were set") {
  check_defaults(rsock::config::config());
  Config changed;
  changed.transport = Transport::tcp;
  changed.stats = false;
  rsock::config::set_config(changed);
  CHECK(rsock::config::config().transport == Transport::tcp);
  CHECK(!rsock::config::config().stats);
  rsock::config::set_config(Config{});
  check_defaults(rsock::config::config());
}
