// AttachSetup: all that a program says before it attaches a throttle (weir.h).
//
// Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "monitors/memory_target.h"
#include "monitors/rocksdb_text/property_monitor.h"
#include "throttle/limiter_settings.h"

namespace weir {

class AttachSetup {
 public:
  // Returns an error if no setting of the throttle has this name, or if it does not accept the value.
  Status Set(const std::string& name, const std::string& value);

  std::string directory;  // has the database; empty: `options_text` has the options
  std::optional<std::string> options_text;
  std::vector<std::string> families;                     // empty: "default" alone
  std::function<void(const std::string& sentence)> log;  // null: stderr
  OptionSetter set_options;                              // null: the brakes stay where they are
  bool sampled_by_program = false;

  struct Resolved {
    PropertyMonitorSettings monitor;
    LimiterSettings limiter;
  };
  // Reads the settings, also from `environment`. Returns an error that names what is wrong or missing.
  Result<Resolved> Resolve(const Environment& environment) const;

 private:
  struct Settings {
    MonitorSettings monitor;
    LimiterSettings limiter;
    MemoryTargetSettings memory{.target_memory_mb = 0};
  };
  static void DeclareAll(SettingTable& table, Settings& settings);
  // A program may have grown before it attaches, so without a target it may use what it uses now and a share of the
  // rest.
  static Result<uint64_t> MemoryTarget(MemoryTargetSettings memory, double emergency);

  Environment given_;
};

}  // namespace weir
