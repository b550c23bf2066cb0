#include "core/stats/report.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using namespace rsock::stats;

Process example() {
  Process process;
  process.pid = 42;
  process.program = "server\x1b[31m";
  process.page_status = PageStatus::ok;
  process.page.started_realtime_ns = 1'000'000'000ULL * 86'400;
  process.page.counters[static_cast<std::size_t>(Counter::sockets_tracked)] = 2;
  process.page.counters[static_cast<std::size_t>(Counter::closed_tx_tcp_bytes)] = 100;
  process.page.reasons[static_cast<std::size_t>(Reason::marked)] = 1;
  const RowSnapshot row{1, 5, 0, 1536, 7, Reason::marked, Role::server, Path::tcp};
  const RowSnapshot listening{2, 4, 0, 0, 0, Reason::none, Role::listener, Path::tcp};
  process.page.rows = {listening, row};
  process.connections = {
      {listening, {4}, {"0.0.0.0:80", "0.0.0.0:0", kListening}},
      {row, {5, 9}, {"127.0.0.1:80", "127.0.0.1:5000", "established"}},
  };
  return process;
}

std::string table_of(const Process& process, bool listeners) {
  std::ostringstream out;
  print_table(out, {process}, listeners);
  return out.str();
}

TEST_CASE("bytes are written for people") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1.0 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(3'221'225'472) == "3.0 GiB");
  CHECK(human_bytes(~std::uint64_t{0}) == "16.0 EiB");
}

TEST_CASE("the table shows connections aligned, and listeners when asked") {
  CHECK(table_of(example(), false) ==
        "PID  PROGRAM      FD  LOCAL         PEER            STATE        PATH  TX       RX   "
        "REASON\n"
        "42   server?[31m  5   127.0.0.1:80  127.0.0.1:5000  established  tcp   1.5 KiB  7 B  "
        "not upgraded: SO_MARK\n");
  CHECK(table_of(example(), true).find("0.0.0.0:80") != std::string::npos);
}

TEST_CASE("a process without connections has a line that says so") {
  Process process;
  process.pid = 7;
  process.program = "idle";
  CHECK(table_of(process, false).find("no connection") != std::string::npos);
  process.page_status = PageStatus::unsupported_version;
  process.page.version = 2;
  CHECK(table_of(process, false).find("stats page version 2 is not supported") !=
        std::string::npos);
  process.page_status = PageStatus::unreadable;
  CHECK(table_of(process, false).find("stats page is unreadable") != std::string::npos);
}

TEST_CASE("JSON says everything, exactly") {
  std::ostringstream out;
  print_json(out, {example()});
  const auto object = nlohmann::json::parse(out.str());
  CHECK(object["schema"] == "rsock-stat/1");
  const auto& process = object["processes"][0];
  CHECK(process["pid"] == 42);
  CHECK(process["page"] == "ok");
  CHECK(process["started"] == "1970-01-02T00:00:00Z");
  CHECK(process["counters"]["sockets_tracked"] == 2);
  CHECK(process["counters"]["tx_tcp_bytes"] == 1636);
  CHECK(process["counters"]["rx_tcp_bytes"] == 7);
  CHECK(process["reasons"] == nlohmann::json{{"marked", 1}});
  REQUIRE(process["connections"].size() == 1);
  const auto& connection = process["connections"][0];
  CHECK(connection["fd"] == 5);
  CHECK(connection["fds"] == std::vector<int>{5, 9});
  CHECK(connection["role"] == "server");
  CHECK(connection["path"] == "tcp");
  CHECK(connection["reason"] == "marked");
  CHECK(connection["reason_text"] == "not upgraded: SO_MARK");
  CHECK(connection["tx_tcp_bytes"] == 1536);
  CHECK(process["listeners"][0]["local"] == "0.0.0.0:80");
}

TEST_CASE("no control of a terminal gets out of another process") {
  Process process = example();
  process.program =
      "\x1b[2J\x7f\t\n\xc2\x9b"
      "31m\xe2\x80\xae";  // ... CSI, right-to-left override
  std::ostringstream json;
  print_json(json, {process});
  for (const std::string& text : {table_of(process, false), json.str()}) {
    CHECK(std::all_of(text.begin(), text.end(),
                      [](char byte) { return byte == '\n' || (byte >= ' ' && byte <= '~'); }));
  }
  CHECK(printable("\n\x7f\xc2\x9b") == "????");
  CHECK(nlohmann::json::parse(json.str())["processes"][0]["program"] == process.program);
}

TEST_CASE("a name that is no UTF-8 does not break the JSON") {
  Process process = example();
  process.program = "\xff\xfe";
  std::ostringstream out;
  print_json(out, {process});
  CHECK(nlohmann::json::parse(out.str())["processes"][0]["pid"] == 42);
}

}  // namespace
