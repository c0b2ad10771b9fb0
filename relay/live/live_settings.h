// LiveSettings: what an operator can change while the relay runs: gains and setpoints of the throttle, without a bump,
// and the level of the log. Until the next start, which takes what the environment says.
//
// By the names, ranges and words of the settings themselves (config/SETTINGS.md), without WEIR_.
//
// Threads: any.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "relay/live/live_state.h"
#include "relay/process/logging.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class LiveSettings {
 public:
  // The limiter must outlive it.
  explicit LiveSettings(AdaptiveLimiter& limiter);

  std::vector<LiveSetting> Now() const;
  // What they are, with range and meaning, as they were at the start.
  const std::vector<SettingRow>& rows() const { return rows_; }

  using Change = std::pair<std::string, std::string>;  // name and value
  // All of them or none. Says what has changed, each "IMPORT_SETPOINT 0.7 → 0.6".
  Result<std::vector<std::string>> Apply(const std::vector<Change>& changes);

 private:
  struct Values {
    LimiterSettings limiter;
    LogLevel log_level = LogLevel::kInfo;
    LogFormat log_format = LogFormat::kText;  // declared with the level, and not changed
  };
  static SettingTable TableOf(Values& values);
  static std::vector<SettingRow> RowsOf(const Values& values);
  Values Read() const;
  void Use(const Values& values);

  AdaptiveLimiter& limiter_;
  const std::vector<SettingRow> rows_;
  std::mutex mutex_;  // one change at a time
};

}  // namespace weir
