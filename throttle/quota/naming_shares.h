// NamingShares: who has begun names (users of tiers, unknown models) of late. Where a store has little room left for
// names, those who took much of it find none, and the others go on: whoever invents names locks out itself.
//
// Of one process, and by the hour: a name counts for its party for one to two hours.
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
  // Without a lock while there is room.
  bool store_is_nearly_full() const { return nearly_full_.load(std::memory_order_relaxed); }
  // False: the party began more than a tenth of all. That is said once, for the log.
  bool MayName(const std::string& party, TimePoint now);
  // What came of a charge that needed a new name.
  void Learn(const std::string& party, uint32_t new_names, bool nearly_full, TimePoint now);
  std::vector<std::string> TakeWarnings();

 private:
  struct Count {
    uint64_t now = 0;     // of this hour
    uint64_t before = 0;  // of the last
    bool warned = false;
    uint64_t all() const { return now + before; }
  };
  void Turn(TimePoint now);
  Count& Of(const std::string& party);

  std::atomic<bool> nearly_full_{false};
  std::mutex mutex_;  // of what follows
  TimePoint hour_began_{};
  std::map<std::string, Count, std::less<>> parties_;
  uint64_t names_ = 0;  // of all parties
  std::vector<std::string> warnings_;
};

}  // namespace weir
