// Gate: admits requests, or makes them wait until they may pass. It is the base class of WriteGate and ScanGate. The
// base counts the work that passes, keeps the waiting requests in order, ends every wait in time and calls the
// functions passed to Admission::OnSettled; the derived class decides which work may pass, and when. While a gate is
// open, it only counts.
//
//  * Interactive work is served before bulk work. Within a class, parties get equal shares in bytes (fair_queue.h).
//  * A wait lasts at most the longest wait of its class. A request that would have to wait longer is refused at once.
//
// Threads: every function may be called from any thread. A gate has no thread of its own. Waiting requests are admitted
// and refused by Pump (which the limiter's thread calls when `wake` asks for it), when new limits are set, and when an
// Admission of the gate is polled, cancelled or destroyed. Functions passed to Admission::OnSettled run after the
// gate's lock is released.
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
    uint64_t ended = 0;    // waits that ended, because the request was admitted, refused or cancelled
    Duration time{};       // the total time of these waits
    uint64_t refused = 0;  // requests that were refused, with or without a wait
    size_t waiting = 0;    // requests that wait now
  };

  ByClass<Flow> admitted;
  ByClass<Waits> waits;
  uint64_t delayed = 0;                          // requests that had to wait, whatever the outcome
  uint64_t cancelled = 0;                        // waits that the caller cancelled
  Duration waited{};                             // the total time of all waits
  std::map<std::string_view, uint64_t> refused;  // requests by the reason of the refusal; the reasons are few and fixed
  size_t waiting = 0;                            // requests that wait now
  int64_t running = 0;                           // scans that hold a permit now
  uint64_t failed_callbacks = 0;                 // functions passed to Admission::OnSettled that threw
};

class Gate {
 public:
  // The gate begins open. It calls `wake(t)` if Pump has to be called at the time `t` and `t` is earlier than the time
  // announced before. `wake` may run in any thread, and runs under the gate's lock, so it must not call the gate. The
  // clock must outlive the gate.
  Gate(const Clock& clock, std::function<void(TimePoint)> wake) : clock_(clock), wake_(std::move(wake)) {}
  virtual ~Gate();  // no Admission of the gate may be left
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  bool open() const { return open_epoch_.load(std::memory_order_relaxed) != 0; }

  // Admits and counts work if the gate is open, without taking the lock; most calls write no memory that threads share.
  // Returns false, and counts nothing, if Admit has to decide, because the gate is closed, the allowance of SetOpen is
  // used up, or SetBulkAsksFrom leaves this work to Admit.
  bool PassOpen(Cost cost, WorkClass work_class) {
    const uint32_t epoch = open_epoch_.load(std::memory_order_relaxed);
    if (epoch == 0) return false;
    if (work_class == WorkClass::kBulk && cost.bytes >= bulk_asks_from_.load(std::memory_order_relaxed)) return false;
    const uint64_t allowance = open_allowance_.load(std::memory_order_relaxed);
    return admitted_[work_class].AddWithin(cost.bytes, epoch, allowance);
  }

  // Decides on a request that PassOpen did not admit: admits it, makes it wait or refuses it. Does not block.
  Admission Admit(Cost cost, Party party);

  // Counts work that passes without a decision of the gate.
  void CountAdmitted(Cost cost, WorkClass work_class) { admitted_[work_class].Add(cost.bytes); }

  // Calls the functions of the requests that SetLimits admitted or refused. SetLimits itself does not call them,
  // because its caller may hold locks.
  void TellSettled() { const SettlingLock lock(*this); }

  // Admits the waiting requests that may pass now, and refuses those whose longest wait is over. Returns when Pump has
  // to be called next; TimePoint::max() if no request waits.
  TimePoint Pump();

  // Refuses all waiting requests. `reason` must point to storage that outlives the gate.
  void RefuseAll(std::string_view reason);

  // Returns true if, since the last call, a request of the class waited or was refused because it would have waited too
  // long.
  bool TakePressed(WorkClass work_class);

  // Returns how much work of the class was admitted since construction.
  Flow Admitted(WorkClass work_class) const { return admitted_[work_class].Sum(); }
  GateStats Stats() const;

 protected:
  static constexpr uint64_t kAnyBytes = std::numeric_limits<uint64_t>::max();

  struct Line {
    FairQueue queue;
    Duration longest_wait = std::chrono::seconds(1);
    std::string_view reason;  // the reason of a wait or a refusal
    bool pressed = false;     // the next answer of TakePressed
  };

  // The decisions of the derived class; the gate calls them under its lock. Decide decides on a new request, with
  // AdmitInTurn or by itself.
  virtual Admission Decide(Party party, uint64_t bytes, TimePoint now) = 0;
  // Returns true if the request whose turn it is may pass now.
  virtual bool MayPass(WorkClass c, uint64_t bytes) const = 0;
  // Charges the request that passes. Returns true if the request holds a permit, which has to end.
  virtual bool Pay(WorkClass c, uint64_t bytes) = 0;
  // Returns in how many seconds a request may pass if `bytes_ahead` bytes are served before it; the longest wait if
  // that cannot be predicted.
  virtual double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const = 0;
  virtual void Refill(TimePoint) {}  // called before waiting requests are admitted

  // Opens or closes the gate. While it is open, PassOpen admits up to `allowance` bytes of each class until SetOpen is
  // called again.
  void SetOpen(bool open, uint64_t allowance = kAnyBytes);
  // Makes PassOpen leave bulk work of at least `bytes` bytes to Admit, even while the gate is open.
  void SetBulkAsksFrom(uint64_t bytes) { bulk_asks_from_.store(bytes, std::memory_order_relaxed); }
  // Admits a request if no other request of its class waits and it may pass. Else refuses it if 10,000 requests of the
  // class wait, or if its turn would come after the longest wait. Else makes it wait.
  Admission AdmitInTurn(Party party, uint64_t bytes, TimePoint now);
  // Refuse a new request, or a waiting one.
  Admission Refuse(WorkClass c, std::string_view reason, double retry_after_s);
  void Refuse(Waiter& waiter, std::string_view reason, double retry_after_s, TimePoint now);
  // Admits a waiter to which no limit applies any more, wherever it is in its line.
  void PassOutOfTurn(Waiter& waiter, TimePoint now);
  void PumpAndWake() { WakeAt(PumpLocked(clock_.Now())); }

  const Clock& clock_;
  mutable std::mutex mutex_;
  ByClass<Line> lines_;
  std::set<std::pair<TimePoint, Waiter*>> deadlines_;  // the deadlines of all waiting requests
  int64_t running_ = 0;                                // permits that have not ended

 private:
  friend class Admission;

  // Holds the gate's lock. Its destructor releases the lock and calls the functions of the requests that were settled.
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
  std::atomic<uint32_t> open_epoch_{1};              // 0: closed; else a new number after each SetOpen
  std::atomic<uint64_t> open_allowance_{kAnyBytes};  // bytes of each class in an epoch
  std::atomic<uint64_t> bulk_asks_from_{kAnyBytes};
  ByClass<FlowCounter> admitted_;
  uint32_t last_epoch_ = 1;
  std::deque<std::shared_ptr<Waiter>> to_tell_;  // settled requests whose function is still to be called
  GateStats stats_;
  TimePoint next_wake_ = TimePoint::max();
};

}  // namespace weir
