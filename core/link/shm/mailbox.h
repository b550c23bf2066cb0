#pragma once

#include <bit>
#include <cstdint>

#include "core/wire/shm_layout.h"

namespace rsock::link::shm {

// Leaves the news that there is something about stream `index` in the other process's mailbox. A
// full fence. True: the owner sleeps and has to be woken by its bell, which is now our duty.
[[nodiscard]] inline bool announce(wire::Mailbox& mailbox, std::uint32_t index) noexcept {
  const std::uint32_t word = index / wire::kBitsPerWord;
  const std::uint32_t group = word / wire::kBitsPerWord;
  mailbox.words[word].fetch_or(std::uint64_t{1} << index % wire::kBitsPerWord);
  // Whoever collects goes from the top down. A bit that is still set here will be followed down,
  // and finds what was set before.
  const std::uint64_t word_bit = std::uint64_t{1} << word % wire::kBitsPerWord;
  if ((mailbox.groups[group].load() & word_bit) == 0) mailbox.groups[group].fetch_or(word_bit);
  const std::uint64_t group_bit = std::uint64_t{1} << group;
  if ((mailbox.top.load() & group_bit) == 0) mailbox.top.fetch_or(group_bit);
  return mailbox.asleep.load() != 0 && mailbox.asleep.exchange(0) != 0;
}

// Calls visit(index) for each stream with news, and forgets them. By one thread at a time. What
// is there need not be true: the other process can set any bit at any time.
template <typename Visit>
void collect(wire::Mailbox& mailbox, Visit visit) noexcept {
  if (mailbox.top.load(std::memory_order_relaxed) == 0) return;
  const auto each_bit = [](std::uint64_t bits, auto with) {
    for (; bits != 0; bits &= bits - 1) with(static_cast<std::uint32_t>(std::countr_zero(bits)));
  };
  each_bit(mailbox.top.exchange(0), [&](std::uint32_t group) {
    if (group >= wire::kMailboxGroups) return;
    each_bit(mailbox.groups[group].exchange(0), [&](std::uint32_t in_group) {
      const std::uint32_t word = group * wire::kBitsPerWord + in_group;
      each_bit(mailbox.words[word].exchange(0),
               [&](std::uint32_t bit) { visit(word * wire::kBitsPerWord + bit); });
    });
  });
}

// Before its owner sleeps: the bell is to be rung from now on. False: there is news already, and
// sleeping would be wrong.
[[nodiscard]] inline bool may_sleep(wire::Mailbox& mailbox) noexcept {
  mailbox.asleep.exchange(1);  // A full fence.
  if (mailbox.top.load() == 0) return true;
  mailbox.asleep.store(0, std::memory_order_relaxed);
  return false;
}

// The owner is awake: the bell need not be rung.
inline void woke_up(wire::Mailbox& mailbox) noexcept {
  if (mailbox.asleep.load(std::memory_order_relaxed) != 0) {
    mailbox.asleep.store(0, std::memory_order_relaxed);
  }
}

}  // namespace rsock::link::shm
