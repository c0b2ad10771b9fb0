// NamingShares: keeps a party that invents names from filling a store. A name is something for which a store begins a
// counter: a user of a tier, or a model without a quota. A party is the API key, the tenant or the address from which
// requests come. When a store has little room left for names, a party that has begun more than a tenth of the recent
// names gets no new ones; the others still do. So a party that invents names locks out only itself.
//
// It sees only this process, and counts by the hour: a name counts for its party for one to two hours.
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
  // Returns whether the store was nearly full as of the last Learn. Takes no lock, so that decisions need none while
  // there is room.
  bool store_is_nearly_full() const { return nearly_full_.load(std::memory_order_relaxed); }
  // Returns false if the party began more than a tenth of all recent names; the first time in an hour, also makes a
  // warning.
  bool MayName(const std::string& party, TimePoint now);
  // Records that a charge of the party began `new_names` names, and whether the store was nearly full after it.
  void Learn(const std::string& party, uint32_t new_names, bool nearly_full, TimePoint now);
  // Returns the warnings, for the log, that were made since the last call.
  std::vector<std::string> TakeWarnings();

 private:
  struct Count {
    uint64_t now = 0;     // in this hour
    uint64_t before = 0;  // in the hour before
    bool warned = false;
    uint64_t all() const { return now + before; }
  };
  // Begins another hour if this one is over.
  void Turn(TimePoint now);
  Count& Of(const std::string& party);

  std::atomic<bool> nearly_full_{false};
  std::mutex mutex_;  // guards the members below
  TimePoint hour_began_{};
  std::map<std::string, Count, std::less<>> parties_;
  uint64_t names_ = 0;  // names of all parties together
  std::vector<std::string> warnings_;
};

}  // namespace weir
