// LiveSettings: the settings that an operator can change while the relay runs: gains and setpoints of the throttle,
// which change without a bump, and the log level. Changes hold until the next start, which reads the environment again.
//
// Names, ranges and values are those of the settings themselves (config/SETTINGS.md), without WEIR_.
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
  // The same settings with range and meaning; their values are those at the start.
  const std::vector<SettingRow>& rows() const { return rows_; }

  using Change = std::pair<std::string, std::string>;  // name and value
  // Applies all changes or none. Returns what has changed, each as "IMPORT_SETPOINT 0.7 → 0.6".
  Result<std::vector<std::string>> Apply(const std::vector<Change>& changes);

 private:
  struct Values {
    LimiterSettings limiter;
    LogLevel log_level = LogLevel::kInfo;
    LogFormat log_format = LogFormat::kText;  // declared together with the level, but never changed
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
