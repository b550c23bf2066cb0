#include "core/link/shm/segment.h"

#include <fcntl.h>

#include <bit>
#include <new>
#include <utility>

#include "core/os/sealed_file.h"

namespace rsock::link::shm {

namespace {

using os::Mapping;
using os::sys;
using os::UniqueFd;

constexpr char kSegmentName[] = "rsock-link";
std::size_t first_ring_at(std::uint32_t index) {
  return wire::kFirstRingsAt + std::size_t{index} * config::kFirstRingBytes;
}

}  // namespace

int Segment::map_words() noexcept {
  Result<Mapping> words = Mapping::of_file(fd_.get(), 0, wire::kFirstRingsAt);
  if (!words.ok()) return words.error();
  words_ = std::move(words).value();
  Result<Mapping> rings =
      Mapping::of_addresses(std::size_t{config::kStreamsPerLinkMax} * 2 * config::kFirstRingBytes);
  if (!rings.ok()) return rings.error();
  first_rings_ = std::move(rings).value();
  return 0;
}

Result<Segment> Segment::create() noexcept {
  Result<UniqueFd> fd = os::make_sealed_file(kSegmentName, wire::kSegmentBytes);
  if (!fd.ok()) return Error(fd.error());
  Segment segment;
  segment.fd_ = std::move(fd).value();
  const int error = segment.map_words();
  if (error != 0) return Error(error);
  auto* header = new (segment.words_.base()) wire::SegmentHeader{};
  header->magic = wire::kSegmentMagic;
  header->version = wire::kSegmentVersion;
  header->streams = config::kStreamsPerLinkMax;
  header->segment_bytes = wire::kSegmentBytes;
  return segment;
}

Result<Segment> Segment::attach(UniqueFd fd) noexcept {
  if (!os::is_sealed_file(fd.get(), wire::kSegmentBytes)) return Error(-EPROTO);
  Segment segment;
  segment.fd_ = std::move(fd);
  const int error = segment.map_words();
  if (error != 0) return Error(error);
  const auto& header = *reinterpret_cast<wire::SegmentHeader*>(segment.words_.base());
  if (header.magic != wire::kSegmentMagic || header.version != wire::kSegmentVersion ||
      header.streams != config::kStreamsPerLinkMax || header.segment_bytes != wire::kSegmentBytes) {
    return Error(-EPROTO);
  }
  return segment;
}

void Segment::reset_block(std::uint32_t index) const noexcept {
  new (&block(index)) wire::StreamBlock{};
}

Result<std::byte*> Segment::map_first_ring(std::uint32_t index) noexcept {
  std::byte* at = first_rings_.base() + std::size_t{index} * 2 * config::kFirstRingBytes;
  const int error = os::map_twice(at, fd(), first_ring_at(index), config::kFirstRingBytes);
  if (error != 0) return Error(error);
  return at;
}

Result<Mapping> Segment::map_ring(std::uint64_t place, std::uint32_t bytes) noexcept {
  if (!std::has_single_bit(bytes) || bytes < config::kFirstRingBytes ||
      bytes > config::kRingBytesMax || place % wire::kPageBytes != 0 ||
      place < wire::kGrownRingsAt || place > wire::kSegmentBytes - bytes) {
    return Error(-EPROTO);
  }
  Result<Mapping> ring = Mapping::of_addresses(std::size_t{bytes} * 2);
  if (!ring.ok()) return ring;
  const int error = os::map_twice(ring.value().base(), fd(), place, bytes);
  if (error != 0) return Error(error);
  return ring;
}

void Segment::give_back_first_ring(std::uint32_t index) noexcept {
  give_back_ring(first_ring_at(index), config::kFirstRingBytes);
}

void Segment::give_back_ring(std::uint64_t place, std::uint32_t bytes) noexcept {
  // Where the kernel refuses, the memory just stays.
  static_cast<void>(sys().fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    static_cast<off_t>(place), bytes));
}

}  // namespace rsock::link::shm
