// LimiterSettings: the settings of an AdaptiveLimiter. Their names in the environment and their meanings for an
// operator are in limiter_settings.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "config/settings.h"
#include "monitors/memory_target.h"
#include "throttle/pid_controller.h"

namespace weir {

// The quantity that a controller for writes holds at the setpoint. kBottleneck: each signal of the load has a control
// loop, and the lowest limit applies. kWeighted: one loop holds 0.7 × the memory pressure + 0.3 × the highest other
// level; this is unsafe, because an overloaded engine that uses little memory looks half idle.
enum class ProcessVariable { kBottleneck, kWeighted };

// The behaviour of the limiter while the sensor is lost (sensor_timeout). kHold: it limits writes to about nine tenths
// of the rate at which the engine drains (RateLaw::HeldLimit), and keeps the limits on scans; signals that the process
// measures itself may lower both. kOpen: it opens the gates, so the engine must always keep its own brakes
// (ReplacesBrakes).
enum class SensorLoss { kHold, kOpen };

// The settings of one controller. For writes, the gains are relative: kp 0.5, ki 0.1 and kd 0.05 stand for exactly the
// gains that RateLaw computes for the engine (rate_law.h), and a number twice as large stands for twice the gain. (The
// three numbers come from a plan for a throttle that ORLY, another Nostr relay, has published; see bench/plan.)
struct ControlSettings {
  PidGains gains;
  double setpoint = 0.85;
  double filter_alpha = 0.2;
  std::chrono::milliseconds max_delay{1000};  // the longest wait; a request that would wait longer is refused
  uint64_t min_batch = 10;                    // MaybeThrottle asks the gate once for this many operations of a thread
};

// Returns the number of cores less one, but at least 1.
uint64_t FewerThanCores();

struct LimiterSettings {
  bool enabled = true;
  ProcessVariable process_variable = ProcessVariable::kBottleneck;

  ControlSettings write;                                              // for interactive writes
  ControlSettings bulk{.gains = {.kp = 0.5, .ki = 0.15, .kd = 0.05},  // for bulk writes; bulk scans use its max_delay
                       .setpoint = 0.70,
                       .max_delay = std::chrono::milliseconds(60'000),
                       .min_batch = 5};
  ControlSettings read{.gains = {.kp = 0.3, .ki = 0.05, .kd = 0.02},
                       .filter_alpha = 0.3,
                       .max_delay = std::chrono::milliseconds(200),
                       .min_batch = 5};
  uint64_t bulk_read_min_batch = 10;     // min_batch of bulk reads, which are otherwise controlled as `read` says
  uint64_t max_batch_bytes = 256 << 10;  // MaybeThrottle asks for a batch of fewer operations if it has these bytes

  // A read of at least this many bytes is a scan. At most read_max_scans of them run at once when the level of a signal
  // that acts on reads reaches the setpoint, and fewer as the level rises.
  uint64_t read_scan_bytes = 64 << 10;
  uint64_t read_max_scans = 8;
  // At any load, a bulk scan begins only if the number of scans that hold a permit is below this one, or if it is the
  // turn of bulk scans (scan_gate.h). No environment variable sets this number. In the storm benchmark on two cores,
  // the p99.9 of interactive writes was 57 ms with four long scans at once, and 4 ms with one at a time.
  uint64_t bulk_scans = FewerThanCores();

  double emergency = kEmergencyOfTarget;  // an emergency begins at this multiple of the memory target
  double recovery = 0.833;                // and ends below this multiple

  // The sensor, which is the monitor, counts as lost when its last sample is older than this and older than three of
  // its sample intervals.
  std::chrono::milliseconds sensor_timeout{2000};
  SensorLoss on_sensor_loss = SensorLoss::kHold;

  // Returns true if the limiter takes the place of the engine's own brakes, so that these may be moved to higher loads
  // (EngineBrakes in monitors/rocksdb_options.h). Returns false if the limiter is off, or opens its gates when the
  // sensor is lost: without a limiter the engine needs its brakes at their usual loads.
  bool ReplacesBrakes() const { return enabled && on_sensor_loss == SensorLoss::kHold; }

  std::chrono::milliseconds tick{100};  // how often the controllers run
};

// Declares the settings in `table`, under names that begin with RATE_LIMIT_ or IMPORT_. Loading the table writes to
// `settings`, which must exist until then.
void Declare(SettingTable& table, LimiterSettings& settings);

// Reads the settings from the environment, then calls Check. Returns the error of either; if Check fails, `settings`
// holds the values that were read.
Status LoadLimiterSettings(const Environment& environment, LimiterSettings* settings);

// Returns an error if a setting is out of its range, or if settings contradict each other: recovery must be below
// emergency, and sensor_timeout at least the tick. The limiter's constructor throws this error.
Status Check(const LimiterSettings& settings);
// Returns an error if sensor_timeout is less than twice `timeout`, the time that a monitor gives its engine to answer:
// a slow answer must not count as a lost sensor. `name` is the name of the setting that holds `timeout`, for the
// error's message.
Status CheckTimeout(const LimiterSettings& settings, std::string_view name, std::chrono::milliseconds timeout);

}  // namespace weir
