#pragma once

#include <cstdint>
#include <vector>

namespace rsock::sim {

// Where a simulated world takes its decisions from.
class Choices {
 public:
  virtual ~Choices() = default;
  // A number in [0, count).
  virtual std::uint32_t below(std::uint32_t count) = 0;

  bool one_in(std::uint32_t count) { return below(count) == 0; }
  // A number in [low, high].
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
};

// All of them from one seed: the same seed gives the same world (SplitMix64).
class SeededChoices : public Choices {
 public:
  explicit SeededChoices(std::uint64_t seed) : state_(seed) {}

  std::uint32_t below(std::uint32_t count) override {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return static_cast<std::uint32_t>((mixed >> 32) * count >> 32);
  }

 private:
  std::uint64_t state_;
};

// Every sequence of decisions, one after the other:
//
//   AllChoices choices;
//   do { ...a run that asks for decisions... } while (choices.next());
class AllChoices : public Choices {
 public:
  std::uint32_t below(std::uint32_t count) override {
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].value;
  }

  // Goes to the next sequence. False after the last one.
  bool next() {
    taken_.resize(at_);
    at_ = 0;
    while (!taken_.empty() && taken_.back().value + 1 == taken_.back().count) taken_.pop_back();
    if (taken_.empty()) return false;
    ++taken_.back().value;
    return true;
  }

 private:
  struct Choice {
    std::uint32_t value;
    std::uint32_t count;
  };
  std::vector<Choice> taken_;
  std::size_t at_ = 0;
};

}  // namespace rsock::sim
