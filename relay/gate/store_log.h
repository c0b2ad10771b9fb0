// Tells the log when the store goes away, and when it is back: once each.
//
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>

#include "config/clock.h"
#include "throttle/quota/quota_store.h"

namespace weir {

class StoreLog {
 public:
  explicit StoreLog(std::string store) : store_(std::move(store)) {}

  // Every few seconds.
  void Look(const StoreHealth& health, TimePoint now);

 private:
  const std::string store_;
  std::optional<TimePoint> wrong_since_;
  std::string warning_;
};

}  // namespace weir
