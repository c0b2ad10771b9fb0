// Gate: where work waits for its turn. Here is what a WriteGate and a ScanGate have in common: how what passes an open
// gate is counted, who waits in which order and until when, and how those are told whose wait is over. What may pass
// and when, these two decide.
//
//  * Interactive work goes first. Within a class, parties share in bytes (fair_queue.h).
//  * Every wait ends at the longest wait of its class, and a request whose turn cannot come before that is refused at
//    once.
//
// Threads: all functions may be called from any thread. Time comes from the clock; grants happen in Pump, which the
// limiter's thread calls when `wake` asked for it, and in Poll and End of any Admission. The functions that were given
// to Admission::OnSettled run after the lock is released.
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
    uint64_t ended = 0;    // whatever came of them
    Duration time{};       // that they took together
    uint64_t refused = 0;  // after a wait or without
    size_t waiting = 0;    // now
  };

  ByClass<Flow> admitted;
  ByClass<Waits> waits;
  uint64_t delayed = 0;  // had to wait, whatever came of it
  uint64_t cancelled = 0;
  Duration waited{};                             // by all together
  std::map<std::string_view, uint64_t> refused;  // by reason; the reasons are few and fixed
  size_t waiting = 0;                            // now
  int64_t running = 0;                           // scans, now
  uint64_t failed_callbacks = 0;                 // threw, from Admission::OnSettled
};

class Gate {
 public:
  // Open and without limits. `wake(t)` is called, under the gate's lock, when Pump is needed at t and nobody was told
  // before.
  Gate(const Clock& clock, std::function<void(TimePoint)> wake) : clock_(clock), wake_(std::move(wake)) {}
  virtual ~Gate();  // no Admission of the gate may be left
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  bool open() const { return open_epoch_.load(std::memory_order_relaxed) != 0; }

  // The whole of an admission while the gate is open: writes nothing that threads share.
  bool PassOpen(Cost cost, WorkClass work_class) {
    const uint32_t epoch = open_epoch_.load(std::memory_order_relaxed);
    if (epoch == 0) return false;
    if (work_class == WorkClass::kBulk && cost.bytes >= bulk_asks_from_.load(std::memory_order_relaxed)) return false;
    const uint64_t allowance = open_allowance_.load(std::memory_order_relaxed);
    return admitted_[work_class].AddWithin(cost.bytes, epoch, allowance);
  }

  // The decision where PassOpen was false. Does not block.
  Admission Admit(Cost cost, Party party);

  // Counts what passes without asking.
  void CountAdmitted(Cost cost, WorkClass work_class) { admitted_[work_class].Add(cost.bytes); }

  // Those whom new limits settled. SetLimits tells nobody, because its caller may hold locks.
  void TellSettled() { const SettlingLock lock(*this); }

  // Grants and refuses what is due. Returns when it has to be called next; TimePoint::max() when nobody waits.
  TimePoint Pump();

  // Refuses all that wait, with `reason`.
  void RefuseAll(std::string_view reason);

  // Whether anybody of the class has waited since this was last asked.
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

  // What a gate decides, under the lock: about a request that comes, by AdmitInTurn or otherwise; whether the one whose
  // turn it is may pass now; what that costs (true: it got a permit, which has to end); how long until it may.
  virtual Admission Decide(Party party, uint64_t bytes, TimePoint now) = 0;
  virtual bool MayPass(WorkClass c, uint64_t bytes) const = 0;
  virtual bool Pay(WorkClass c, uint64_t bytes) = 0;
  virtual double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const = 0;
  virtual void Refill(TimePoint) {}  // before it is asked

  // While open each class may pass `allowance` bytes until this is set again.
  void SetOpen(bool open, uint64_t allowance = kAnyBytes);
  // While open bulk work of so many bytes is decided upon all the same.
  void SetBulkAsksFrom(uint64_t bytes) { bulk_asks_from_.store(bytes, std::memory_order_relaxed); }
  // Lets it pass if nobody waits before it, or queues it if its turn will come in time.
  Admission AdmitInTurn(Party party, uint64_t bytes, TimePoint now);
  Admission Refuse(WorkClass c, std::string_view reason, double retry_after_s);
  void Refuse(Waiter& waiter, std::string_view reason, double retry_after_s, TimePoint now);
  void PumpAndWake() { WakeAt(PumpLocked(clock_.Now())); }

  const Clock& clock_;
  mutable std::mutex mutex_;
  ByClass<Line> lines_;
  std::set<std::pair<TimePoint, Waiter*>> deadlines_;  // of all that wait
  int64_t running_ = 0;                                // permits that have not ended

 private:
  friend class Admission;

  // At its end it runs the functions of those who were settled under it, without the lock.
  struct SettlingLock : std::unique_lock<std::mutex> {
    explicit SettlingLock(Gate& g) : unique_lock(g.mutex_), gate(g) {}
    ~SettlingLock() { gate.Tell(*this); }
    Gate& gate;
  };

  bool Charge(WorkClass c, uint64_t bytes);
  TimePoint PumpLocked(TimePoint now);
  void Grant(WorkClass c, TimePoint now);
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
  std::atomic<uint64_t> open_allowance_{kAnyBytes};  // a class and epoch
  std::atomic<uint64_t> bulk_asks_from_{kAnyBytes};
  ByClass<FlowCounter> admitted_;
  uint32_t last_epoch_ = 1;
  std::deque<std::shared_ptr<Waiter>> to_tell_;
  GateStats stats_;
  TimePoint next_wake_ = TimePoint::max();
};

}  // namespace weir
