// LiveSettings: returns and changes the settings that an operator can change while the relay runs: the gains and
// setpoints of the throttle's controllers, and the log level. A change makes no controller's output jump. A change
// lasts until the relay stops; at its next start the relay reads its settings from the environment again.
//
// config/SETTINGS.md describes the settings. Here their names have no prefix WEIR_; Apply takes names with it, too.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/settings.h"
#include "config/status.h"
#include "relay/process/logging.h"
#include "relay/watch/live/live_state.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class LiveSettings {
 public:
  // The limiter must outlive this object.
  explicit LiveSettings(AdaptiveLimiter& limiter);

  // Returns the settings with their present values, always in the same order.
  std::vector<LiveSetting> Now() const;
  // Returns the same settings, in the same order, with their ranges and meanings. The values in these rows do not
  // change: they are those at the time when this object was made.
  const std::vector<SettingRow>& rows() const { return rows_; }

  using Change = std::pair<std::string, std::string>;  // name and value
  // Applies all changes. Returns a text for each setting whose value has changed, such as "IMPORT_SETPOINT 0.7 → 0.6".
  // If a name or a value is wrong, returns an error and changes nothing.
  Result<std::vector<std::string>> Apply(const std::vector<Change>& changes);

 private:
  struct Values {
    LimiterSettings limiter;
    LogLevel log_level = LogLevel::kInfo;
    LogFormat log_format = LogFormat::kText;  // never changed; Declare declares it together with log_level
  };
  static SettingTable TableOf(Values& values);
  static std::vector<SettingRow> RowsOf(const Values& values);
  Values Read() const;
  void Use(const Values& values);

  AdaptiveLimiter& limiter_;
  const std::vector<SettingRow> rows_;
  Mutex mutex_;  // held during Apply
};

}  // namespace weir
