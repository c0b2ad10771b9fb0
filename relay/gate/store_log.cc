#include "relay/gate/store_log.h"

#include <spdlog/spdlog.h>

#include "config/in_words.h"

namespace weir {

void StoreLog::Look(const StoreHealth& health, TimePoint now) {
  const bool wrong = health.breaker != StoreHealth::Breaker::kClosed || !health.problem.empty();
  if (wrong && (!wrong_since_ || (health.problem != problem_ && !health.problem.empty()))) {
    problem_ = health.problem;
    spdlog::warn("{} is in trouble: {}", store_, problem_.empty() ? "it does not answer" : problem_);
    if (!wrong_since_) wrong_since_ = now;
  } else if (!wrong && wrong_since_) {
    spdlog::info("{} is well again, after {}", store_, InWords(now - *wrong_since_));
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
