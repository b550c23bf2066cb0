#include "core/config/config.h"

#include <cstring>

#include "core/base/check.h"
#include "core/base/mark.h"

namespace rsock::config {

namespace {

template <typename Value>
struct NamedValue {
  Value value;
  std::string_view text;
};

#define RSOCK_TRANSPORT_ENTRY(name, text) {Transport::name, text},
#define RSOCK_UPGRADE_ENTRY(name, text) {UpgradePolicy::name, text},
#define RSOCK_LOG_LEVEL_ENTRY(name, text) {LogLevel::name, text},
#define RSOCK_TEXT(name, text) " " text

constexpr NamedValue<Transport> kTransports[] = {RSOCK_TRANSPORTS(RSOCK_TRANSPORT_ENTRY)};
constexpr NamedValue<UpgradePolicy> kUpgradePolicies[] = {
    RSOCK_UPGRADE_POLICIES(RSOCK_UPGRADE_ENTRY)};
constexpr NamedValue<LogLevel> kLogLevels[] = {RSOCK_LOG_LEVELS(RSOCK_LOG_LEVEL_ENTRY)};
constexpr NamedValue<bool> kSwitch[] = {{false, "off"}, {true, "on"}};

constexpr std::string_view kNotATransport = "none of:" RSOCK_TRANSPORTS(RSOCK_TEXT);
constexpr std::string_view kNotAnUpgradePolicy = "none of:" RSOCK_UPGRADE_POLICIES(RSOCK_TEXT);
constexpr std::string_view kNotALogLevel = "none of:" RSOCK_LOG_LEVELS(RSOCK_TEXT);
constexpr std::string_view kNotASwitch = "none of: off on";
constexpr std::string_view kTooLong = "longer than a path can be";

constexpr char kShownForUnprintable = '?';

constinit Config the_config;

// The tables are in the order of their enums.
template <typename Value, std::size_t kCount>
std::string_view text_of(const NamedValue<Value> (&table)[kCount], Value value) {
  const auto index = static_cast<std::size_t>(value);
  RSOCK_CHECK(index < kCount);
  return table[index].text;
}

// The variable's value, or an empty text.
std::string_view value_of(Lookup lookup, const char* variable) {
  const char* value = lookup(variable);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

template <typename Value, std::size_t kCount>
void parse_choice(Lookup lookup, const char* variable, const NamedValue<Value> (&table)[kCount],
                  std::string_view why_not, Value& setting, ParseErrors& errors) {
  const std::string_view text = value_of(lookup, variable);
  if (text.empty()) return;
  for (const NamedValue<Value>& known : table) {
    if (known.text == text) {
      setting = known.value;
      return;
    }
  }
  errors.add(variable, text, why_not);
}

template <std::size_t kCapacity>
void parse_path(Lookup lookup, const char* variable, char (&setting)[kCapacity],
                ParseErrors& errors) {
  const std::string_view text = value_of(lookup, variable);
  if (text.empty()) return;
  if (text.size() >= kCapacity) {
    errors.add(variable, text, kTooLong);
    return;
  }
  std::memcpy(setting, text.data(), text.size());
  setting[text.size()] = '\0';
}

}  // namespace

std::string_view to_string(Transport transport) noexcept { return text_of(kTransports, transport); }

std::string_view to_string(UpgradePolicy policy) noexcept {
  return text_of(kUpgradePolicies, policy);
}

std::string_view to_string(LogLevel level) noexcept { return text_of(kLogLevels, level); }

void ParseErrors::add(std::string_view variable, std::string_view value,
                      std::string_view why) noexcept {
  RSOCK_CHECK(count_ < kVariableCount);
  RSOCK_MARK(config_value_broken);
  ParseError& error = errors_[count_++];
  error.variable = variable;
  error.why = why;
  std::size_t length = 0;
  for (const char character : value) {
    if (length == kShownValueBytes - 1) break;
    const bool printable = character >= ' ' && character <= '~';
    error.value[length++] = printable ? character : kShownForUnprintable;
  }
  error.value[length] = '\0';
}

ParseErrors parse(Lookup lookup, Config& config) noexcept {
  ParseErrors errors;
  parse_choice(lookup, "RSOCK_TRANSPORT", kTransports, kNotATransport, config.transport, errors);
  parse_choice(lookup, "RSOCK_UPGRADE", kUpgradePolicies, kNotAnUpgradePolicy, config.upgrade,
               errors);
  parse_choice(lookup, "RSOCK_LOG", kLogLevels, kNotALogLevel, config.log_level, errors);
  parse_choice(lookup, "RSOCK_STATS", kSwitch, kNotASwitch, config.stats, errors);
  parse_path(lookup, "RSOCK_LOG_FILE", config.log_file, errors);
  return errors;
}

const Config& config() noexcept { return the_config; }

void set_config(const Config& config) noexcept { the_config = config; }

}  // namespace rsock::config
