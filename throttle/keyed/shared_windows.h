// SharedWindows: windows of keys that several processes count together, in a store.
//
// Windows are fixed, follow each other on the store's clock, and are numbered. A process does not count there grant by
// grant: it leases some, which count for all processes from then on, and spends them by itself while the window runs. A
// grant that it does not spend is lost for that window.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config/clock.h"

namespace weir {

struct LeaseWish {
  std::string_view key;
  std::chrono::milliseconds window{};
  uint32_t limit = 0;   // grants of all processes in a window
  uint32_t grants = 1;  // how many this process wants; 0: it only wants to know
};

struct LeaseAnswer {
  bool answered = false;  // false: nothing is known; what was wished for may be counted, and is lost
  int64_t window = 0;     // its number
  uint32_t granted = 0;   // if less than was wished for, this window has no more
  uint32_t used = 0;      // grants that all processes have leased, these included
  // Time that the window had left at a moment after Ask was called. So it does not end before the time of that call +
  // remaining, by any clock that runs at the same rate.
  Duration remaining{};
};

struct SharedWindowsHealth {
  bool answers = true;
  std::string problem;    // the last failure; empty while all is well
  uint64_t failures = 0;  // wishes without an answer
  uint64_t writes = 0;    // to the servers; wishes of one moment go together
};

class SharedWindows {
 public:
  // Answers the wishes that have no answer yet, and calls no function afterwards.
  virtual ~SharedWindows() = default;

  // Never waits. `done` is called once, by any thread, perhaps before this returns; it must not block.
  virtual void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) = 0;
  virtual SharedWindowsHealth Health() const = 0;
};

}  // namespace weir
