#include "relay/limiters/quota/store_health.h"

#include <spdlog/spdlog.h>

#include "config/text/in_words.h"
#include "throttle/limits/quota/quota_reasons.h"

namespace weir {
namespace {

constexpr const char* kLogTells = " (the log tells why)";

}  // namespace

std::string TroubleOf(const StoreHealth& health) {
  if (health.decides == StoreHealth::Decides::kNone) return StoreAwayReason({});
  if (health.decides == StoreHealth::Decides::kSome)
    return "a part of the store does not answer, and nothing is decided of its models";
  return health.problem.empty() ? "" : "the store of the quotas decides, and has a problem";
}

Status CanDecide(const StoreHealth& health, const QuotaConfig& config, std::string* note) {
  std::string trouble = TroubleOf(health);
  if (health.decides == StoreHealth::Decides::kNone) {
    if (!config.shadow && config.when_store_away == WhenStoreAway::kRefuse) return Status::Error(trouble + kLogTells);
    trouble += "; nothing is refused for that";
  }
  if (note != nullptr && !trouble.empty()) *note = trouble + kLogTells;
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
    spdlog::info("{}: the cause of the warning is gone", store_);
  } else {
    spdlog::warn("{}: {}", store_, warning_);
  }
}

}  // namespace weir
