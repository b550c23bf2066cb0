#pragma once

#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>

namespace rsock::config {

// Every limit of the library, with its unit. A limit that is reached makes a connection stay on
// TCP; it never makes a call of the program fail.

// Descriptors from 0 up to this one (not included) are followed: what Linux allows by default
// (fs.nr_open). A descriptor beyond is passed through.
inline constexpr int kTrackedFdsMax = 1 << 20;
// The descriptor table is made in leaves, since most programs use few and low numbers.
inline constexpr int kFdsPerLeaf = 1024;
static_assert(kTrackedFdsMax % kFdsPerLeaf == 0);

// Sockets followed at once, and how many of them are allocated together.
inline constexpr std::uint32_t kSocketsMax = 1 << 20;
inline constexpr std::uint32_t kSocketsPerChunk = 1024;
static_assert(kSocketsMax % kSocketsPerChunk == 0);
static_assert(kSocketsMax >= static_cast<std::uint32_t>(kTrackedFdsMax),
              "every descriptor may be a socket of its own");

// The library's own descriptors get numbers from kInternalFdFloor on: high, so that the program
// gets the numbers that it would have had, but with room below the usual limit, up to which the
// kernel's table of descriptors is small (a fork copies it).
inline constexpr int kUsualFdLimit = 1024;
inline constexpr int kInternalFdFloor = 960;
inline constexpr int kInternalFdRoom = 32;
static_assert(kInternalFdFloor + kInternalFdRoom < kUsualFdLimit);
static_assert(kInternalFdFloor < kTrackedFdsMax);

// Descriptors that a service manager may hand over at start (LISTEN_FDS): how many are looked at.
inline constexpr int kListenFdsMax = 256;

// Streams that one link carries in one direction of opening.
inline constexpr std::uint32_t kStreamsPerLinkMax = 1 << 16;

// A receive ring begins with one page and grows by this factor while the window is too small.
inline constexpr std::uint32_t kFirstRingBytes = 4096;
inline constexpr std::uint32_t kRingGrowthFactor = 4;
inline constexpr std::uint32_t kRingBytesMax = 1 << 20;
static_assert(std::has_single_bit(kFirstRingBytes) && std::has_single_bit(kRingBytesMax));

// A connection is worth an upgrade after so many exchanges or bytes: one that carries a single
// request never pays for it.
inline constexpr std::uint32_t kExchangesBeforeUpgrade = 4;
inline constexpr std::uint64_t kBytesBeforeUpgrade = std::uint64_t{32} * 1024;

// How long a wait spins before it sleeps: at most and, if at all, at least; and how many waits pass
// without, where it did not pay, before it is tried again.
inline constexpr std::int64_t kSpinNsMax = 20'000;
inline constexpr std::int64_t kSpinNsMin = 1'000;
inline constexpr std::uint32_t kWaitsBetweenSpins = 32;

// What signal handlers may send on a connection while they have interrupted a send on it.
inline constexpr std::uint32_t kHandlerBytes = 512;
static_assert(std::has_single_bit(kHandlerBytes));

// Parts of a message that go to the kernel at once; a message of more takes several calls.
inline constexpr std::size_t kPartsAtOnce = 64;

// A destination that said "no" is asked again after a pause, which doubles each time.
inline constexpr std::size_t kNegativeCacheEntries = 256;
inline constexpr std::int64_t kFirstPauseNs = 1'000'000'000;
inline constexpr std::int64_t kPauseNsMax = 300 * kFirstPauseNs;

// Clients of this host that may wait to be greeted. One that finds the queue full stays on TCP.
inline constexpr int kRendezvousBacklog = 128;

// One line of the log, with its newline. Longer ones are cut, so that a line is one write and
// lines of several processes do not mix in a pipe.
inline constexpr std::size_t kLogLineBytes = 512;
static_assert(kLogLineBytes <= PIPE_BUF);

// The path in RSOCK_LOG_FILE, with its NUL: what the kernel accepts as a path.
inline constexpr std::size_t kLogFilePathBytes = PATH_MAX;

// How much of a broken setting's value the log shows, with its NUL.
inline constexpr std::size_t kShownValueBytes = 64;

}  // namespace rsock::config
