#include "bench/simulator/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "bench/simulator/agenda.h"
#include "bench/simulator/law.h"
#include "bench/simulator/load.h"
#include "bench/simulator/write_path.h"
#include "config/manual_clock.h"
#include "monitors/load_monitor.h"

namespace weir {
namespace {

constexpr TimePoint kStart{std::chrono::hours(1)};

// The integral time in dead times of the loop (throttle/rate_law.h).
constexpr double kDeadTimesPerIntegral = 8;

enum class Sensor { kWorks, kFails, kNan };

// Probes the plant like RocksDB's probe, with the plant's facts for properties. It can be told to go blind, as a sensor
// does: to fail, or to deliver NaN.
class SimProbe final : public LoadProbe {
 public:
  explicit SimProbe(Plant& plant) : plant_(plant) {}

  void SetSensor(Sensor sensor) { sensor_ = sensor; }

 private:
  Status Probe(TimePoint now, LoadSample* sample) override {
    if (sensor_ == Sensor::kFails) return Status::Error("the sensor is lost, as the scenario wants");
    plant_.Sense(now, sample);
    if (sensor_ == Sensor::kNan) {
      for (Signal& signal : sample->signal_array) signal.level = std::numeric_limits<double>::quiet_NaN();
    }
    return Status();
  }

  Plant& plant_;
  Sensor sensor_ = Sensor::kWorks;
};

class SimMonitor final : public LoadMonitor {
 public:
  SimMonitor(Plant& plant, const MonitorSettings& settings, const Clock& clock)
      : LoadMonitor(std::make_unique<SimProbe>(plant), settings, clock) {}

  void SetSensor(Sensor sensor) { static_cast<SimProbe&>(probe()).SetSensor(sensor); }
};

LsmGeometry LsmGeometryOf(const SimulationOptions& o) {
  const LsmGeometry& given = o.geometry->lsm.geometry;
  return MovesBrakes(o.law) ? PreparedGeometry(given) : given;
}

std::unique_ptr<Plant> MakePlant(const SimulationOptions& o) {
  if (o.scenario->memory_plant) return std::make_unique<MemoryPlant>(o.geometry->memory, kStart);
  LsmPlantOptions lsm = o.geometry->lsm;
  lsm.geometry = LsmGeometryOf(o);
  return std::make_unique<LsmPlant>(lsm, kStart);
}

LawContext ContextOf(const SimulationOptions& o, LoadMonitor& monitor, const Clock& clock) {
  LawContext context{
      .monitor = monitor, .clock = clock, .settings = o.settings, .fixed_bytes_per_second = o.fixed_bytes_per_second};
  if (o.scenario->weighted) context.settings.process_variable = ProcessVariable::kWeighted;
  const LsmGeometry g = LsmGeometryOf(o);
  context.l0_files_at_setpoint =
      g.l0_trigger + static_cast<int>(std::lround(o.settings.bulk.setpoint * (g.L0FilesAtOne() - g.l0_trigger)));
  return context;
}

class SimulatedRun {
 public:
  explicit SimulatedRun(const SimulationOptions& options)
      : options_(options),
        scenario_(Stretched(*options.scenario, options.geometry->time_scale)),
        clock_(kStart),
        plant_(MakePlant(options)),
        monitor_(*plant_, {.sample_interval = options.settings.tick}, clock_),
        law_(MakeLaw(options.law, ContextOf(options, monitor_, clock_))),
        path_(*plant_, kStart),
        load_(scenario_, Sustained(), options.seed, clock_, *law_, path_, agenda_) {}

  SimulationResult Go() {
    const Scenario& s = scenario_;
    const double seconds = options_.seconds > 0 ? options_.seconds : s.seconds;
    const TimePoint end = kStart + FromSeconds(seconds);
    for (const Disturbance& d : s.disturbances) agenda_.At(kStart + FromSeconds(d.at_s), [this, &d] { Disturb(d); });
    if (s.from_s > 0) agenda_.At(kStart + FromSeconds(s.from_s), [this] { StartCounting(); });
    Tick();
    load_.Start();
    while (clock_.Now() < end) Step(end);
    return Result(seconds);
  }

 private:
  double Sustained() const {
    const Geometry& g = *options_.geometry;
    return scenario_.memory_plant ? g.memory.drain_bytes_per_second : g.sustained_bytes_per_second;
  }

  double Background() const {
    const Geometry& g = *options_.geometry;
    return scenario_.memory_plant ? g.memory.drain_bytes_per_second : g.lsm.geometry.background_bytes_per_second;
  }

  void Step(TimePoint end) {
    const TimePoint now = clock_.Now();
    TimePoint next = std::min({end, agenda_.Next(), plant_->NextEvent(), path_.NextCompletion(), law_->Pump()});
    // All work due now was done; rounding may ask for it once more.
    next = std::max(next, now + std::chrono::nanoseconds(1));
    path_.AdvanceTo(next);
    clock_.Set(next);
    plant_->AdvanceTo(next);
    path_.CompleteDue();
    agenda_.RunDue(next);
  }

  void Tick() {
    (void)monitor_.SampleOnce();  // the limiter has to notice a lost sensor by itself
    law_->Tick(plant_->View());
    if (ticks_++ % options_.ticks_per_row == 0) Record();
    agenda_.At(clock_.Now() + options_.settings.tick, [this] { Tick(); });
  }

  void Record() {
    const LoadSample sample = monitor_.Sample();
    const PlantView plant = plant_->View();
    const LawView law = law_->View();
    TickRow row;
    row.time_s = ToSeconds(clock_.Now() - kStart);
    row.level = ActingLevel(sample);
    row.setpoint = options_.settings.bulk.setpoint;
    row.open = law.open;
    row.limit = law.bytes_per_second;
    row.drain = law.drain_bytes_per_second;
    row.inflow = (load_.written_bytes() - written_at_row_) / ToSeconds(options_.settings.tick * options_.ticks_per_row);
    written_at_row_ = load_.written_bytes();
    row.p = law.p;
    row.i = law.i;
    row.d = law.d;
    row.reason = law.reason;
    row.l0_files = plant.l0_files;
    row.l0_bytes = plant.l0_bytes;
    row.l1_bytes = plant.l1_bytes;
    row.tree_bytes = plant.tree_bytes;
    row.memtable_bytes = plant.memtable_bytes;
    row.pending_bytes = plant.pending_bytes;
    row.memory_bytes = plant.memory_bytes;
    row.braking = plant.delayed || plant.stopped;
    rows_.push_back(std::move(row));
  }

  void Disturb(const Disturbance& d) {
    using Event = Disturbance::Kind;
    switch (d.kind) {
      case Event::kBackground:
        plant_->SetBackground(d.value * Background());
        break;
      case Event::kSensorFails:
        monitor_.SetSensor(Sensor::kFails);
        break;
      case Event::kSensorNan:
        monitor_.SetSensor(Sensor::kNan);
        break;
      case Event::kSensorWorks:
        monitor_.SetSensor(Sensor::kWorks);
        break;
      case Event::kBulkGains: {
        const PidGains& g = options_.settings.bulk.gains;
        law_->SetBulkGains({.kp = d.value * g.kp, .ki = d.value * g.ki, .kd = d.value * g.kd});
        break;
      }
    }
  }

  void StartCounting() {
    load_.StartCounting();
    plant_at_start_ = plant_->View();
  }

  SimulationResult Result(double seconds) {
    const Scenario& s = scenario_;
    SimulationResult result{.rows = std::move(rows_)};
    Figures& f = result.figures;
    const LoadSample sample = monitor_.Sample();
    const Signal* loop = sample.Find(s.memory_plant ? "memory" : "l0");
    const double integral_s = loop == nullptr ? 0 : kDeadTimesPerIntegral * ToSeconds(loop->dead_time);
    const double until_s = s.until_s > 0 ? std::min(seconds, s.until_s) : seconds;
    JudgeLevel(result.rows, {.from_s = s.from_s, .until_s = until_s, .integral_s = integral_s}, &f);
    const LoadTally tally = load_.Finish();
    f.brake_delay_seconds = BrakeDelay(result.rows, tally);
    JudgeLoad(tally, seconds - s.from_s, &f);
    const PlantView plant = plant_->View();
    f.stalled_seconds = plant.stalled_seconds - plant_at_start_.stalled_seconds;
    f.escapes = static_cast<double>(plant.escapes - plant_at_start_.escapes);
    return result;
  }

  // Returns the time from the first sample that saw the setpoint crossed to the first bulk write that had to wait.
  double BrakeDelay(const std::vector<TickRow>& rows, const LoadTally& tally) const {
    if (tally.first_bulk_wait == TimePoint::max()) return std::numeric_limits<double>::quiet_NaN();
    for (const TickRow& row : rows) {
      if (row.time_s <= scenario_.from_s || row.level < row.setpoint) continue;
      return ToSeconds(tally.first_bulk_wait - kStart) - row.time_s;
    }
    return std::numeric_limits<double>::quiet_NaN();
  }

  const SimulationOptions& options_;
  const Scenario scenario_;
  ManualClock clock_;
  Agenda agenda_;
  std::unique_ptr<Plant> plant_;
  SimMonitor monitor_;
  std::unique_ptr<Law> law_;
  WritePath path_;
  Load load_;
  std::vector<TickRow> rows_;
  int ticks_ = 0;
  double written_at_row_ = 0;
  PlantView plant_at_start_;
};

}  // namespace

SimulationResult Simulate(const SimulationOptions& options) { return SimulatedRun(options).Go(); }

}  // namespace weir
