// Tells the log when the store goes away, why, each time that it is for another reason, and when it is back.
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
  std::string problem_;  // that the log was told
  std::string warning_;
};

}  // namespace weir
