// Runs the simulator for many seeds. The same seed gives the same run, whatever ran before it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "core/base/mark.h"
#include "tests/sim/world.h"

namespace {

using namespace rsock;

constexpr char kUsage[] =
    "Usage: simulate [--all-marks] FIRST COUNT   runs seeds FIRST to FIRST+COUNT-1\n"
    "       simulate --replay SEED...            runs these seeds and prints what happened\n"
    "       simulate --all DEPTH                 runs all sequences of DEPTH events, from each\n"
    "                                            point of a switchover\n"
    "       simulate --minutes N                 runs fresh seeds for N minutes\n"
    "\n"
    "  --all-marks   fails also if a rare branch of core/stream was never passed\n";

struct Totals {
  std::uint64_t worlds = 0;
  std::uint64_t ring_bytes = 0;
  std::uint64_t fallbacks = 0;
};
Totals totals;

// What went wrong, or nothing.
template <typename Happen>
std::string run_world(sim::World& world, Happen happen) {
  std::string violation;
  try {
    happen();
    world.heal();
  } catch (const std::exception& error) {
    violation = error.what();
  }
  ++totals.worlds;
  totals.ring_bytes += world.ring_bytes();
  totals.fallbacks += world.fallbacks();
  return violation;
}

void print(const sim::World& world) {
  for (const std::string& event : world.events()) std::printf("  %s\n", event.c_str());
  std::fputs(world.describe().c_str(), stdout);
}

bool run(std::uint64_t seed, bool tell) {
  sim::SeededChoices choices(seed);
  const sim::Options options = sim::Options::draw(choices);
  sim::World world(choices, options);
  const std::string violation = run_world(world, [&] {
    for (std::uint32_t step = 0; step < options.steps; ++step) world.step();
  });
  if (violation.empty() && !tell) return true;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), options.describe().c_str());
  print(world);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
              violation.empty() ? "all is well" : violation.c_str());
  if (!violation.empty()) {
    std::printf("again: simulate --replay %llu\n", static_cast<unsigned long long>(seed));
  }
  return violation.empty();
}

// Every sequence of `depth` events, begun at each point of a switchover.
bool run_all(std::uint32_t depth) {
  sim::Options options;
  options.stream_bytes = 8;
  options.pieces = true;
  for (std::uint32_t point = 0; point <= sim::World::kStepsToRings; ++point) {
    sim::AllChoices choices;
    do {
      sim::World world(choices, options);
      const std::string violation = run_world(world, [&] {
        world.go_towards_rings(point);
        for (std::uint32_t step = 0; step < depth; ++step) world.small_step();
      });
      if (violation.empty()) continue;
      print(world);
      std::printf("point %u: %s\n", point, violation.c_str());
      return false;
    } while (choices.next());
  }
  return true;
}

// Marks outside core/stream are not this program's.
bool all_marks_passed() {
  bool all = true;
  marks::for_each([&](std::string_view name, std::uint64_t hits) {
    const auto is_of_stream = [](std::string_view mark) {
      for (std::string_view other :
           {"text_truncated", "config_value_broken", "socket_pool_exhausted",
            "acquire_met_old_handle", "stale_slot_purged", "replacement_put_back",
            "sent_in_interrupting_handler",
            // Needs a sender that lies.
            "proof_refused"}) {
        if (mark == other) return false;
      }
      return true;
    };
    if (hits > 0 || !is_of_stream(name)) return;
    std::printf("never passed: %.*s\n", static_cast<int>(name.size()), name.data());
    all = false;
  });
  return all;
}

void print_totals() {
  std::printf("%llu worlds, %llu bytes through rings, %llu fallbacks\n",
              static_cast<unsigned long long>(totals.worlds),
              static_cast<unsigned long long>(totals.ring_bytes),
              static_cast<unsigned long long>(totals.fallbacks));
}

int run_for(std::chrono::minutes duration) {
  const auto until = std::chrono::steady_clock::now() + duration;
  std::random_device device;
  while (std::chrono::steady_clock::now() < until) {
    const std::uint64_t seed = static_cast<std::uint64_t>(device()) << 32 | device();
    if (!run(seed, false)) return 1;
  }
  print_totals();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  bool all_marks = false;
  if (!arguments.empty() && arguments[0] == "--all-marks") {
    all_marks = true;
    arguments.erase(arguments.begin());
  }
  const auto number = [&](std::size_t at) {
    return std::strtoull(std::string(arguments[at]).c_str(), nullptr, 10);
  };
  if (arguments.size() >= 2 && arguments[0] == "--replay") {
    bool well = true;
    for (std::size_t at = 1; at < arguments.size(); ++at) well = run(number(at), true) && well;
    return well ? 0 : 1;
  }
  if (arguments.size() == 2 && arguments[0] == "--all") {
    const bool well = run_all(static_cast<std::uint32_t>(number(1)));
    if (well) print_totals();
    return well ? 0 : 1;
  }
  if (arguments.size() == 2 && arguments[0] == "--minutes") {
    return run_for(std::chrono::minutes(number(1)));
  }
  if (arguments.size() != 2 || arguments[0].starts_with("-")) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  bool well = true;
  for (std::uint64_t seed = number(0); seed < number(0) + number(1) && well; ++seed) {
    well = run(seed, false);
  }
  if (well) print_totals();
  if (well && totals.ring_bytes == 0) {
    std::puts("nothing went through a ring");
    well = false;
  }
  if (well && all_marks) well = all_marks_passed();
  return well ? 0 : 1;
}
