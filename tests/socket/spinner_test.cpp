#include "core/socket/spinner.h"

#include <catch2/catch.hpp>

using namespace rsock;
using socket::Spinner;

TEST_CASE("what comes soon makes spinning longer, up to a limit") {
  Spinner spinner;
  for (int count = 0; count < 10; ++count) spinner.came_after(config::kSpinNsMax - 1);
  CHECK(spinner.budget_ns() == config::kSpinNsMax);
}

TEST_CASE("what comes late makes it shorter, until there is none") {
  Spinner spinner;
  std::int64_t before = spinner.budget_ns();
  CHECK(before > 0);
  for (int count = 0; count < 20 && spinner.budget_ns() > 0; ++count) {
    spinner.came_after(1'000'000);
    CHECK(spinner.budget_ns() < before);
    before = spinner.budget_ns();
  }
  CHECK(spinner.budget_ns() == 0);
}

TEST_CASE("it is tried again now and then, and grows anew where it pays") {
  Spinner spinner;
  for (int count = 0; count < 20; ++count) spinner.came_after(1'000'000);
  std::uint32_t waits = 0;
  while (spinner.budget_ns() == 0) ++waits;
  CHECK(waits < config::kWaitsBetweenSpins);
  CHECK(spinner.budget_ns() == config::kSpinNsMin);
  for (int count = 0; count < 10; ++count) spinner.came_after(900);
  CHECK(spinner.budget_ns() >= 1'800);
}

TEST_CASE("whoever has one processor never spins") {
  Spinner spinner(true);
  for (std::uint32_t count = 0; count < 2 * config::kWaitsBetweenSpins; ++count) {
    CHECK(spinner.budget_ns() == 0);
    spinner.came_after(10);
  }
}
