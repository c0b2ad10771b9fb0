// AdaptiveLimiter: protects a storage engine from overload. At a fixed interval, the tick, it reads the engine's load
// from a LoadMonitor and decides how much work the engine can carry. Accordingly it admits, delays or refuses the reads
// and writes of the program. Create one limiter for each engine. For RocksDB, RocksDbThrottle
// (rocksdb/rocksdb_throttle.h) owns the limiter and its monitor.
//
//   weir::LoadMonitor monitor(std::make_unique<MyProbe>(engine));
//   weir::AdaptiveLimiter limiter(monitor);
//   monitor.Start();
//   limiter.Start();
//   ...
//   auto admission = limiter.Admit(weir::Operation::kWrite, {batch.GetDataSize()});
//   admission.Wait();
//   if (admission.admitted()) db->Write({}, &batch);
//
// The load consists of signals, each with a level: 0 when the engine is idle, 1.0 when the engine itself would begin to
// brake (monitors/load_sample.h). The setpoint is the level at which the limiter holds the engine when there is more
// work than it can carry. Work is either interactive, if a client awaits its result, or bulk work, such as an import,
// which may wait much longer (admission.h).
//
//  * Writes are limited in bytes per second, separately for interactive and bulk work (rate_law.h, write_gate.h).
//  * Among reads, usually only scans are limited: a bounded number of them runs at once (scan_gate.h). A scan is a read
//    that is likely to touch at least LimiterSettings::read_scan_bytes. Bulk scans are limited at any load, by
//    LimiterSettings::bulk_scans. Interactive scans are limited only while the controller of reads brakes, because the
//    highest signal that acts on reads is above the setpoint of reads, and in an emergency. If that signal also acts on
//    cheap reads, its brake limits all reads.
//  * If memory stays above the setpoint of writes, the limiter makes the engine flush and shrink its cache
//    (memory_buyback.h). If all write buffers together stay too large, it makes the engine flush the largest
//    (flush_relief.h).
//  * An emergency begins when the memory in use reaches LimiterSettings::emergency. It ends when the memory falls below
//    LimiterSettings::recovery, when the monitor has no fresh sample and the memory of the process is not known either,
//    or when Stop or SensorLoss::kOpen opens the gates. During the first ten seconds of an emergency scans are refused
//    and bulk writes wait. In this time the engine frees all the memory that it can, so a longer wait would free no
//    more. After that one scan runs at a time, and bulk writes get the lowest rate (RateLaw::LowestLimit). Throughout
//    the emergency cheap reads pass, and interactive writes are limited as usual.
//
// Until the monitor has a first sample, of the engine or of the process, nothing is limited.
//
// Threads: every function may be called from any thread, except that Stop and the destructor must not be called from a
// function passed to Admission::OnSettled, because the limiter's own thread may run that function. Admit costs a few
// nanoseconds while nothing is limited. Start launches one thread that calls Tick and Pump; a program (or a simulator)
// with a loop of its own may call these two itself instead. The monitor must outlive the limiter, and the limiter must
// outlive its Admissions.
//
// Fork: in a child process that fork() made, the limiter's thread does not exist. There Admit and MaybeThrottle let all
// work pass, Start and Stop start and end nothing, the destructor returns, and an Admission that waited is admitted. No
// other function may be called there. A child that is to be throttled needs a limiter and a monitor of its own.
#pragma once

#include <functional>
#include <optional>
#include <thread>

#include "config/mutex.h"
#include "monitors/load_monitor.h"
#include "throttle/admission.h"
#include "throttle/flush_relief.h"
#include "throttle/held_limits.h"
#include "throttle/limiter_settings.h"
#include "throttle/memory_buyback.h"
#include "throttle/rate_law.h"
#include "throttle/scan_gate.h"
#include "throttle/thread_batches.h"
#include "throttle/write_gate.h"

namespace weir {

// The state of the limiter as of the last tick, or of Stop. Its string_views are valid at least as long as the monitor
// exists.
struct LimiterView {
  struct Write {
    bool open = true;                   // true if this class of work needs no limit
    double bytes_per_second = 0;        // the limit, not in force while open; 0: none, or an emergency holds the class
    double drain_bytes_per_second = 0;  // the drain (rate_law.h) of the signal with the lowest limit; 0 if none
    double setpoint = 0;                // the setpoint that applies to that signal
    double level = 0;                   // the level of that signal, from which the limit was computed
    // The signal with the lowest limit, even while open; or "emergency", "sensor lost" or "stopped"; empty if no signal
    // limits writes.
    std::string_view reason;
  };
  ByClass<Write> writes;
  double read_level = 0;         // the highest level of the signals that act on reads
  int64_t scans_at_once = 0;     // how many scans of both classes together may run at once; 0: any number
  std::string_view read_reason;  // the signal with read_level, or "emergency", "sensor lost" or "stopped"
  bool emergency = false;
  bool emergency_holds = false;  // true in the first ten seconds of an emergency: bulk writes wait, scans are refused
  bool sensor_lost = false;      // true if the monitor has no fresh sample (LimiterSettings::sensor_timeout)
  LoadSample sample;             // the last sample used: LoadMonitor::Sample, or ProcessSample while the sensor is lost

  const Write& operator[](WorkClass c) const { return writes[c]; }
};

// The settings of a controller that can be changed while it runs.
struct Tuning {
  PidGains gains;
  double setpoint = 0;

  bool operator==(const Tuning&) const = default;
};

class AdaptiveLimiter {
 public:
  // Keeps a reference to the monitor and uses its clock. Throws std::invalid_argument if Check(settings) returns an
  // error, with the message of that error.
  explicit AdaptiveLimiter(LoadMonitor& monitor, const LimiterSettings& settings = {});
  ~AdaptiveLimiter();  // calls Stop
  AdaptiveLimiter(const AdaptiveLimiter&) = delete;
  AdaptiveLimiter& operator=(const AdaptiveLimiter&) = delete;

  // Start launches the limiter's thread, unless LimiterSettings::enabled is false; the caller starts the monitor. Stop
  // ends the thread, refuses all waiting requests with the reason "stopped", opens the gates, so that all later work
  // passes, and asks the monitor to restore the engine's cache to its full size. Both are idempotent and may be called
  // in any order; a stopped limiter can be started again.
  void Start();
  void Stop();

  // Asks for the admission of one operation and never blocks. The returned Admission is admitted, waiting or refused;
  // admission.h says how to use it.
  Admission Admit(Operation operation, Cost cost, Party party = {}) {
    Gate& gate = GateOf(operation);
    if (gate.PassOpen(cost, party.work_class)) [[likely]]
      return Admission();
    return gate.IsForked() ? Admission() : gate.Admit(cost, party);
  }

  // Is a simpler form of Admit, for threads that may block; call it before or after each operation. It collects the
  // calling thread's operations, separately for reads and writes and for each class, until there are min_batch of them
  // (ControlSettings) or they have LimiterSettings::max_batch_bytes. The call that completes a batch waits until the
  // whole batch is admitted. (The cost of a batch of reads is that of its last read, so that many cheap reads do not
  // count as a scan.) Returns how long the call waited: 0 for every call except the last of a batch. MaybeThrottle
  // never refuses work: at the latest after the longest wait of the class, or when the limiter stops, it returns as if
  // the work were admitted. Such work is charged, too, and others wait for it (write_gate.h). The caller holds no
  // permit after it returns: a scan waits for its turn, but only Admit bounds how many scans run at once.
  Duration MaybeThrottle(Operation operation, Cost cost = {.bytes = 1024}, Party party = {});
  // Does the same for one operation at once, without collecting a batch.
  Duration ThrottleOne(Operation operation, Cost cost, Party party = {});
  // Charges an operation that can neither wait nor be refused, because it is done already. Never blocks.
  void Charge(Operation operation, Cost cost, WorkClass work_class = WorkClass::kInteractive);

  // Reports to the monitor how long an operation of the program took.
  void RecordLatency(Operation operation, Duration latency);

  // The functions below, except Reason, ignore `work_class` for reads.
  GateStats Stats(Operation operation) const { return GateOf(operation).Stats(); }
  PidState ControllerState(Operation operation, WorkClass work_class = WorkClass::kInteractive) const;
  LimiterView View() const;
  // Returns the name of the signal that limits work of this kind and class, or "emergency" or "sensor lost". While the
  // gate for work of this kind is open, returns "cores" if scans of the class wait, else "".
  std::string_view Reason(Operation operation, WorkClass work_class = WorkClass::kInteractive) const;

  // Makes all controllers forget what they learned from past samples. Gains and setpoints stay.
  void ResetControllers();
  Tuning TuningOf(Operation operation, WorkClass work_class = WorkClass::kInteractive) const;
  // These three functions change the limits gradually, without a jump (pid_controller.h); but if all gains of a class
  // become 0, its limit ends at once. They ignore gains for which IsValid is false, and a setpoint outside (0, 1].
  void SetWriteGains(const PidGains& gains, WorkClass work_class = WorkClass::kInteractive);
  void SetReadGains(const PidGains& gains);
  void SetSetpoint(Operation operation, double setpoint, WorkClass work_class = WorkClass::kInteractive);

  // The limiter's thread repeats these two steps. Tick reads the monitor's newest sample and sets new limits; it does
  // nothing if LimiterSettings::enabled is false. Pump admits or refuses the waiting requests whose turn or deadline
  // has come, and returns the time at which it must be called next (TimePoint::max() if no request waits). A request
  // that begins to wait after that may require an earlier call.
  void Tick();
  TimePoint Pump();

 private:
  using Rates = ByClass<double>;  // bytes per second

  Gate& GateOf(Operation o) { return o == Operation::kRead ? static_cast<Gate&>(scan_gate_) : write_gate_; }
  const Gate& GateOf(Operation o) const {
    return o == Operation::kRead ? static_cast<const Gate&>(scan_gate_) : write_gate_;
  }
  uint64_t MinBatch(Operation operation, WorkClass work_class) const;

  Rates MeasureInflow(Duration elapsed) WEIR_REQUIRES(control_mutex_);
  uint64_t Stops() const;
  // Sleeps until the limiter has been stopped more often than `stops` times, at most for `longest`.
  void Sleep(Duration longest, uint64_t stops);
  bool IsFresh(const LoadSample& sample, TimePoint now) const;
  void UpdateEmergency(const LoadSample& sample, TimePoint now) WEIR_REQUIRES(control_mutex_);
  void EndEmergency() WEIR_REQUIRES(control_mutex_);
  void BuyMemoryBack(const LoadSample& sample, TimePoint now) WEIR_REQUIRES(control_mutex_);
  void RelieveBuffers(const LoadSample& sample, TimePoint now) WEIR_REQUIRES(control_mutex_);
  double LeastWriteSetpoint() const WEIR_REQUIRES(control_mutex_);
  GateLimits Decide(const LoadSample& sample, const Rates& inflow, Duration dt, TimePoint now)
      WEIR_REQUIRES(control_mutex_);
  WriteLimits DecideWrites(const LoadSample& sample, const Rates& inflow, Duration dt) WEIR_REQUIRES(control_mutex_);
  ScanLimits DecideReads(const LoadSample& sample, Duration dt) WEIR_REQUIRES(control_mutex_);
  void TickLocked(const LoadSample& sample, const LoadSample& process) WEIR_REQUIRES(control_mutex_);
  // Sets the limits of both gates, and the fields of LimiterView that show them.
  void Give(const GateLimits& limits) WEIR_REQUIRES(control_mutex_);
  Rates HeldRates() const WEIR_REQUIRES(control_mutex_);
  void TellSettled();
  void OpenGates(std::string_view reason) WEIR_REQUIRES(control_mutex_);
  void Run();
  void Wake(TimePoint when);
  void LetGoOfParent() WEIR_UNCHECKED_LOCKS;

  LoadMonitor& monitor_;
  const LimiterSettings settings_;
  const Clock& clock_;
  WriteGate write_gate_;
  ScanGate scan_gate_;
  std::array<ByClass<ThreadBatches>, 2> batches_;  // by operation; MaybeThrottle uses them

  mutable Mutex control_mutex_;
  ByClass<RateLaw> laws_ WEIR_GUARDED_BY(control_mutex_);
  PidController read_pid_ WEIR_GUARDED_BY(control_mutex_);
  GateLimits last_limits_ WEIR_GUARDED_BY(control_mutex_);  // from the last decision on a fresh sample
  HeldLimits held_limits_ WEIR_GUARDED_BY(control_mutex_);  // in force while the sensor is lost
  LimiterView view_ WEIR_GUARDED_BY(control_mutex_);
  std::optional<TimePoint> last_tick_ WEIR_GUARDED_BY(control_mutex_);
  std::optional<TimePoint> emergency_since_ WEIR_GUARDED_BY(control_mutex_);
  // True if a bulk write waits now or waited during the last tick.
  bool bulk_waits_ WEIR_GUARDED_BY(control_mutex_) = false;
  MemoryBuyback buyback_ WEIR_GUARDED_BY(control_mutex_);
  FlushRelief flush_relief_ WEIR_GUARDED_BY(control_mutex_);
  // The work that the write gate had admitted by the last tick.
  ByClass<Flow> last_flow_ WEIR_GUARDED_BY(control_mutex_);
  Rates demand_ WEIR_GUARDED_BY(control_mutex_){};  // the inflow of each class, averaged over about half a second

  Mutex lifecycle_mutex_;       // one Start or Stop at a time
  mutable Mutex thread_mutex_;  // the innermost mutex: a gate locks it while it holds its own
  Condition wake_up_;
  Condition let_go_;  // wakes the threads that sleep in MaybeThrottle
  TimePoint next_wake_ WEIR_GUARDED_BY(thread_mutex_) = TimePoint::max();
  bool stopping_ WEIR_GUARDED_BY(thread_mutex_) = false;  // the limiter's thread ends
  uint64_t stops_ WEIR_GUARDED_BY(thread_mutex_) = 0;     // how often the limiter was stopped
  std::thread thread_ WEIR_GUARDED_BY(lifecycle_mutex_);
};

// Returns a function that asks the limiter to admit an operation as bulk work of no particular party. The limiter must
// outlive the function.
inline std::function<Admission(Cost cost)> AdmitAsBulk(AdaptiveLimiter& limiter, Operation operation) {
  return [&limiter, operation](Cost cost) { return limiter.Admit(operation, cost, {.work_class = WorkClass::kBulk}); };
}

}  // namespace weir
