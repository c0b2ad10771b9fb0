#include "relay/limiters/quota/store_health.h"

#include <spdlog/spdlog.h>

#include "config/text/in_words.h"

namespace weir {

Status CanDecide(const StoreHealth& health, const QuotaConfig& config, std::string* note) {
  using Decides = StoreHealth::Decides;
  const std::string problem = health.problem.empty() ? std::string() : ": " + health.problem;
  if (health.decides == Decides::kNone) {
    const std::string away = "the store of the quotas does not answer" + problem;
    if (!config.shadow && config.when_store_away == WhenStoreAway::kRefuse) return Status::Error(away);
    if (note != nullptr) *note = away + "; nothing is refused for that";
  } else if (note != nullptr && health.decides == Decides::kSome) {
    *note = "a part of the store does not answer, and nothing is decided of its models" + problem;
  } else if (note != nullptr && !health.problem.empty()) {
    *note = "the store of the quotas decides, and has a problem" + problem;
  }
  return {};
}

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
