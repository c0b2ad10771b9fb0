// SharedWindows: the interface to a store in which several processes count the windows of keys together.
//
// The windows of a key are fixed: one follows the other, by the store's clock, and each has a number. A process does
// not ask the store for each grant. It leases several grants, which count for all processes from then on, and gives
// them to requests by itself while the window lasts. Leased grants that the process has not given when the window ends
// are lost.
//
// Threads: every function may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

struct LeaseWish {
  std::string_view key;  // valid during the call of Ask
  std::chrono::milliseconds window{};
  uint32_t limit = 0;   // grants of all processes together in a window
  uint32_t grants = 1;  // how many grants this process wants; 0: it only wants to know the state
};

struct LeaseAnswer {
  bool answered = false;  // false: no answer came; the wished grants may have been leased, but are lost
  int64_t window = 0;     // the window's number
  uint32_t granted = 0;   // how many grants are leased; if fewer than were asked for, this window has no more
  uint32_t used = 0;      // grants of this window that all processes have leased, these included
  // The time that the window had left at some moment after the call of Ask. So the window does not end before the time
  // of that call plus `remaining`, by any clock that runs at the same rate.
  Duration remaining{};
};

struct SharedWindowsHealth {
  bool answers = true;    // false: the store does not answer now
  std::string problem;    // the last failure; empty while all is well
  uint64_t failures = 0;  // wishes without an answer
  uint64_t writes = 0;    // messages to the servers; wishes made at the same moment share one
};

class SharedWindows {
 public:
  // Calls the functions of all wishes that have no answer yet. Calls none after that.
  virtual ~SharedWindows() = default;

  // Asks the store and does not wait for it. Calls `done` once, in any thread, perhaps before Ask returns; `done` must
  // not block.
  virtual void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) = 0;
  virtual SharedWindowsHealth Health() const = 0;
};

}  // namespace weir
