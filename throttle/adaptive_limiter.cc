#include "throttle/adaptive_limiter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "monitors/memory_target.h"
#include "monitors/smoothed.h"

namespace weir {
namespace {

constexpr std::string_view kEmergency = "emergency";
constexpr std::string_view kCores = "cores";

// The burst that is used if the monitor's sample states none.
constexpr double kDefaultBurstBytes = 256 << 10;

// The demand is averaged over about this time to decide whether work presses against a limit, because batches make
// single ticks uneven. A burst still counts in the tick in which it arrives.
constexpr double kDemandSeconds = 0.5;

// The longest time for which an emergency holds bulk work and refuses scans: by then the engine has freed all the
// memory that it can.
constexpr Duration kLongestHold = std::chrono::seconds(10);

// The tick until the monitor has its first sample. Until then nothing is limited, and 20 MB can arrive within a usual
// tick.
constexpr Duration kFirstSampleTick = std::chrono::milliseconds(5);

// A longer time between two ticks (a suspended machine, a debugger) counts as this.
constexpr Duration kLongestTick = std::chrono::seconds(1);

// The longest delay of a read in the plan that the ORLY relay published (limiter_settings.h).
constexpr double kFullReadBrakeSeconds = 0.2;

PidSettings ReadPid(const LimiterSettings& s) {
  // The output is a delay in seconds, as in the plan. The limiter uses its ratio to the plan's longest delay.
  return {.gains = s.read.gains,
          .setpoint = s.read.setpoint,
          .filter_alpha = s.read.filter_alpha,
          .nominal_tick = s.tick,
          .integral_min = 0,
          .integral_max = kFullReadBrakeSeconds,
          .output_min = 0,
          .output_max = kFullReadBrakeSeconds};
}

const LimiterSettings& Checked(const LimiterSettings& settings) {
  if (Status status = Check(settings); !status.ok()) throw std::invalid_argument(status.message());
  return settings;
}

}  // namespace

AdaptiveLimiter::AdaptiveLimiter(LoadMonitor& monitor, const LimiterSettings& settings)
    : monitor_(monitor),
      settings_(Checked(settings)),
      clock_(monitor.clock()),
      write_gate_(clock_, [this](TimePoint when) { Wake(when); }),
      scan_gate_(clock_, [this](TimePoint when) { Wake(when); }),
      laws_{RateLaw(settings.write, settings.process_variable, settings.tick),
            RateLaw(settings.bulk, settings.process_variable, settings.tick)},
      read_pid_(ReadPid(settings)) {}

AdaptiveLimiter::~AdaptiveLimiter() { Stop(); }

void AdaptiveLimiter::Start() {
  if (write_gate_.IsForked()) return;
  const MutexLock lifecycle(lifecycle_mutex_);
  if (!settings_.enabled || thread_.joinable()) return;
  {
    const MutexLock lock(thread_mutex_);
    stopping_ = false;
  }
  thread_ = std::thread([this] { Run(); });
}

void AdaptiveLimiter::Stop() {
  if (write_gate_.IsForked()) return LetGoOfParent();
  const MutexLock lifecycle(lifecycle_mutex_);
  {
    const MutexLock lock(thread_mutex_);
    stopping_ = true;
    wake_up_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  write_gate_.RefuseAll("stopped");
  scan_gate_.RefuseAll("stopped");
  {
    const MutexLock lock(control_mutex_);
    OpenGates("stopped");
    buyback_ = MemoryBuyback();
    monitor_.SetCacheShare(1);
  }
  {
    const MutexLock lock(thread_mutex_);
    ++stops_;
    let_go_.notify_all();
  }
  TellSettled();
}

// In a forked child, the thread cannot be joined, nor detached: a thread of the child may have its identity. And
// glibc's destructor of a condition would wait for the parent's threads that waited for it. So all three begin anew,
// without a call of their destructors. No lock is taken, because a thread of the parent may have held it.
void AdaptiveLimiter::LetGoOfParent() {
  new (&thread_) std::thread;
  new (&wake_up_) Condition;
  new (&let_go_) Condition;
}

void AdaptiveLimiter::Run() {
  TimePoint next_tick = clock_.Now();
  bool sampled = false;
  while (true) {
    {
      const MutexLock lock(thread_mutex_);
      next_wake_ = TimePoint::max();
    }
    if (const TimePoint now = clock_.Now(); now >= next_tick) {
      Tick();
      sampled = sampled || monitor_.Sample().time.has_value();
      next_tick = std::max(next_tick + (sampled ? Duration(settings_.tick) : kFirstSampleTick), now);
    } else {
      // If the clock steps back, the control must not pause until the clock has caught up.
      next_tick = std::min(next_tick, now + settings_.tick);
    }
    const TimePoint next = std::min(next_tick, Pump());

    MutexLock lock(thread_mutex_);
    if (stopping_) return;
    // From here on only an earlier time wakes the thread.
    const TimePoint until = next_wake_ = std::min(next, next_wake_);
    wake_up_.wait_for(lock, until - clock_.Now(),
                      [&]() WEIR_REQUIRES(thread_mutex_) { return stopping_ || next_wake_ < until; });
  }
}

// The gates call this while they hold their lock.
void AdaptiveLimiter::Wake(TimePoint when) {
  const MutexLock lock(thread_mutex_);
  if (when >= next_wake_) return;
  next_wake_ = when;
  wake_up_.notify_one();
}

TimePoint AdaptiveLimiter::Pump() { return std::min(write_gate_.Pump(), scan_gate_.Pump()); }

Duration AdaptiveLimiter::MaybeThrottle(Operation operation, Cost cost, Party party) {
  const std::optional<uint64_t> batch = batches_[static_cast<size_t>(operation)][party.work_class].Add(
      cost.bytes, MinBatch(operation, party.work_class), settings_.max_batch_bytes);
  if (!batch) return Duration::zero();
  // Reads are submitted with the cost of the last one, so that a batch of cheap reads does not count as a scan.
  return ThrottleOne(operation, operation == Operation::kRead ? cost : Cost{*batch}, party);
}

Duration AdaptiveLimiter::ThrottleOne(Operation operation, Cost cost, Party party) {
  Gate& gate = GateOf(operation);
  if (gate.PassOpen(cost, party.work_class) || gate.IsForked()) return Duration::zero();
  const uint64_t stops = Stops();
  Admission admission = gate.Admit(cost, party);
  if (admission.Wait() == Admission::State::kAdmitted) return admission.waited();
  // The work is never refused: sleep until max_delay or retry_after is over, whichever is earlier, then charge it.
  const Duration longest = operation == Operation::kRead          ? settings_.read.max_delay
                           : party.work_class == WorkClass::kBulk ? settings_.bulk.max_delay
                                                                  : settings_.write.max_delay;
  const Duration rest = std::min(longest - admission.waited(), admission.retry_after());
  if (rest > Duration::zero()) Sleep(rest, stops);
  gate.AdmitAnyway(cost, party.work_class);
  return admission.waited() + std::max(rest, Duration::zero());
}

void AdaptiveLimiter::Charge(Operation operation, Cost cost, WorkClass work_class) {
  Gate& gate = GateOf(operation);
  if (!gate.PassOpen(cost, work_class) && !gate.IsForked()) gate.AdmitAnyway(cost, work_class);
}

uint64_t AdaptiveLimiter::Stops() const {
  const MutexLock lock(thread_mutex_);
  return stops_;
}

void AdaptiveLimiter::Sleep(Duration longest, uint64_t stops) {
  MutexLock lock(thread_mutex_);
  let_go_.wait_for(lock, longest, [&]() WEIR_REQUIRES(thread_mutex_) { return stops_ != stops; });
}

uint64_t AdaptiveLimiter::MinBatch(Operation operation, WorkClass work_class) const {
  const bool bulk = work_class == WorkClass::kBulk;
  if (operation == Operation::kRead) return bulk ? settings_.bulk_read_min_batch : settings_.read.min_batch;
  return bulk ? settings_.bulk.min_batch : settings_.write.min_batch;
}

void AdaptiveLimiter::RecordLatency(Operation operation, Duration latency) {
  if (operation == Operation::kRead) {
    monitor_.RecordReadLatency(latency);
  } else {
    monitor_.RecordWriteLatency(latency);
  }
}

void AdaptiveLimiter::Tick() {
  if (!settings_.enabled) return;
  const LoadSample sample = monitor_.Sample();
  const LoadSample process = monitor_.ProcessSample();
  {
    const MutexLock lock(control_mutex_);
    TickLocked(sample, process);
  }
  TellSettled();
}

void AdaptiveLimiter::TellSettled() {
  write_gate_.TellSettled();
  scan_gate_.TellSettled();
}

void AdaptiveLimiter::TickLocked(const LoadSample& sample, const LoadSample& process) {
  const TimePoint now = clock_.Now();
  const Duration elapsed = last_tick_ ? std::max(now - *last_tick_, Duration::zero()) : settings_.tick;
  const Duration dt = std::min(elapsed, std::max(kLongestTick, Duration(settings_.tick)));
  last_tick_ = now;

  const Rates inflow = MeasureInflow(elapsed);
  const bool was_lost = view_.sensor_lost;
  view_.sensor_lost = !IsFresh(sample, now);
  if (view_.sensor_lost) {
    if (!was_lost) held_limits_.Save(last_limits_, HeldRates());
    const bool feels = IsFresh(process, now);
    if (settings_.on_sensor_loss == SensorLoss::kOpen || (!sample.time && !feels)) {
      OpenGates(HeldLimits::kReason);  // before the first sample there is no limit to hold
    } else if (feels) {
      const GateLimits felt = Decide(process, inflow, dt, now);
      Give(held_limits_.LowerOf(felt, view_.emergency));
    } else {
      EndEmergency();  // no later sample could end it
      Give(held_limits_.Held());
    }
    return;
  }
  last_limits_ = Decide(sample, inflow, dt, now);
  Give(last_limits_);
}

GateLimits AdaptiveLimiter::Decide(const LoadSample& sample, const Rates& inflow, Duration dt, TimePoint now) {
  view_.sample = sample;
  UpdateEmergency(sample, now);
  RelieveBuffers(sample, now);
  const WriteLimits writes = DecideWrites(sample, inflow, dt);
  return {.writes = writes, .scans = DecideReads(sample, dt)};
}

// Runs in every tick, even if the limits did not change, because an open gate may close by itself.
void AdaptiveLimiter::Give(const GateLimits& limits) {
  write_gate_.SetLimits(limits.writes);
  scan_gate_.SetLimits(limits.scans);
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    const WriteLimit& limit = limits.writes[c];
    LimiterView::Write& view = view_.writes[c];
    view.open = limit.idle;
    view.bytes_per_second = limit.hold || std::isinf(limit.bytes_per_second) ? 0 : limit.bytes_per_second;
    view.reason = limit.reason;
    if (view_.sensor_lost && limit.idle && std::isfinite(limit.bytes_per_second)) {
      view.bytes_per_second = 0;
      view.reason = HeldLimits::kReason;
    }
  }
  view_.scans_at_once = limits.scans.open ? 0 : limits.scans.at_once;
  view_.read_reason = limits.scans.reason;
}

// Returns how many bytes per second were admitted since the last tick. Runs in every tick, so that the work of a tick
// without a decision does not count in the next one.
AdaptiveLimiter::Rates AdaptiveLimiter::MeasureInflow(Duration elapsed) {
  const double elapsed_s = ToSeconds(elapsed);
  if (elapsed_s <= 0) return demand_;
  Rates inflow{};
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    const Flow flow = write_gate_.Admitted(c);
    inflow[c] = static_cast<double>(flow.bytes - last_flow_[c].bytes) / elapsed_s;
    last_flow_[c] = flow;
    demand_[c] += (inflow[c] - demand_[c]) * SmoothingWeight(elapsed_s, kDemandSeconds);
  }
  return inflow;
}

bool AdaptiveLimiter::IsFresh(const LoadSample& sample, TimePoint now) const {
  // A monitor that samples seldom is not lost between two samples.
  const Duration timeout = std::max<Duration>(settings_.sensor_timeout, 3 * monitor_.sample_interval());
  return sample.time && now - *sample.time <= timeout;
}

void AdaptiveLimiter::UpdateEmergency(const LoadSample& sample, TimePoint now) {
  const double mark = view_.emergency ? settings_.recovery : settings_.emergency;
  view_.emergency = sample.memory_pressure >= mark;
  if (!view_.emergency) EndEmergency();
  if (view_.emergency && !emergency_since_) emergency_since_ = now;
  view_.emergency_holds = view_.emergency && now - *emergency_since_ < kLongestHold;
  BuyMemoryBack(sample, now);
}

void AdaptiveLimiter::EndEmergency() {
  view_.emergency = view_.emergency_holds = false;
  emergency_since_.reset();
}

// Returns the setpoint of bulk work while there is bulk work, otherwise that of interactive work.
double AdaptiveLimiter::LeastWriteSetpoint() const {
  const bool bulk_comes = bulk_waits_ || demand_[WorkClass::kBulk] > 1;
  return laws_[bulk_comes ? WorkClass::kBulk : WorkClass::kInteractive].setpoint();
}

// Shrinks the cache only for work that is really limited by memory.
void AdaptiveLimiter::BuyMemoryBack(const LoadSample& sample, TimePoint now) {
  const double mark = std::max(LeastWriteSetpoint(), kLeastMemorySetpoint);
  const MemoryBuyback::Step step = buyback_.Update(now, sample.memory_pressure, mark);
  monitor_.SetCacheShare(step.cache_share);
  if (step.flush) monitor_.ForceFlush();
  if (step.purge) monitor_.ReleaseMemory();
}

void AdaptiveLimiter::RelieveBuffers(const LoadSample& sample, TimePoint now) {
  double highest = 0;
  for (const Signal& s : sample.signals())
    if (s.relieved_by_flush) highest = std::max(highest, s.judged());
  if (flush_relief_.Update(now, highest, LeastWriteSetpoint())) monitor_.FlushLargest();
}

WriteLimits AdaptiveLimiter::DecideWrites(const LoadSample& sample, const Rates& inflow, Duration dt) {
  const Rates pressing{std::max(inflow[0], demand_[0]), std::max(inflow[1], demand_[1])};

  WriteLimits limits;
  limits.open = !view_.emergency;
  limits.burst_bytes =
      sample.write_burst_bytes > 0 ? static_cast<double>(sample.write_burst_bytes) : kDefaultBurstBytes;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    const bool bulk = c == WorkClass::kBulk;
    const bool in_emergency = bulk && view_.emergency;
    // All writes are charged to the bulk limit, so all writes are its demand.
    const Demand demand{.inflow_bytes_per_second = inflow[0] + inflow[1],
                        .bytes_per_second = bulk ? pressing[0] + pressing[1] : pressing[0],
                        .waited = write_gate_.TakePressed(c)};
    if (bulk) bulk_waits_ = demand.waited;
    RateDecision decision = laws_[c].Update(sample, demand, dt);
    // This limit applies even if no signal limits: a probe may report memory pressure that no law acts on.
    if (in_emergency) decision.bytes_per_second = laws_[c].LowestLimit();
    WriteLimit& limit = limits[c];
    // Set the limit even while the gate is open, because a burst closes the gate, which then applies this limit.
    if (!decision.reason.empty() || in_emergency) limit.bytes_per_second = decision.bytes_per_second;
    // An emergency's limit may stay for long, so it is also the mean.
    const double drain = decision.drain_bytes_per_second;
    if (!in_emergency) limit.mean_bytes_per_second = drain > 0 ? drain : std::numeric_limits<double>::infinity();
    limit.longest_wait = bulk ? settings_.bulk.max_delay : settings_.write.max_delay;
    limit.hold = bulk && view_.emergency_holds;
    limit.emergency = in_emergency;
    limit.reason = in_emergency ? kEmergency : decision.reason;
    limit.idle = decision.open && !in_emergency;
    limits.open = limits.open && decision.open;
    LimiterView::Write& view = view_.writes[c];
    view.drain_bytes_per_second = decision.drain_bytes_per_second;
    view.setpoint = decision.setpoint;
    view.level = decision.level;
  }
  return limits;
}

ScanLimits AdaptiveLimiter::DecideReads(const LoadSample& sample, Duration dt) {
  const Signal* highest = nullptr;
  for (const Signal& s : sample.signals())
    if (s.acts_on_reads && (highest == nullptr || s.judged() > highest->judged())) highest = &s;
  view_.read_level = highest != nullptr ? highest->judged() : 0;

  const double delay_s = highest != nullptr ? read_pid_.Update(highest->judged(), dt) : 0;
  const double brake = delay_s / kFullReadBrakeSeconds;
  const double scans = static_cast<double>(settings_.read_max_scans) * (1 - brake);

  ScanLimits limits;
  limits.open = brake <= 0 && !view_.emergency;
  limits.at_once = view_.emergency ? 1 : std::max<int64_t>(1, std::lround(scans));
  limits.bulk_at_once = static_cast<int64_t>(settings_.bulk_scans);
  // In an emergency only scans are limited, whatever fills the memory.
  const bool all = brake > 0 && highest->acts_on_cheap_reads && !view_.emergency;
  limits.scan_bytes = all ? 0 : settings_.read_scan_bytes;
  limits.reason = view_.emergency ? kEmergency : highest != nullptr ? highest->name : "";
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    limits[c].longest_wait = c == WorkClass::kBulk ? settings_.bulk.max_delay : settings_.read.max_delay;
    limits[c].refuse = view_.emergency_holds;
    const bool by_cores = limits.open || (c == WorkClass::kBulk && limits.bulk_at_once < limits.at_once);
    limits[c].reason = by_cores && !view_.emergency ? kCores : limits.reason;
  }
  return limits;
}

// Returns, for each class of writes, the limit to hold while the sensor is lost.
AdaptiveLimiter::Rates AdaptiveLimiter::HeldRates() const {
  Rates rates{};
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk})
    rates[c] = laws_[c].HeldLimit(c == WorkClass::kBulk ? demand_[0] + demand_[1] : demand_[c]);
  return rates;
}

void AdaptiveLimiter::OpenGates(std::string_view reason) {
  EndEmergency();
  GateLimits limits;
  limits.scans.reason = reason;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    limits.writes[c].idle = true;
    limits.writes[c].reason = reason;
    view_.writes[c].drain_bytes_per_second = view_.writes[c].level = 0;
  }
  Give(limits);
}

PidState AdaptiveLimiter::ControllerState(Operation operation, WorkClass work_class) const {
  const MutexLock lock(control_mutex_);
  return operation == Operation::kRead ? read_pid_.GetState() : laws_[work_class].State();
}

LimiterView AdaptiveLimiter::View() const {
  const MutexLock lock(control_mutex_);
  return view_;
}

std::string_view AdaptiveLimiter::Reason(Operation operation, WorkClass work_class) const {
  const MutexLock lock(control_mutex_);
  if (operation == Operation::kWrite) return write_gate_.open() ? "" : view_[work_class].reason;
  // While the scan gate is open, only bulk scans wait, and only because of the number of cores.
  if (scan_gate_.open()) return scan_gate_.Stats().waits[work_class].waiting > 0 ? kCores : "";
  return view_.read_reason;
}

void AdaptiveLimiter::ResetControllers() {
  const MutexLock lock(control_mutex_);
  for (RateLaw& law : laws_) law.Reset();
  read_pid_.Reset();
}

void AdaptiveLimiter::SetWriteGains(const PidGains& gains, WorkClass work_class) {
  const MutexLock lock(control_mutex_);
  laws_[work_class].SetGains(gains);
}

void AdaptiveLimiter::SetReadGains(const PidGains& gains) {
  const MutexLock lock(control_mutex_);
  read_pid_.SetGains(gains);
}

void AdaptiveLimiter::SetSetpoint(Operation operation, double setpoint, WorkClass work_class) {
  if (!(setpoint > 0 && setpoint <= 1)) return;
  const MutexLock lock(control_mutex_);
  if (operation == Operation::kRead) return read_pid_.SetSetpoint(setpoint);
  laws_[work_class].SetSetpoint(setpoint);
}

Tuning AdaptiveLimiter::TuningOf(Operation operation, WorkClass work_class) const {
  const MutexLock lock(control_mutex_);
  if (operation == Operation::kRead) return {read_pid_.settings().gains, read_pid_.settings().setpoint};
  return {laws_[work_class].gains(), laws_[work_class].setpoint()};
}

}  // namespace weir
