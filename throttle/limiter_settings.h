// What an operator can set on the throttle, with the environment's names in limiter_settings.cc.
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

// What happens when the monitor has said nothing for sensor_timeout: go on with nine tenths of the drain as it was
// known, or open the gates, for which the engine keeps its own brakes all the time (ReplacesBrakes).
enum class SensorLoss { kHold, kOpen };

// One controller: its gains in the numbers of the ORLY plan, where 0.5 / 0.1 / 0.05 are once the gains derived from the
// engine's geometry for writes.
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

  // A read of at least this many bytes is a scan, of which at most read_max_scans run at once under pressure.
  uint64_t read_scan_bytes = 64 << 10;
  uint64_t read_max_scans = 8;
  // Whatever the pressure, a bulk scan begins beside fewer than this; no operator has to know. In the storm with four
  // long scans on two cores an interactive write's p99.9 was 57 ms, and one at a time 8.
  uint64_t bulk_scans = FewerThanCores();

  double emergency = kEmergencyOfTarget;  // of the memory target: in
  double recovery = 0.833;                // and out

  std::chrono::milliseconds sensor_timeout{2000};
  SensorLoss on_sensor_loss = SensorLoss::kHold;

  // Whether the limiter takes the place of the engine's own brakes, so that these may be moved out of its way. Not when
  // it may open: while it does nothing they have to be where the engine has them.
  bool ReplacesBrakes() const { return enabled && on_sensor_loss == SensorLoss::kHold; }

  std::chrono::milliseconds tick{100};
};

// Binds the settings to RATE_LIMIT_… and IMPORT_….
void Declare(SettingTable& table, LimiterSettings& settings);

// Reads them from the environment and checks them.
Status LoadLimiterSettings(const Environment& environment, LimiterSettings* settings);

// What single ranges cannot say: recovery below emergency, and the like. The limiter's constructor throws what this
// says.
Status Check(const LimiterSettings& settings);
// And of a monitor whose engine has so long to answer, by the setting `name`: a slow answer must not be a lost sensor.
Status CheckTimeout(const LimiterSettings& settings, std::string_view name, std::chrono::milliseconds timeout);

}  // namespace weir
