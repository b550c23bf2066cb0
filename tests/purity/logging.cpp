// What the library writes, and where: nothing in a healthy run, and never into a file or
// connection of the program's that happens to have number 2.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/purity/child.h"
#include "tests/purity/expect.h"
#include "tests/purity/own_page.h"
#include "tests/purity/tcp_pair.h"

namespace rsock::purity {

namespace {

constexpr int kFirst = 3;
constexpr int kPatienceMs = 50;

// Makes the library say something: each is worth one line at level warn.
void open_past_the_library() {
  for (int count = 0; count < 2; ++count) {
    EXPECT(dlopen(RSOCK_PURITY_INNER_LIBRARY, RTLD_NOW | RTLD_DEEPBIND) != nullptr);
  }
}

void use_sockets() {
  const TcpPair pair = tcp_pair();
  tcp_send(pair, 1);
  run_in_forked_child(&fork, [] { static_cast<void>(tcp_pair()); });
  run_in_vfork_child([] { close_range(kFirst, ~0U, 0); });
  EXPECT_EQUAL(close(pair.client), 0);
}

void replace_standard_error() {
  EXPECT_EQUAL(close(STDERR_FILENO), 0);
  const TcpPair pair = tcp_pair();
  const int connection = dup2(pair.client, STDERR_FILENO);
  EXPECT_EQUAL(connection, STDERR_FILENO);
  open_past_the_library();
  pollfd waited{pair.server, POLLIN, 0};
  EXPECT_EQUAL(poll(&waited, 1, kPatienceMs), 0);
}

// The log file has a number of the library's own, which the program cannot close.
void close_all_and_log() {
  EXPECT_EQUAL(close_range(STDERR_FILENO, ~0U, 0), 0);
  for (int fd = STDERR_FILENO; fd < FD_SETSIZE; ++fd) EXPECT_EQUAL(close(fd), -1);
  open_past_the_library();
}

// A reader that has gone away costs the program no more than the line.
void log_to_a_broken_pipe() {
  int ends[2];
  EXPECT_EQUAL(pipe(ends), 0);
  EXPECT_EQUAL(close(ends[0]), 0);
  EXPECT_EQUAL(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  EXPECT_EQUAL(setenv("RSOCK_TRANSPORT", "bogus", 1), 0);
  execl("/bin/true", "true", nullptr);
}

const Case kBroken("broken", &log_to_a_broken_pipe);
const Case kReplacing("replacing", &replace_standard_error);
const Case kDeepbind("deepbind", &open_past_the_library);
const Case kUsing("using", &use_sockets);
const Case kClosing("closing", &close_all_and_log);

std::size_t count_of(std::string_view word, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

void expect_text(const std::string& text, std::string_view word, std::size_t count) {
  if (count_of(word, text) != count) {
    fail(__FILE__, __LINE__, text, static_cast<long>(count_of(word, text)),
         static_cast<long>(count));
  }
}

void set(const char* variable, const char* value) { EXPECT_EQUAL(setenv(variable, value, 1), 0); }

}  // namespace

PURITY_CASE(is_silent_in_a_healthy_run) {
  const SelfResult result = run_self("using");
  EXPECT_EQUAL(result.status, 0);
  EXPECT_EQUAL(result.error_text.size(), 0);
}

PURITY_CASE(tells_of_deepbind_once) {
  set("RSOCK_LOG", "warn");
  const SelfResult result = run_self("deepbind");
  EXPECT_EQUAL(result.status, 0);
  expect_text(result.error_text, "RTLD_DEEPBIND", 1);
  expect_text(result.error_text, "\n", 1);
}

PURITY_CASE(keeps_off_a_reused_standard_error) {
  set("RSOCK_LOG", "trace");
  set("RSOCK_TRANSPORT", "bogus");
  const SelfResult result = run_self("replacing");
  EXPECT_EQUAL(result.status, 0);
  expect_text(result.error_text, "RSOCK_TRANSPORT=bogus", 1);
  expect_text(result.error_text, "RTLD_DEEPBIND", 0);
}

PURITY_CASE(survives_a_broken_pipe) { EXPECT_EQUAL(run_self("broken").status, 0); }

PURITY_CASE(keeps_its_file) {
  char path[] = P_tmpdir "/rsock-purity-log-XXXXXX";
  const int file = mkstemp(path);
  EXPECT(file >= 0);
  set("RSOCK_LOG", "warn");
  set("RSOCK_LOG_FILE", path);
  const SelfResult result = run_self("closing");
  char text[FD_SETSIZE] = {};
  EXPECT(read(file, text, sizeof(text) - 1) > 0);
  EXPECT_EQUAL(unlink(path), 0);
  EXPECT_EQUAL(result.status, 0);
  EXPECT_EQUAL(result.error_text.size(), 0);
  expect_text(text, "RTLD_DEEPBIND", 1);
}

}  // namespace rsock::purity
