#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/stream/rx_stream.h"
#include "core/stream/tx_stream.h"
#include "tests/sim/choices.h"
#include "tests/sim/link.h"
#include "tests/sim/spine.h"

namespace rsock::sim {

// Something that must never happen has happened.
class Violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What may happen in a world, and how big its parts are.
struct Options {
  std::uint32_t ring_bytes = 4;       // of first rings
  std::uint32_t ring_bytes_max = 64;  // of offered ones
  std::uint32_t spine_bytes = 64;     // room of the spine in one direction
  std::uint32_t stream_bytes = 400;   // that each program wants to send at most
  std::uint32_t upgrades = 4;         // attempts
  std::uint32_t steps = 600;          // before the world heals
  bool declines = false;              // the acceptor may decline
  bool peeks = false;                 // programs look at bytes before they take them
  bool finishes = false;              // programs shut their sending half down
  bool fallbacks = false;             // either end may want the spine again
  bool ring_changes = false;          // rings grow and shrink
  bool watchers = false;              // threads sleep in the kernel on the spine
  bool kill = false;                  // one process may die
  bool pieces = false;                // the spine and the link deliver in small pieces

  // A choice of all of them, tiny sizes often.
  static Options draw(Choices& choices);
  [[nodiscard]] std::string describe() const;
};

enum class Side : std::uint8_t { connector, acceptor };

// One attempt to upgrade: what each end sees of the link.
struct Epoch {
  Epoch(std::uint32_t number, std::uint32_t ring_bytes);

  std::uint32_t number;
  StreamMemory memory[2];
  LinkWriter writer[2];  // writer[side] writes into the other side's memory
  wire::Proof challenge[2];
};

// A program with its socket.
struct End {
  // The stream of the epoch in which the end is.
  struct Stream {
    Stream(std::shared_ptr<Epoch> in, Side side, std::uint64_t snd_nxt, std::uint64_t rcv_nxt,
           std::uint32_t ring_bytes);

    std::shared_ptr<Epoch> epoch;
    stream::TxStream tx;
    stream::RxStream rx;
    bool accepted = false;  // the connector has the ACCEPT
    bool falls_back = false;
    std::uint32_t rings_offered = 0;
  };

  Side side{};
  std::uint64_t sent = 0;      // accepted from the program
  std::uint64_t received = 0;  // given to the program
  bool finished = false;       // the program has shut its sending half down
  bool end_seen = false;
  bool reset_seen = false;
  bool dead = false;
  std::uint32_t watchers = 0;
  std::uint32_t epochs = 0;
  std::optional<Stream> stream;
};

// Two programs that exchange bytes over one connection, and everything between them, in one
// thread. All that happens is decided by the choices. Each step checks what must always hold, and
// throws a Violation.
class World {
 public:
  World(Choices& choices, const Options& options);

  // Lets one thing happen.
  void step();
  // The same with few possibilities, so that all sequences of them can be tried.
  static constexpr std::uint32_t kSmallSteps = 10;
  void small_step();
  // How many things happen on the way from plain TCP to both directions in rings; does the first
  // `count` of them.
  static constexpr std::uint32_t kStepsToRings = 17;
  void go_towards_rings(std::uint32_t count);
  // All delays and programs come to their end, no new trouble begins: everything must arrive.
  void heal();

  [[nodiscard]] const std::deque<std::string>& events() const { return events_; }
  // Where both ends are.
  [[nodiscard]] std::string describe() const;
  // Bytes that went through rings, for tests that want to be sure that some did.
  [[nodiscard]] std::uint64_t ring_bytes() const { return ring_bytes_; }
  [[nodiscard]] std::uint32_t fallbacks() const { return fallbacks_; }

 private:
  class Io;

  End& end(Side side) { return ends_[static_cast<int>(side)]; }
  End& other(const End& end) { return ends_[1 - static_cast<int>(end.side)]; }
  // The spine in the direction that `end` sends.
  Spine& out(const End& end) { return spines_[static_cast<int>(end.side)]; }
  Spine& in(const End& end) { return spines_[1 - static_cast<int>(end.side)]; }
  LinkWriter& writer(const End& end);

  void act(End& end);
  void send(End& end, std::uint64_t bytes);
  void receive(End& end, std::uint64_t bytes);
  void peek(End& end, std::uint64_t bytes);
  void finish(End& end);
  void advance(End& end);
  void fall_back(End& end);
  void change_rings(End& end);
  void watch(End& end);
  void leave(End& end);
  void open();
  void deliver_open();
  void deliver_answer();
  void leave_stream_if_over(End& end);
  void kill(End& end);
  void notice_death(End& end);
  void deliver(End& end, std::uint32_t count);
  void settle(End& end);

  void accept_bytes(End& end, std::span<const std::byte> bytes, std::uint64_t at);
  void saw_end(End& end);
  void check(const End& end);
  void require(bool condition, const char* what);
  void note(std::string event);

  Choices& choices_;
  Options options_;
  End ends_[2];
  Spine spines_[2];
  enum class Opening : std::uint8_t { none, sent, accepted, declined } opening_ = Opening::none;
  std::shared_ptr<Epoch> opening_epoch_;
  std::vector<std::shared_ptr<Epoch>> epochs_;
  std::uint64_t ring_bytes_ = 0;
  std::uint32_t fallbacks_ = 0;
  bool healing_ = false;
  std::deque<std::string> events_;
};

}  // namespace rsock::sim
