#define CATCH_CONFIG_RUNNER
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "integration/conformance/modes.h"
#include "integration/conformance/peer.h"
#include "integration/conformance/proof.h"

namespace {

namespace conformance = rsock::conformance;

constexpr int kCaseSeconds = 60;
constexpr int kTimedOutStatus = 124;

char current_case[256];

void give_up(int) {
  static const char text[] = "\nconformance: no end in sight: ";
  static_cast<void>(!write(STDERR_FILENO, text, sizeof(text) - 1));
  static_cast<void>(!write(STDERR_FILENO, current_case, std::strlen(current_case)));
  static_cast<void>(!write(STDERR_FILENO, "\n", 1));
  _Exit(kTimedOutStatus);
}

// Ends the run with the name of the case when one hangs. A POSIX timer, so that SIGALRM stays the
// tests' own and forked children have none.
class Watchdog : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo&) override {
    signal(SIGRTMAX, give_up);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMAX;
    timer_create(CLOCK_MONOTONIC, &event, &timer_);
  }
  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    std::snprintf(current_case, sizeof(current_case), "%s", info.name.c_str());
    arm(kCaseSeconds);
  }
  void testCaseEnded(const Catch::TestCaseStats&) override { arm(0); }

 private:
  void arm(int seconds) {
    itimerspec when{};
    when.it_value.tv_sec = seconds;
    timer_settime(timer_, 0, &when, nullptr);
  }

  timer_t timer_{};
};
CATCH_REGISTER_LISTENER(Watchdog)

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--peer") {
    conformance::serve_as_peer(std::atoi(argv[2]));
  }
  conformance::enter_mode(argv);
  Catch::Session session;
  const int failed = session.run(argc, argv);
  if (failed != 0 || session.configData().listTestNamesOnly || session.configData().listTests) {
    return failed;
  }
  const std::string disproof = conformance::what_disproves_mode();
  if (disproof.empty()) return 0;
  std::fprintf(stderr, "conformance: not in mode %s: %s\n", conformance::mode().name.c_str(),
               disproof.c_str());
  return 1;
}
