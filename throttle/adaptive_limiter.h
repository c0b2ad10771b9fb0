// AdaptiveLimiter: asks a LoadMonitor how the engine feels, decides on a fixed tick how much work it can carry, and
// gates the work accordingly. One object per engine; for RocksDB, rocksdb/rocksdb_throttle.h owns it and its monitor.
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
// Writes are paced in bytes per second, with one limit for interactive and one for bulk work (rate_law.h). Among reads,
// only scans are limited, by how many run at once: bulk scans to fewer than there are cores, all scans while a signal
// that reads act on is high (and all reads, if cheap reads raise it too). Memory that stays above the setpoint is
// bought back (memory_buyback.h). An emergency begins at the emergency mark and ends below the recovery mark, or when
// the sensor is lost. For its first ten seconds scans are refused and bulk work is held; by then everything that can be
// given back was given back, so waiting would free no more. After that scans run one at a time, and bulk work gets the
// least that its law lets through. Cheap work goes on all the time.
//
// Threads: every function may be called from any thread. Admit costs a few nanoseconds while nothing is limited. Start
// launches one thread that runs the tick and hands out turns; without it, Tick and Pump may be called by a program (or
// a simulator) that has its own beat. The monitor must outlive the limiter, the limiter its Admissions.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "monitors/load_monitor.h"
#include "throttle/admission.h"
#include "throttle/limiter_settings.h"
#include "throttle/memory_buyback.h"
#include "throttle/rate_law.h"
#include "throttle/scan_gate.h"
#include "throttle/write_gate.h"

namespace weir {

// Shows what the limiter is doing and why, as of the last tick.
struct LimiterView {
  struct Write {
    bool open = true;
    double bytes_per_second = 0;  // the limit, when not open
    double drain_bytes_per_second = 0;
    double setpoint = 0;
    double level = 0;
    std::string_view reason;  // the signal that limits, or the highest one when open
  };
  ByClass<Write> writes;
  double read_level = 0;
  int64_t scans_at_once = 0;  // 0: not limited
  std::string_view read_reason;
  bool emergency = false;
  bool emergency_holds = false;  // its first seconds: bulk work is held, scans are refused
  bool sensor_lost = false;
  LoadSample sample;

  const Write& operator[](WorkClass c) const { return writes[c]; }
};

// The part of a controller's settings that can be changed while it runs.
struct Tuning {
  PidGains gains;
  double setpoint = 0;

  bool operator==(const Tuning&) const = default;
};

class AdaptiveLimiter {
 public:
  // Uses the monitor's clock. Throws std::invalid_argument with the message of Check(settings).
  explicit AdaptiveLimiter(LoadMonitor& monitor, const LimiterSettings& settings = {});
  ~AdaptiveLimiter();
  AdaptiveLimiter(const AdaptiveLimiter&) = delete;
  AdaptiveLimiter& operator=(const AdaptiveLimiter&) = delete;

  // Both are idempotent, in any order. Stop refuses all waiters ("stopped") and leaves the gates open.
  void Start();
  void Stop();

  // Asks to be admitted; never blocks. See admission.h for what to do with the answer.
  Admission Admit(Operation operation, Cost cost, Party party = {}) {
    Gate& gate = GateOf(operation);
    if (gate.PassOpen(cost, party.work_class)) [[likely]]
      return Admission();
    return gate.Admit(cost, party);
  }

  // For plain threads, to call after (or before) each operation: collects min_batch operations of the calling thread
  // and class, waits for them together, and returns how long it waited. Never refuses: after the longest wait, or at
  // Stop, it returns all the same. It holds no permit: a read waits until it could run, but only Admit bounds how many
  // run at once.
  Duration MaybeThrottle(Operation operation, Cost cost = {.bytes = 1024}, Party party = {});

  void RecordLatency(Operation operation, Duration latency);

  GateStats Stats(Operation operation) const { return GateOf(operation).Stats(); }
  PidState ControllerState(Operation operation, WorkClass work_class = WorkClass::kInteractive) const;
  LimiterView View() const;
  // Returns what limits work of this kind: the signal, "emergency" or "sensor lost". While the gate is open, returns
  // "cores" if scans of the class wait, else "".
  std::string_view Reason(Operation operation, WorkClass work_class = WorkClass::kInteractive) const;

  void ResetControllers();
  Tuning TuningOf(Operation operation, WorkClass work_class = WorkClass::kInteractive) const;
  // Bumpless. They ignore gains for which IsValid is false, and a setpoint that is not above 0 and at most 1.
  void SetWriteGains(const PidGains& gains, WorkClass work_class = WorkClass::kInteractive);
  void SetReadGains(const PidGains& gains);
  void SetSetpoint(Operation operation, double setpoint, WorkClass work_class = WorkClass::kInteractive);

  // The steps of the thread: Tick makes a control decision; Pump gives waiters their turns and returns when it is due
  // next.
  void Tick();
  TimePoint Pump();

 private:
  using Rates = ByClass<double>;  // bytes per second

  // A thread's operations that MaybeThrottle has not yet taken to the gate.
  struct alignas(64) Pending {
    std::atomic<uint64_t> operations{0};
    std::atomic<uint64_t> bytes{0};
  };

  Gate& GateOf(Operation o) { return o == Operation::kRead ? static_cast<Gate&>(scan_gate_) : write_gate_; }
  const Gate& GateOf(Operation o) const {
    return o == Operation::kRead ? static_cast<const Gate&>(scan_gate_) : write_gate_;
  }
  uint64_t MinBatch(Operation operation, WorkClass work_class) const;

  Rates MeasureInflow(Duration elapsed);
  void Sleep(Duration longest);
  bool IsFresh(const LoadSample& sample, TimePoint now) const;
  void UpdateEmergency(const LoadSample& sample, TimePoint now);
  void EndEmergency();
  void BuyMemoryBack(const LoadSample& sample, TimePoint now);
  WriteLimits DecideWrites(const LoadSample& sample, const Rates& inflow, Duration dt);
  ScanLimits DecideReads(const LoadSample& sample, Duration dt);
  void TickLocked(const LoadSample& sample, const LoadSample& process);
  void NoteHeld();
  void HoldLimits(const LoadSample& process, const Rates& inflow, Duration dt);
  void TellSettled();
  void OpenGates(std::string_view reason);
  void Run();
  void Wake(TimePoint when);

  LoadMonitor& monitor_;
  const LimiterSettings settings_;
  const Clock& clock_;
  WriteGate write_gate_;
  ScanGate scan_gate_;
  std::array<ByClass<std::array<Pending, kThreadSlots>>, 2> pending_;  // by operation

  mutable std::mutex control_mutex_;  // guards what a tick reads and writes
  ByClass<RateLaw> laws_;
  PidController read_pid_;
  WriteLimits write_limits_;  // from the last decision
  ScanLimits scan_limits_;
  WriteLimits held_writes_;  // in force while the sensor is lost
  ScanLimits held_scans_;
  LimiterView view_;
  std::optional<TimePoint> last_tick_;
  std::optional<TimePoint> emergency_since_;
  bool bulk_waits_ = false;  // bulk work waits, or did during the last tick
  MemoryBuyback buyback_;
  ByClass<Flow> last_flow_;
  Rates demand_{};  // the inflow of each class, smoothed

  std::mutex lifecycle_mutex_;  // one Start or Stop at a time
  std::mutex thread_mutex_;     // the innermost: the gates lock it under their own
  std::condition_variable wake_up_;
  std::condition_variable let_go_;  // wakes the threads that sleep in MaybeThrottle
  TimePoint next_wake_ = TimePoint::max();
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir
