// LiveSettings: the settings that an operator can change while the relay runs. They are the gains and setpoints of the
// throttle's controllers, and the log level. A change makes no controller's output jump. It holds until the next start,
// which reads the environment again.
//
// Names, ranges and values are those of config/SETTINGS.md; the names are without WEIR_.
//
// Threads: all functions may be called from any thread.
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
  // The limiter must outlive this object.
  explicit LiveSettings(AdaptiveLimiter& limiter);

  // Returns the settings with their present values, always in the same order.
  std::vector<LiveSetting> Now() const;
  // Returns the same settings, in the same order, with range and meaning. The values are those of the time when this
  // object was made.
  const std::vector<SettingRow>& rows() const { return rows_; }

  using Change = std::pair<std::string, std::string>;  // name and value
  // Applies all changes. Returns the settings that have another value now, each as "IMPORT_SETPOINT 0.7 → 0.6". If one
  // name or value is wrong, returns an error and changes nothing.
  Result<std::vector<std::string>> Apply(const std::vector<Change>& changes);

 private:
  struct Values {
    LimiterSettings limiter;
    LogLevel log_level = LogLevel::kInfo;
    LogFormat log_format = LogFormat::kText;  // is declared with log_level, and never changed
  };
  static SettingTable TableOf(Values& values);
  static std::vector<SettingRow> RowsOf(const Values& values);
  Values Read() const;
  void Use(const Values& values);

  AdaptiveLimiter& limiter_;
  const std::vector<SettingRow> rows_;
  std::mutex mutex_;  // held during Apply
};

}  // namespace weir
