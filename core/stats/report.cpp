#include "core/stats/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace rsock::stats {

namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr double kUnitStep = 1024;
constexpr std::array kColumns = {"PID",   "PROGRAM", "FD", "LOCAL", "PEER",
                                 "STATE", "PATH",    "TX", "RX",    "REASON"};
constexpr std::size_t kColumnCount = kColumns.size();
using Line = std::array<std::string, kColumnCount>;

std::string_view name_of(Role role) {
  switch (role) {
    case Role::fresh:
      return "fresh";
    case Role::listener:
      return "listener";
    case Role::client:
      return "client";
    case Role::server:
      return "server";
    case Role::inherited:
      return "inherited";
  }
  return "fresh";
}

std::string_view name_of(Path path) {
  switch (path) {
    case Path::tcp:
      return "tcp";
    case Path::verbs:
      return "rdma";
    case Path::shm:
      return "shm";
  }
  return "tcp";
}

// RFC 3339, UTC.
std::string time_text(std::uint64_t realtime_ns) {
  const auto seconds = static_cast<std::time_t>(realtime_ns / kNanosecondsPerSecond);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%FT%TZ", &parts);
  return text.data();
}

bool is_listener(const Connection& connection) {
  return connection.row.role == Role::listener || connection.socket.state == kListening;
}

Line line_of(const Process& process, const Connection& connection) {
  return {std::to_string(process.pid),
          printable(process.program),
          std::to_string(connection.fds.front()),
          connection.socket.local,
          is_listener(connection) ? "-" : connection.socket.peer,
          connection.socket.state,
          is_listener(connection) ? "-" : std::string(name_of(connection.row.path)),
          human_bytes(connection.row.tx_tcp_bytes),
          human_bytes(connection.row.rx_tcp_bytes),
          is_listener(connection) ? "" : reason_text(connection.row.reason)};
}

std::string why_without_connection(const Process& process) {
  switch (process.page_status) {
    case PageStatus::ok:
    case PageStatus::none:
      return "no connection";
    case PageStatus::unreadable:
      return "stats page is unreadable";
    case PageStatus::unsupported_version:
      return "stats page version " + std::to_string(process.page.version) + " is not supported";
  }
  return "";
}

Line line_without_connection(const Process& process) {
  Line line;
  line.fill("-");
  line[0] = std::to_string(process.pid);
  line[1] = printable(process.program);
  line[kColumnCount - 1] = why_without_connection(process);
  return line;
}

std::vector<Line> lines_of(const std::vector<Process>& processes, bool listeners) {
  std::vector<Line> lines;
  for (const Process& process : processes) {
    const std::size_t before = lines.size();
    for (const Connection& connection : process.connections) {
      if (listeners || !is_listener(connection)) lines.push_back(line_of(process, connection));
    }
    if (lines.size() == before) lines.push_back(line_without_connection(process));
  }
  return lines;
}

ordered_json counters_of(const Process& process) {
  ordered_json counters = ordered_json::object();
  for (std::size_t index = 0; index < kCounterCount; ++index) {
    counters[std::string(kCounterNames[index])] = process.page.counters[index];
  }
  auto tx = process.page.counters[static_cast<std::size_t>(Counter::closed_tx_tcp_bytes)];
  auto rx = process.page.counters[static_cast<std::size_t>(Counter::closed_rx_tcp_bytes)];
  for (const RowSnapshot& row : process.page.rows) {
    tx += row.tx_tcp_bytes;
    rx += row.rx_tcp_bytes;
  }
  counters["tx_tcp_bytes"] = tx;
  counters["rx_tcp_bytes"] = rx;
  return counters;
}

ordered_json reasons_of(const Process& process) {
  ordered_json reasons = ordered_json::object();
  for (std::size_t index = 1; index < kReasonCount; ++index) {
    if (process.page.reasons[index] != 0) {
      reasons[std::string(kReasonNames[index])] = process.page.reasons[index];
    }
  }
  return reasons;
}

ordered_json connection_json(const Connection& connection) {
  const RowSnapshot& row = connection.row;
  return {{"fd", connection.fds.front()},
          {"fds", connection.fds},
          {"role", name_of(row.role)},
          {"state", connection.socket.state},
          {"local", connection.socket.local},
          {"peer", connection.socket.peer},
          {"path", name_of(row.path)},
          {"reason", kReasonNames[static_cast<std::size_t>(row.reason)]},
          {"reason_text", reason_text(row.reason)},
          {"since", time_text(row.since_realtime_ns)},
          {"tx_tcp_bytes", row.tx_tcp_bytes},
          {"rx_tcp_bytes", row.rx_tcp_bytes}};
}

ordered_json process_json(const Process& process) {
  ordered_json object = {
      {"pid", process.pid}, {"program", process.program}, {"page", to_string(process.page_status)}};
  if (process.page_status == PageStatus::ok) {
    object["started"] = time_text(process.page.started_realtime_ns);
  }
  object["counters"] = counters_of(process);
  object["reasons"] = reasons_of(process);
  object["connections"] = ordered_json::array();
  object["listeners"] = ordered_json::array();
  for (const Connection& connection : process.connections) {
    if (is_listener(connection)) {
      object["listeners"].push_back({{"fd", connection.fds.front()},
                                     {"fds", connection.fds},
                                     {"local", connection.socket.local}});
    } else {
      object["connections"].push_back(connection_json(connection));
    }
  }
  return object;
}

}  // namespace

std::string reason_text(Reason reason) {
  if (reason == Reason::none) return "";
  return "not upgraded: " + std::string(kReasonTexts[static_cast<std::size_t>(reason)]);
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < static_cast<std::uint64_t>(kUnitStep)) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= kUnitStep && unit + 1 < kUnits.size()) {
    value /= kUnitStep;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& byte : clean) {
    if (byte < ' ' || byte > '~') byte = '?';
  }
  return clean;
}

void print_table(std::ostream& out, const std::vector<Process>& processes, bool listeners) {
  std::vector<Line> lines = lines_of(processes, listeners);
  Line heading;
  std::copy(kColumns.begin(), kColumns.end(), heading.begin());
  lines.insert(lines.begin(), heading);
  std::array<std::size_t, kColumnCount> widths{};
  for (const Line& line : lines) {
    for (std::size_t column = 0; column < kColumnCount; ++column) {
      widths[column] = std::max(widths[column], line[column].size());
    }
  }
  for (const Line& line : lines) {
    std::string text;
    for (std::size_t column = 0; column < kColumnCount; ++column) {
      text += line[column];
      text.append(widths[column] - line[column].size() + 2, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
}

void print_json(std::ostream& out, const std::vector<Process>& processes) {
  ordered_json object = {{"schema", "rsock-stat/1"}, {"processes", ordered_json::array()}};
  for (const Process& process : processes) object["processes"].push_back(process_json(process));
  // Names of programs may be no UTF-8, or hold controls of a terminal beyond ASCII.
  out << object.dump(2, ' ', true, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace rsock::stats
