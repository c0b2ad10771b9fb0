#include "throttle/limiter_settings.h"

#include <algorithm>
#include <string>

#include "config/cores.h"

namespace weir {
namespace {

constexpr NumberRange kGain{.min = 0, .max = 100};
constexpr NumberRange kSetpoint{.min = 0.05, .max = 1, .unit = "level"};
constexpr NumberRange kAlpha{.min = 0.001, .max = 0.999, .unit = "fraction"};
constexpr NumberRange kDelay{.min = 1, .max = 600'000, .unit = "ms"};
constexpr NumberRange kScans{.min = 1, .max = 10'000, .unit = "scans"};
constexpr NumberRange kBatch{.min = 1, .max = 100'000, .unit = "operations"};

void DeclareController(SettingTable& table, const std::string& prefix, const std::string& whose, ControlSettings& s) {
  table.Add(prefix + "_KP", &s.gains.kp, kGain,
            whose + ": gain on the error itself; if KP, KI and KD are all 0, the controller does not limit " + whose);
  table.Add(prefix + "_KI", &s.gains.ki, kGain, whose + ": gain on an error that stays");
  table.Add(prefix + "_KD", &s.gains.kd, kGain,
            whose + ": gain on the error's growth; damps a little, and is rarely needed");
  table.Add(prefix + "_FILTER_ALPHA", &s.filter_alpha, kAlpha,
            whose + ": weight of a new sample in the derivative's filter");
  table.Add(prefix + "_MAX_DELAY_MS", &s.max_delay, kDelay, whose + ": longest wait, then the answer is a refusal");
  table.Add(prefix + "_MIN_BATCH", &s.min_batch, kBatch, whose + ": operations that MaybeThrottle takes together");
  table.ForEmbedding(prefix + "_MIN_BATCH");
}

bool IsFraction(double x) { return x > 0 && x < 1; }
bool IsWithin(double x, const NumberRange& range) { return x >= range.min && x <= range.max; }

// Longer than any wait that makes sense, and too short to overflow a Duration.
constexpr std::chrono::hours kLongest{24};

}  // namespace

uint64_t FewerThanCores() { return std::max(2U, Cores()) - 1; }

void Declare(SettingTable& table, LimiterSettings& s) {
  table.Add("RATE_LIMIT_ENABLED", &s.enabled, "whether work is throttled; if not, RocksDB has only its own brakes");
  table.Add<ProcessVariable>("RATE_LIMIT_PROCESS_VARIABLE", &s.process_variable,
                             {{"bottleneck", ProcessVariable::kBottleneck}, {"weighted", ProcessVariable::kWeighted}},
                             "value that is controlled. bottleneck: the most restrictive signal; weighted: 0.7 memory "
                             "+ 0.3 load");
  table.Add(
      "RATE_LIMIT_SETPOINT", &s.write.setpoint, kSetpoint,
      "level that interactive work may drive the engine to; at 1.0 the engine itself brakes; for the signals memory "
      "and own the setpoint is at least 0.70");
  DeclareController(table, "RATE_LIMIT_WRITE", "writes", s.write);
  DeclareController(table, "RATE_LIMIT_READ", "reads", s.read);
  table.Add("RATE_LIMIT_READ_SETPOINT", &s.read.setpoint, kSetpoint, "level of memory above which scans are cut");
  table.Add("RATE_LIMIT_READ_SCAN_BYTES", &s.read_scan_bytes, {.min = 1, .max = 1e12, .unit = "bytes"},
            "a read that touches this many bytes counts as a scan");
  table.Add("RATE_LIMIT_READ_MAX_SCANS", &s.read_max_scans, kScans,
            "scans at once when pressure begins; fewer as it grows");
  table.Add("IMPORT_SETPOINT", &s.bulk.setpoint, kSetpoint,
            "level that bulk work may drive the engine to; for the signals memory and own the setpoint is at least "
            "0.70");
  table.Add("IMPORT_WRITE_KP", &s.bulk.gains.kp, kGain,
            "bulk: as RATE_LIMIT_WRITE_KP, which applies if this is not set");
  table.DefaultFrom("IMPORT_WRITE_KP", "RATE_LIMIT_WRITE_KP");
  table.Add("IMPORT_WRITE_KI", &s.bulk.gains.ki, kGain, "bulk: gain on an error that stays");
  table.Add("IMPORT_WRITE_KD", &s.bulk.gains.kd, kGain,
            "bulk: as RATE_LIMIT_WRITE_KD, which applies if this is not set");
  table.DefaultFrom("IMPORT_WRITE_KD", "RATE_LIMIT_WRITE_KD");
  table.Add("IMPORT_WRITE_FILTER_ALPHA", &s.bulk.filter_alpha, kAlpha,
            "bulk: as RATE_LIMIT_WRITE_FILTER_ALPHA, which applies if this is not set");
  table.DefaultFrom("IMPORT_WRITE_FILTER_ALPHA", "RATE_LIMIT_WRITE_FILTER_ALPHA");
  table.Add("IMPORT_MAX_DELAY_MS", &s.bulk.max_delay, kDelay, "bulk: longest wait, then the answer is a refusal");
  table.Add("IMPORT_MIN_BATCH", &s.bulk.min_batch, kBatch, "bulk: operations that MaybeThrottle takes together");
  table.Add("IMPORT_READ_MIN_BATCH", &s.bulk_read_min_batch, kBatch,
            "bulk reads: operations that MaybeThrottle takes together");
  table.Add("RATE_LIMIT_MAX_BATCH_BYTES", &s.max_batch_bytes, {.min = 1, .max = 1e12, .unit = "bytes"},
            "bytes at which MaybeThrottle takes fewer operations together");
  for (const char* batch : {"IMPORT_MIN_BATCH", "IMPORT_READ_MIN_BATCH", "RATE_LIMIT_MAX_BATCH_BYTES"})
    table.ForEmbedding(batch);
  table.Add(
      "RATE_LIMIT_EMERGENCY", &s.emergency, {.min = 0.1, .max = 10, .unit = "of the memory target"},
      "memory at which an emergency begins: scans and bulk work stop for up to ten seconds, then scans run one at a "
      "time and bulk work runs at its lowest rate");
  table.Add("RATE_LIMIT_RECOVERY", &s.recovery, {.min = 0.05, .max = 10, .unit = "of the memory target"},
            "memory below which an emergency ends, and scans and bulk work go on as usual");
  table.Add("RATE_LIMIT_SENSOR_TIMEOUT_MS", &s.sensor_timeout, {.min = 200, .max = 600'000, .unit = "ms"},
            "age of the last good sample at which the sensor counts as lost");
  table.Add<SensorLoss>("RATE_LIMIT_SENSOR_LOSS", &s.on_sensor_loss,
                        {{"hold", SensorLoss::kHold}, {"open", SensorLoss::kOpen}},
                        "what the throttle does while the sensor is lost. hold: limits writes to nine tenths of the "
                        "drain, or to the recent rate if the drain is not known. open: opens the gates; with open, "
                        "RocksDB keeps its own brakes at all times");
  table.Add("RATE_LIMIT_TICK_MS", &s.tick, {.min = 10, .max = 10'000, .unit = "ms"}, "how often the controllers run");
}

Status LoadLimiterSettings(const Environment& environment, LimiterSettings* s) {
  SettingTable table;
  Declare(table, *s);
  if (Status status = table.Load(environment); !status.ok()) return status;
  return Check(*s);
}

Status Check(const LimiterSettings& s) {
  if (!(s.recovery < s.emergency)) {
    return Status::Error("WEIR_RATE_LIMIT_RECOVERY=" + std::to_string(s.recovery) +
                         " must be below WEIR_RATE_LIMIT_EMERGENCY=" + std::to_string(s.emergency) +
                         ": an emergency has to end at less memory than it began");
  }
  if (!(s.recovery > 0)) return Status::Error("WEIR_RATE_LIMIT_RECOVERY must be above 0, or no emergency ends");
  for (const ControlSettings* c : {&s.write, &s.bulk, &s.read}) {
    if (!(c->setpoint > 0 && c->setpoint <= 1))
      return Status::Error("a setpoint must be within 0..1, not " + std::to_string(c->setpoint));
    if (!IsFraction(c->filter_alpha))
      return Status::Error("a filter alpha must be between 0 and 1, not " + std::to_string(c->filter_alpha));
    if (c->max_delay.count() <= 0 || c->max_delay > kLongest)
      return Status::Error("a max delay must be within 1 ms..24 h");
    if (c->min_batch == 0 || s.bulk_read_min_batch == 0) return Status::Error("a min batch must be at least 1");
    const PidGains& g = c->gains;
    if (!IsWithin(g.kp, kGain) || !IsWithin(g.ki, kGain) || !IsWithin(g.kd, kGain)) {
      return Status::Error("gains must be within " + FormatRange(kGain));
    }
  }
  if (!IsWithin(static_cast<double>(s.read_max_scans), kScans) ||
      !IsWithin(static_cast<double>(s.bulk_scans), kScans)) {
    return Status::Error("the scans at once must be within " + FormatRange(kScans));
  }
  if (s.tick.count() <= 0 || s.tick > kLongest) return Status::Error("the tick must be within 1 ms..24 h");
  if (s.sensor_timeout < s.tick || s.sensor_timeout > kLongest) {
    return Status::Error("WEIR_RATE_LIMIT_SENSOR_TIMEOUT_MS must be at least WEIR_RATE_LIMIT_TICK_MS and at most 24 h");
  }
  return Status();
}

Status CheckTimeout(const LimiterSettings& s, std::string_view name, std::chrono::milliseconds timeout) {
  if (s.sensor_timeout >= 2 * timeout) return Status();
  return Status::Error("WEIR_RATE_LIMIT_SENSOR_TIMEOUT_MS=" + std::to_string(s.sensor_timeout.count()) +
                       " must be at least twice " + std::string(name) + "=" + std::to_string(timeout.count()) +
                       ": a server that is slow to answer is not lost");
}

}  // namespace weir
