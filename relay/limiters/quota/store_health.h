// Judges the health of a store: whether the quotas can be decided, for /readyz and /v1/health; and logs when the store
// goes away, why, and when it is back.
#pragma once

#include <optional>
#include <string>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/quota/quota_limiter.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// Returns the kind of trouble, which strangers are told of; empty while all is well. The store's own words are for the
// log and for operators, since they have paths, addresses, and names of keys in them.
std::string TroubleOf(const StoreHealth& health);

// Returns an error in words for strangers if the quotas cannot be decided. Returns OK if the policy is to go on without
// the store, or if nothing is refused anyway; also if a part of the store decides for its models, or if it has another
// problem, such as a file that it cannot write. Then *note says what is wrong.
Status CanDecide(const StoreHealth& health, const QuotaConfig& config, std::string* note = nullptr);

// Writes to the log, also each time that the store is away for another reason. One thread at a time.
class StoreLog {
 public:
  explicit StoreLog(std::string store) : store_(std::move(store)) {}

  // Call it every few seconds.
  void Look(const StoreHealth& health, TimePoint now);

 private:
  const std::string store_;
  std::optional<TimePoint> wrong_since_;
  std::string problem_;  // the newest one that was logged
  std::string warning_;
};

}  // namespace weir
