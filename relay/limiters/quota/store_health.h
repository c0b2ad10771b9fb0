// What the health of a store means: whether the quotas can be decided, for /readyz and /v1/health; and what the log
// says when the store goes away, why, and when it is back.
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

// The error says what is wrong with the store, as strangers are told. There is none where the policy is to go on
// without it, or where nothing is refused anyway; nor where a part of the store decides for its models, or it has
// another problem, such as a file that it cannot write: then *note says so.
Status CanDecide(const StoreHealth& health, const QuotaConfig& config, std::string* note = nullptr);

// Writes to the log, also each time that the store is away for another reason. One thread at a time.
class StoreLog {
 public:
  explicit StoreLog(std::string store) : store_(std::move(store)) {}

  // Every few seconds.
  void Look(const StoreHealth& health, TimePoint now);

 private:
  const std::string store_;
  std::optional<TimePoint> wrong_since_;
  std::string problem_;  // that the log was told
  std::string warning_;
};

}  // namespace weir
