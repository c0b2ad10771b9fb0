// Judges from the health of a store whether quotas can be decided, for /readyz and /v1/health. StoreLog logs when the
// store stops answering, why, and when it answers again.
#pragma once

#include <optional>
#include <string>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/quota/quota_limiter.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// Returns the kind of trouble in words that every client may read; empty if there is none. The store's own error
// messages are only for the log and for operators, because they contain paths, addresses and names of keys.
std::string TroubleOf(const StoreHealth& health);

// Returns an error, in words that every client may read, if the store does not answer and requests are refused for
// that. Returns OK in all other cases. If something is wrong nevertheless, writes that into *note: the store does not
// answer but the configuration lets requests pass then or refuses none (shadow mode), a part of the store does not
// answer, or it has another problem, such as a file that it cannot write. `note` may be null.
Status CanDecide(const StoreHealth& health, const QuotaConfig& config, std::string* note = nullptr);

// Writes to the log when trouble with the store begins, when its reason changes and when it is over, and likewise for
// the store's warning. Threads: one at a time.
class StoreLog {
 public:
  explicit StoreLog(std::string store) : store_(std::move(store)) {}

  // Compares the health with that of the previous call. Call it every few seconds.
  void Look(const StoreHealth& health, TimePoint now);

 private:
  const std::string store_;
  std::optional<TimePoint> wrong_since_;  // nullopt: there is no trouble
  std::string problem_;                   // the newest problem that was logged
  std::string warning_;                   // the warning that was logged; empty: none, or it is over
};

}  // namespace weir
