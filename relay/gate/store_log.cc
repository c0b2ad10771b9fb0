#include "relay/gate/store_log.h"

#include <spdlog/spdlog.h>

namespace weir {

void StoreLog::Look(const StoreHealth& health, TimePoint now) {
  const bool wrong = health.breaker != StoreHealth::Breaker::kClosed || !health.problem.empty();
  if (wrong && !wrong_since_) {
    spdlog::warn("{} is in trouble: {}", store_, health.problem.empty() ? "it does not answer" : health.problem);
    wrong_since_ = now;
  } else if (!wrong && wrong_since_) {
    spdlog::info("{} is well again, after {:.1f} s", store_, ToSeconds(now - *wrong_since_));
    wrong_since_.reset();
  }
  if (health.warning == warning_) return;
  warning_ = health.warning;
  if (warning_.empty()) {
    spdlog::info("{}: what was warned of is mended", store_);
  } else {
    spdlog::warn("{}: {}", store_, warning_);
  }
}

}  // namespace weir
