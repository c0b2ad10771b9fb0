#include "relay/protocol/write_health.h"

#include <spdlog/spdlog.h>

#include "config/text/in_words.h"

namespace weir {
namespace {

constexpr Duration kFailureLasts = std::chrono::seconds(10);

}  // namespace

void WriteHealth::Note(const Status& status) {
  const MutexLock lock(mutex_);
  if (!status.ok()) {
    last_failure_ = clock_.Now();
    failure_ = status;
    if (last_write_.ok()) spdlog::error("events cannot be stored: {}", status.message());
  } else if (!last_write_.ok()) {
    spdlog::info("events are stored again");
  }
  last_write_ = status;
}

Status WriteHealth::LastWrite() const {
  const MutexLock lock(mutex_);
  return clock_.Now() - last_failure_ < kFailureLasts ? last_write_ : Status();
}

std::string WriteHealth::LastFailure() const {
  const MutexLock lock(mutex_);
  if (failure_.ok()) return "none";
  return InWords(clock_.Now() - last_failure_) + " ago: " + failure_.message();
}

}  // namespace weir
