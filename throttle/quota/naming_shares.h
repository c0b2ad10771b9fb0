// NamingShares: which parties began names (users of tiers, unknown models) lately. When a store has little room left
// for names, the parties that took much of it get none, and the others go on: a party that invents names locks out only
// itself.
//
// Counts in one process, and by the hour: a name counts for its party for one to two hours.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"

namespace weir {

class NamingShares {
 public:
  // Takes no lock, so that decisions need none while there is room.
  bool store_is_nearly_full() const { return nearly_full_.load(std::memory_order_relaxed); }
  // Returns false if the party began more than a tenth of all names. A warning for the log says so once an hour.
  bool MayName(const std::string& party, TimePoint now);
  // Records the result of a charge that needed a new name.
  void Learn(const std::string& party, uint32_t new_names, bool nearly_full, TimePoint now);
  std::vector<std::string> TakeWarnings();

 private:
  struct Count {
    uint64_t now = 0;     // in this hour
    uint64_t before = 0;  // in the hour before
    bool warned = false;
    uint64_t all() const { return now + before; }
  };
  void Turn(TimePoint now);
  Count& Of(const std::string& party);

  std::atomic<bool> nearly_full_{false};
  std::mutex mutex_;  // guards the members below
  TimePoint hour_began_{};
  std::map<std::string, Count, std::less<>> parties_;
  uint64_t names_ = 0;  // all parties together
  std::vector<std::string> warnings_;
};

}  // namespace weir
