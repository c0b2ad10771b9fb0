// SharedWindows: the interface to a store in which several processes count the requests of keys together.
//
// The windows of a key are fixed: each begins when the one before ends, by the store's clock, and has a number. A
// process does not ask the store for each grant. It leases several grants, which the store counts as used from then on,
// and gives them to requests by itself until the window ends. Leased grants that the process has not given to requests
// by then are lost.
//
// Threads: any thread may call any function.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

struct LeaseWish {
  std::string_view key;  // has to be valid only during the call of Ask
  std::chrono::milliseconds window{};
  uint32_t limit = 0;   // the most grants of all processes together in a window
  uint32_t grants = 1;  // how many grants this process wants to lease; 0: it only reads the count
};

struct LeaseAnswer {
  bool answered = false;  // false: no answer came; the store may have leased grants, but they are lost
  int64_t window = 0;     // the window's number
  uint32_t granted = 0;   // how many grants are leased; if fewer than the process wanted, the window has no more
  uint32_t used = 0;      // how many grants of this window all processes have leased, these included
  // The time that the window had left at some moment after the call of Ask. So the window does not end before the time
  // of that call plus `remaining`, by any clock that runs at the same rate.
  Duration remaining{};
};

struct SharedWindowsHealth {
  bool answers = true;    // false: the store does not answer now
  std::string problem;    // the last failure; empty while the store answers
  uint64_t failures = 0;  // the number of wishes without an answer
  uint64_t writes = 0;    // the number of writes to the servers; wishes of the same moment share a write
};

class SharedWindows {
 public:
  // Calls the `done` functions of all wishes that have no answer yet. No `done` is called later.
  virtual ~SharedWindows() = default;

  // Asks the store, without waiting for the answer. Calls `done` once with the answer, in any thread, perhaps before
  // Ask returns. `done` must not block.
  virtual void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) = 0;
  virtual SharedWindowsHealth Health() const = 0;
};

}  // namespace weir
