// Decides from a store's health what /readyz and /v1/health answer: whether requests can be decided. StoreLog logs the
// beginning and the end of each problem of the store, and the reason.
#pragma once

#include <optional>
#include <string>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/limits/quota/quota_limiter.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// Returns a text that says what kind of problem the store has; empty if it has none. Every client may read this text.
// The store's own error messages are only for operators, because they contain paths, addresses and names of keys.
std::string TroubleOf(const StoreHealth& health);

// Returns an error if the store does not answer and the configuration refuses requests then; every client may read its
// message. Otherwise returns OK and, if the store has a problem, writes it to *note. There are three such problems: the
// store does not answer, but the configuration allows all requests then or is in shadow mode; a part of the store does
// not answer; or something else is wrong, for example a `yaml:` file that cannot be written. `note` may be null.
Status CanDecide(const StoreHealth& health, const QuotaConfig& config, std::string* note = nullptr);

// Logs that a problem of the store begins, has another reason or is over; the same for the store's warning. Threads:
// one at a time.
class StoreLog {
 public:
  explicit StoreLog(std::string store) : store_(std::move(store)) {}

  // Compares the health with that of the previous call, and logs the difference. Call Look every few seconds.
  void Look(const StoreHealth& health, TimePoint now);

 private:
  const std::string store_;
  std::optional<TimePoint> wrong_since_;  // when the present problem began; nullopt: there is none
  std::string problem_;                   // the problem that was logged last
  std::string warning_;                   // the warning that was logged last; empty: none, or it is over
};

}  // namespace weir
