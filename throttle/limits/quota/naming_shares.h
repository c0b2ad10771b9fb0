// NamingShares: keeps a requester that invents names from filling a store. A name is anything for which a store makes a
// counter, such as a user in a tier, or a model without a quota. Here, a party is the API key, the tenant or the
// address from which requests come. When a store has little room left for names, NamingShares refuses new names to a
// party that has caused more than a tenth of the names of the last one to two hours, and more than 100 names: a tenth
// of few names would be too little for any party. All other parties still get new names while there is room. So a party
// that invents names locks out only itself, with two exceptions: the last tenth of a store has less room than 100
// names, or more than 1,024 parties have caused names, of which further ones count as one.
//
// A NamingShares knows only the names that requests to this process have caused. It counts them by the hour.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"

namespace weir {

class NamingShares {
 public:
  // Returns true if the store was nearly full at the last Learn. Takes no lock, because every decision calls it.
  bool store_is_nearly_full() const { return nearly_full_.load(std::memory_order_relaxed); }
  // Returns false if the party has caused more than a tenth of the names of this hour and the hour before, and more
  // than 100 of them. The first time in an hour that it returns false for a party, it also makes a warning
  // (TakeWarnings).
  bool MayName(const std::string& party, TimePoint now);
  // Records that a charge of the party has caused `new_names` new names, and whether the store is nearly full now.
  void Learn(const std::string& party, uint32_t new_names, bool nearly_full, TimePoint now);
  // Returns the warnings that were made since the last call. The caller logs them.
  std::vector<std::string> TakeWarnings();

 private:
  struct Count {
    uint64_t now = 0;     // in this hour
    uint64_t before = 0;  // in the hour before
    bool warned = false;
    uint64_t all() const { return now + before; }
  };
  // Begins the next hour if an hour has passed since hour_began_.
  void Turn(TimePoint now) WEIR_REQUIRES(mutex_);
  Count& Of(const std::string& party) WEIR_REQUIRES(mutex_);

  std::atomic<bool> nearly_full_{false};
  Mutex mutex_;
  TimePoint hour_began_ WEIR_GUARDED_BY(mutex_){};
  std::map<std::string, Count, std::less<>> parties_ WEIR_GUARDED_BY(mutex_);
  uint64_t names_ WEIR_GUARDED_BY(mutex_) = 0;  // names of all parties together
  std::vector<std::string> warnings_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
