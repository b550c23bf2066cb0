// rsock-stat: lists the processes that run librsock.so and their TCP connections.
#include <getopt.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "core/stats/process_scan.h"
#include "core/stats/report.h"

// This program has one thread.
// NOLINTBEGIN(concurrency-mt-unsafe)

namespace {

using rsock::stats::Process;
using rsock::stats::ProcessScan;

constexpr int kUsageStatus = 2;
constexpr char kUsage[] =
    "Usage: rsock-stat [list] [options]\n"
    "Lists the processes that run librsock.so and their TCP connections.\n"
    "\n"
    "  -p, --pid PID     only this process\n"
    "  -l, --listening   listening sockets too\n"
    "  -j, --json        one JSON object, schema rsock-stat/1, with all counters\n"
    "  -h, --help        this text\n"
    "  -V, --version     the version\n"
    "\n"
    "Without root, one's own processes are seen.\n"
    "Exit status: 0; 1 if PID can't be shown or the output can't be written; 2 for wrong usage.\n";

constexpr option kLongOptions[] = {
    {"pid", required_argument, nullptr, 'p'}, {"listening", no_argument, nullptr, 'l'},
    {"json", no_argument, nullptr, 'j'},      {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},   {nullptr, 0, nullptr, 0},
};

struct Options {
  std::optional<int> pid;
  bool listening = false;
  bool json = false;
};

[[noreturn]] void leave_with_usage(const std::string& what) {
  std::cerr << "rsock-stat: " << what << "\nTry 'rsock-stat --help'.\n";
  std::exit(kUsageStatus);
}

int parse_pid(const char* text) {
  int pid = 0;
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, pid);
  if (result.ec != std::errc() || result.ptr != end || pid <= 0) {
    leave_with_usage(std::string("'") + text + "' is no process id");
  }
  return pid;
}

// Ends the program unless all of the output arrived.
[[noreturn]] void leave() {
  std::cout.flush();
  if (std::cout.good()) std::exit(EXIT_SUCCESS);
  std::cerr << "rsock-stat: can't write the output\n";
  std::exit(EXIT_FAILURE);
}

Options parse_options(int argc, char** argv) {
  Options options;
  int letter = 0;
  while ((letter = getopt_long(argc, argv, "p:ljhV", kLongOptions, nullptr)) != -1) {
    switch (letter) {
      case 'p':
        options.pid = parse_pid(optarg);
        break;
      case 'l':
        options.listening = true;
        break;
      case 'j':
        options.json = true;
        break;
      case 'h':
        std::cout << kUsage;
        leave();
      case 'V':
        std::cout << "rsock-stat " RSOCK_VERSION "\n";
        leave();
      default:
        std::cerr << "Try 'rsock-stat --help'.\n";
        std::exit(kUsageStatus);
    }
  }
  if (optind < argc && std::strcmp(argv[optind], "list") == 0) ++optind;
  if (optind < argc) leave_with_usage(std::string("unknown command '") + argv[optind] + "'");
  return options;
}

std::vector<Process> find_processes(const Options& options) {
  ProcessScan scan;
  if (!options.pid) return scan.all();
  std::string why;
  auto process = scan.one(*options.pid, why);
  if (!process) {
    std::cerr << "rsock-stat: process " << *options.pid << ": " << why << '\n';
    std::exit(EXIT_FAILURE);
  }
  return {std::move(*process)};
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // A closed pipe is an error of the output like any other.
  const Options options = parse_options(argc, argv);
  const std::vector<Process> processes = find_processes(options);
  if (options.json) {
    rsock::stats::print_json(std::cout, processes);
  } else {
    rsock::stats::print_table(std::cout, processes, options.listening);
  }
  leave();
}

// NOLINTEND(concurrency-mt-unsafe)
