#include "relay/gate/serving.h"

namespace weir {

Status CanDecide(const StoreHealth& health, const QuotaConfig& config) {
  if (config.shadow || config.when_store_away == WhenStoreAway::kAllow) return Status();
  // While it is half-open one call tries the store, and all others are refused.
  if (health.breaker == StoreHealth::Breaker::kClosed) return Status();
  return Status::Error("the store of the quotas does not answer" +
                       (health.problem.empty() ? std::string() : ": " + health.problem));
}

}  // namespace weir
