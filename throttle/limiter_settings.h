// LimiterSettings: the throttle's settings, whose names in the environment are in limiter_settings.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "config/settings.h"
#include "monitors/memory_target.h"
#include "throttle/pid_controller.h"

namespace weir {

// kBottleneck: each signal has its own loop and the most restrictive wins. kWeighted: one loop on 0.7 memory + 0.3
// load; unsafe alone, because a full engine with idle memory looks half idle.
enum class ProcessVariable { kBottleneck, kWeighted };

// The answer when the monitor has said nothing for sensor_timeout. kHold: go on with nine tenths of the drain as it was
// known. kOpen: open the gates; for that the engine keeps its own brakes all the time (ReplacesBrakes).
enum class SensorLoss { kHold, kOpen };

// The settings of one controller. Gains are in the numbers of the ORLY plan: for writes, 0.5 / 0.1 / 0.05 stand for
// exactly the gains derived from the engine's geometry.
struct ControlSettings {
  PidGains gains;
  double setpoint = 0.85;
  double filter_alpha = 0.2;
  std::chrono::milliseconds max_delay{1000};  // the longest wait
  uint64_t min_batch = 10;                    // operations that MaybeThrottle takes together
};

uint64_t FewerThanCores();

struct LimiterSettings {
  bool enabled = true;
  ProcessVariable process_variable = ProcessVariable::kBottleneck;

  ControlSettings write;  // interactive
  ControlSettings bulk{.gains = {.kp = 0.5, .ki = 0.15, .kd = 0.05},
                       .setpoint = 0.70,
                       .max_delay = std::chrono::milliseconds(60'000),
                       .min_batch = 5};
  ControlSettings read{.gains = {.kp = 0.3, .ki = 0.05, .kd = 0.02},
                       .filter_alpha = 0.3,
                       .max_delay = std::chrono::milliseconds(200),
                       .min_batch = 5};

  // A read of at least this many bytes is a scan. At most read_max_scans of them run at once under pressure.
  uint64_t read_scan_bytes = 64 << 10;
  uint64_t read_max_scans = 8;
  // At any pressure, a bulk scan begins only beside fewer scans than this; it is no operator's setting. In the storm
  // with four long scans on two cores an interactive write's p99.9 was 57 ms, and with one at a time 8.
  uint64_t bulk_scans = FewerThanCores();

  double emergency = kEmergencyOfTarget;  // begins at this share of the memory target
  double recovery = 0.833;                // and ends below this share

  std::chrono::milliseconds sensor_timeout{2000};
  SensorLoss on_sensor_loss = SensorLoss::kHold;

  // Returns true if the limiter takes the place of the engine's own brakes, so that these may be moved out of its way.
  // Returns false if its gates may open: while it does nothing, the engine needs its brakes where they were.
  bool ReplacesBrakes() const { return enabled && on_sensor_loss == SensorLoss::kHold; }

  std::chrono::milliseconds tick{100};
};

// Binds the settings to RATE_LIMIT_… and IMPORT_….
void Declare(SettingTable& table, LimiterSettings& settings);

// Reads them from the environment and checks them.
Status LoadLimiterSettings(const Environment& environment, LimiterSettings* settings);

// Checks the ranges, and what single ranges cannot say: recovery below emergency, and the like. The limiter's
// constructor throws this error.
Status Check(const LimiterSettings& settings);
// Checks sensor_timeout against `timeout`, the time that a monitor's engine has to answer, which the setting `name`
// holds: a slow answer must not count as a lost sensor.
Status CheckTimeout(const LimiterSettings& settings, std::string_view name, std::chrono::milliseconds timeout);

}  // namespace weir
