#include "core/socket/descriptor_table.h"

#include "core/os/pages.h"

namespace rsock::socket {

bool DescriptorTable::put(int fd, Handle handle, Handle& previous) noexcept {
  std::atomic<std::uint64_t>* slot = find_or_make(fd);
  if (slot == nullptr) return false;
  previous = Handle(slot->exchange(handle.word(), std::memory_order_acq_rel));
  return true;
}

Handle DescriptorTable::take(int fd) noexcept {
  std::atomic<std::uint64_t>* slot = find(fd);
  // The plain load first: most descriptors have no handle, and an exchange would dirty the line.
  if (slot == nullptr || slot->load(std::memory_order_relaxed) == 0) return Handle();
  return Handle(slot->exchange(0, std::memory_order_acq_rel));
}

bool DescriptorTable::put_back(int fd, Handle handle) noexcept {
  std::atomic<std::uint64_t>* slot = find_or_make(fd);
  std::uint64_t nothing = 0;
  return slot != nullptr &&
         slot->compare_exchange_strong(nothing, handle.word(), std::memory_order_acq_rel);
}

int DescriptorTable::next_used(unsigned int from, unsigned int last) const noexcept {
  if (last >= kFdsMax) last = kFdsMax - 1;
  for (unsigned int number = from; number <= last; ++number) {
    const Leaf* leaf = leaves_[number / kLeafEntries].load(std::memory_order_acquire);
    if (leaf == nullptr) {
      number |= kLeafEntries - 1;  // On to the next leaf.
      continue;
    }
    if (leaf->slots[number % kLeafEntries].load(std::memory_order_acquire) != 0) {
      return static_cast<int>(number);
    }
  }
  return -1;
}

std::atomic<std::uint64_t>* DescriptorTable::find_or_make(int fd) noexcept {
  const auto number = static_cast<unsigned int>(fd);
  if (number >= kFdsMax) return nullptr;
  Leaf* leaf = os::get_or_map(leaves_[number / kLeafEntries]);
  return leaf == nullptr ? nullptr : &leaf->slots[number % kLeafEntries];
}

}  // namespace rsock::socket
