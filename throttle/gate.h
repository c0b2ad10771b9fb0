// Gate: where work waits for its turn. It holds what WriteGate and ScanGate have in common: how work that passes an
// open gate is counted, in which order and until when requests wait, and how waiters learn that their wait is over. The
// two decide what may pass and when.
//
//  * Interactive work goes first. Within a class, parties share in bytes (fair_queue.h).
//  * Every wait ends at the longest wait of its class, and a request whose turn cannot come before that is refused at
//    once.
//
// Threads: all functions may be called from any thread. Time comes from the clock; grants happen in Pump, which the
// limiter's thread calls when `wake` asked for it, and in Poll and End of any Admission. Functions that
// Admission::OnSettled was given run after the lock is released.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "throttle/admission.h"
#include "throttle/fair_queue.h"
#include "throttle/flow_counter.h"

namespace weir {

struct GateStats {
  struct Waits {
    uint64_t ended = 0;    // granted, refused or cancelled
    Duration time{};       // their total time
    uint64_t refused = 0;  // with or without a wait
    size_t waiting = 0;    // now
  };

  ByClass<Flow> admitted;
  ByClass<Waits> waits;
  uint64_t delayed = 0;  // had to wait, whatever the outcome
  uint64_t cancelled = 0;
  Duration waited{};                             // total time of all waits
  std::map<std::string_view, uint64_t> refused;  // by reason; the reasons are few and fixed
  size_t waiting = 0;                            // now
  int64_t running = 0;                           // scans that run now
  uint64_t failed_callbacks = 0;                 // functions of Admission::OnSettled that threw
};

class Gate {
 public:
  // Starts open and without limits. Calls `wake(t)`, under its lock, if Pump is needed at t, earlier than announced
  // before.
  Gate(const Clock& clock, std::function<void(TimePoint)> wake) : clock_(clock), wake_(std::move(wake)) {}
  virtual ~Gate();  // no Admission of the gate may be left
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  bool open() const { return open_epoch_.load(std::memory_order_relaxed) != 0; }

  // The whole of an admission while the gate is open: most calls write nothing that threads share. Returns false if
  // Admit has to decide.
  bool PassOpen(Cost cost, WorkClass work_class) {
    const uint32_t epoch = open_epoch_.load(std::memory_order_relaxed);
    if (epoch == 0) return false;
    if (work_class == WorkClass::kBulk && cost.bytes >= bulk_asks_from_.load(std::memory_order_relaxed)) return false;
    const uint64_t allowance = open_allowance_.load(std::memory_order_relaxed);
    return admitted_[work_class].AddWithin(cost.bytes, epoch, allowance);
  }

  // Decides if PassOpen returned false. Does not block.
  Admission Admit(Cost cost, Party party);

  // Counts what passes without asking.
  void CountAdmitted(Cost cost, WorkClass work_class) { admitted_[work_class].Add(cost.bytes); }

  // Tells the waiters that new limits settled. SetLimits does not, because its caller may hold locks.
  void TellSettled() { const SettlingLock lock(*this); }

  // Grants and refuses what is due. Returns when it has to be called next; TimePoint::max() if no request waits.
  TimePoint Pump();

  // Refuses all that wait, with `reason`.
  void RefuseAll(std::string_view reason);

  // Returns true if a request of the class waited, or would have waited too long, since the last call.
  bool TakePressed(WorkClass work_class);

  Flow Admitted(WorkClass work_class) const { return admitted_[work_class].Sum(); }
  GateStats Stats() const;

 protected:
  static constexpr uint64_t kAnyBytes = std::numeric_limits<uint64_t>::max();

  struct Line {
    FairQueue queue;
    Duration longest_wait = std::chrono::seconds(1);
    std::string_view reason;
    bool pressed = false;
  };

  // The decisions of a gate, under the lock. Decide judges a new request, by AdmitInTurn or otherwise. MayPass: whether
  // the request whose turn it is may pass now. Pay charges it, and returns true if it got a permit, which has to end.
  // SecondsUntilTurn: how long until it may pass.
  virtual Admission Decide(Party party, uint64_t bytes, TimePoint now) = 0;
  virtual bool MayPass(WorkClass c, uint64_t bytes) const = 0;
  virtual bool Pay(WorkClass c, uint64_t bytes) = 0;
  virtual double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const = 0;
  virtual void Refill(TimePoint) {}  // called first in each pump

  // While open, each class may pass `allowance` bytes until the next call.
  void SetOpen(bool open, uint64_t allowance = kAnyBytes);
  // While open, bulk work of at least `bytes` is decided on all the same.
  void SetBulkAsksFrom(uint64_t bytes) { bulk_asks_from_.store(bytes, std::memory_order_relaxed); }
  // Admits a request if none waits before it and it may pass, queues it if its turn will come in time, else refuses it.
  Admission AdmitInTurn(Party party, uint64_t bytes, TimePoint now);
  Admission Refuse(WorkClass c, std::string_view reason, double retry_after_s);
  void Refuse(Waiter& waiter, std::string_view reason, double retry_after_s, TimePoint now);
  // Admits a waiter that no limit concerns any more, wherever it stands in its line.
  void PassOutOfTurn(Waiter& waiter, TimePoint now);
  void PumpAndWake() { WakeAt(PumpLocked(clock_.Now())); }

  const Clock& clock_;
  mutable std::mutex mutex_;
  ByClass<Line> lines_;
  std::set<std::pair<TimePoint, Waiter*>> deadlines_;  // the deadlines of all waiters
  int64_t running_ = 0;                                // permits that have not ended

 private:
  friend class Admission;

  // When it ends, it runs the functions of the waiters that were settled under it, without the lock.
  struct SettlingLock : std::unique_lock<std::mutex> {
    explicit SettlingLock(Gate& g) : unique_lock(g.mutex_), gate(g) {}
    ~SettlingLock() { gate.Tell(*this); }
    Gate& gate;
  };

  bool Charge(WorkClass c, uint64_t bytes);
  TimePoint PumpLocked(TimePoint now);
  void Grant(WorkClass c, TimePoint now);
  void Pass(Waiter& waiter, TimePoint now);
  void Expire(TimePoint now);
  void Settle(Waiter& waiter, TimePoint now);
  Duration EndWait(const Waiter& waiter, TimePoint now);
  void Detach(Waiter& waiter);
  void Release(Waiter* waiter);
  void WakeAt(TimePoint when);
  void Tell(std::unique_lock<std::mutex>& lock);
  void TellOne(Waiter& waiter, std::unique_lock<std::mutex>& lock);
  void FinishTelling(Waiter& waiter, std::unique_lock<std::mutex>& lock);

  const std::function<void(TimePoint)> wake_;
  std::atomic<uint32_t> open_epoch_{1};              // 0: not open; else changes whenever limits are set
  std::atomic<uint64_t> open_allowance_{kAnyBytes};  // bytes of each class in an epoch
  std::atomic<uint64_t> bulk_asks_from_{kAnyBytes};
  ByClass<FlowCounter> admitted_;
  uint32_t last_epoch_ = 1;
  std::deque<std::shared_ptr<Waiter>> to_tell_;
  GateStats stats_;
  TimePoint next_wake_ = TimePoint::max();
};

}  // namespace weir
