// A signal handler may do with sockets whatever the code may that it interrupts, in the middle of
// the library too: nothing is lost, nothing is counted twice, nothing waits for ever.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tests/purity/expect.h"
#include "tests/purity/forbidden.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

// The storm ends when the handlers have run so often, and so often met the library at work.
constexpr long kRuns = 2000;
constexpr long kRunsInLibrary = 20;
// A handler's timer is armed again when it ends, so the code below it gets on.
constexpr long kPauseNs = 50'000;
constexpr int kSignals[] = {SIGUSR1, SIGUSR2};
constexpr std::size_t kSignalCount = std::size(kSignals);

timer_t timers[kSignalCount];
TcpPair handler_pairs[kSignalCount];
std::atomic<bool> over{false};
std::atomic<long> runs{0};
std::atomic<long> runs_in_library{0};
std::atomic<std::uint64_t> handler_bytes[kSignalCount];
const void* library_base = nullptr;

const void* base_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

void arm(std::size_t index) {
  const itimerspec once{{0, 0}, {0, kPauseNs}};
  EXPECT_EQUAL(timer_settime(timers[index], 0, &once, nullptr), 0);
}

// Opens, shares, replaces and closes descriptors, and moves a byte through `pair`.
void use_everything(const TcpPair& pair) {
  int ends[2];
  EXPECT_EQUAL(pipe2(ends, O_CLOEXEC), 0);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int shared = dup(fd);
  EXPECT(fd >= 0 && shared >= 0);
  EXPECT_EQUAL(close(fd), 0);
  EXPECT_EQUAL(dup2(ends[0], shared), shared);
  EXPECT_EQUAL(dup3(pair.client, ends[0], O_CLOEXEC), ends[0]);
  EXPECT_EQUAL(close(ends[1]), 0);
  EXPECT_EQUAL(close(shared), 0);
  tcp_send(pair, 1);
  EXPECT_EQUAL(close(ends[0]), 0);
  const TcpPair own = tcp_pair();
  tcp_send(own, 1);
  EXPECT_EQUAL(close(own.client), 0);
  EXPECT_EQUAL(close(own.server), 0);
}

void handle(int signal_number, siginfo_t*, void* context) {
  const int entry_errno = errno;
  {
    const Forbidden forbidden(0);
    const std::size_t index = signal_number == kSignals[0] ? 0 : 1;
    const auto* interrupted = static_cast<const ucontext_t*>(context);
    const auto address = static_cast<std::uintptr_t>(interrupted->uc_mcontext.gregs[REG_RIP]);
    // The text of the library is a few pages.
    constexpr std::uintptr_t kTextBytesMax = 1 << 20;
    const auto base = reinterpret_cast<std::uintptr_t>(library_base);
    if (address >= base && address - base < kTextBytesMax) ++runs_in_library;
    use_everything(handler_pairs[index]);
    handler_bytes[index].fetch_add(1);
    ++runs;
    if (!over) arm(index);
  }
  errno = entry_errno;
}

void start_storm() {
  library_base = base_of(dlsym(RTLD_DEFAULT, "read"));
  for (std::size_t index = 0; index < kSignalCount; ++index) {
    // Each handler may interrupt the other.
    struct sigaction action {};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    EXPECT_EQUAL(sigaction(kSignals[index], &action, nullptr), 0);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = kSignals[index];
    EXPECT_EQUAL(timer_create(CLOCK_MONOTONIC, &event, &timers[index]), 0);
    arm(index);
  }
}

void end_storm() {
  over = true;
  for (const timer_t& timer : timers) EXPECT_EQUAL(timer_delete(timer), 0);
  for (const int signal_number : kSignals) signal(signal_number, SIG_IGN);
}

}  // namespace

PURITY_CASE(over_open_and_close) {
  const TcpPair main_pair = tcp_pair();
  for (TcpPair& pair : handler_pairs) pair = tcp_pair();
  const int open_before = open_descriptors();
  const OwnPage page;
  std::uint64_t main_bytes = 0;
  start_storm();
  while (runs < kRuns || runs_in_library < kRunsInLibrary) {
    use_everything(main_pair);
    ++main_bytes;
  }
  end_storm();
  EXPECT_EQUAL(open_descriptors(), open_before);
  EXPECT_EQUAL(page.open_sockets(), 2 + 2 * static_cast<long>(kSignalCount));
  EXPECT_EQUAL(page.count(stats::Counter::stale_purged), 0);
  EXPECT_EQUAL(page.count(stats::Counter::sockets_untracked), 0);
  EXPECT_EQUAL(page.row(main_pair.client)->tx_tcp_bytes.load(), main_bytes);
  EXPECT_EQUAL(page.row(main_pair.server)->rx_tcp_bytes.load(), main_bytes);
  for (std::size_t index = 0; index < kSignalCount; ++index) {
    const auto* row = page.row(handler_pairs[index].client);
    EXPECT_EQUAL(row->tx_tcp_bytes.load(), handler_bytes[index].load());
  }
}

}  // namespace rsock::purity
