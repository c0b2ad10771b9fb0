// Gate: admits requests, makes them wait, or refuses them. Gate is the base class of WriteGate and ScanGate. It counts
// the admitted work, keeps the waiting requests in order, refuses a request that still waits at its deadline, and calls
// the functions passed to Admission::OnSettled. The derived class decides which requests may pass, and when. While a
// gate is open, it admits most work without checking a limit, and only counts it (PassOpen).
//
//  * Of the waiting requests, the interactive ones are served (admitted) first, as far as the limits allow. The limits
//    keep a share for bulk work (write_gate.h, scan_gate.h). A new request passes at once if the limits allow it and no
//    request of its own class waits, even if one of the other class does. Within a class of work, parties get equal
//    shares in bytes (fair_queue.h). WorkClass and Party are defined in admission.h.
//  * A request that is larger than a piece (Piece) is charged to the limits in pieces, and is admitted with the last
//    one. While small requests of other parties wait, they pass between the pieces and get half of what the limits
//    allow. So a large request delays a small one of another party by at most a piece.
//  * A wait lasts at most as long as the limits allow for its class (Line::longest_wait). A request that would have to
//    wait longer by the limits that can be expected in the mean (Foretell) is refused at once.
//
// Threads: every function may be called from any thread. A gate has no thread of its own. It admits or refuses waiting
// requests in the threads that call Pump, RefuseAll or SetLimits (of the derived class), or that poll, wait for,
// cancel, destroy or overwrite an Admission of the gate. A thread that sleeps in Admission::Wait wakes up by itself
// when its turn comes, which costs one switch of threads for each turn; to be woken by another thread would cost two
// and the call that wakes. For the other requests, the limiter's thread calls Pump at the times that the gate announces
// through `wake`. Functions passed to Admission::OnSettled run while the gate's lock is not held.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "config/mutex.h"
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
  Duration waited{};                             // the total time of all waits that ended
  std::map<std::string_view, uint64_t> refused;  // refused requests, by the reason of the refusal
  size_t waiting = 0;                            // requests that wait now
  int64_t running = 0;                           // scans that hold a permit now (admission.h)
  uint64_t failed_callbacks = 0;                 // functions passed to Admission::OnSettled that threw
};

class Gate : private AdmissionSource {
 public:
  // The gate is open at first. It calls `wake(t)` to ask for a call of Pump at the time `t`, unless it has already
  // asked for that time or an earlier one, by `wake` or by the value that Pump returned. It does not ask for the turn
  // of a new request before OnSettled or a later Pump or SetLimits shows that no thread sees to it in Wait. `wake` runs
  // in whichever thread calls the gate, with the gate's lock held, so it must not call the gate. The clock must outlive
  // the gate.
  Gate(const Clock& clock, std::function<void(TimePoint)> wake) : clock_(clock), wake_(std::move(wake)) {}
  virtual ~Gate();  // no Admission of the gate may be left
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  using AdmissionSource::IsForked;

  bool open() const { return open_epoch_.load(std::memory_order_relaxed) != 0; }

  // Admits and counts the work and returns true if the gate is open: the fast path, which does not take the lock. Most
  // calls write only to memory of the calling thread. Returns false and counts nothing if the caller must call Admit
  // instead: if the gate is closed, if the allowance is used up (SetOpen), or if this is bulk work of at least the size
  // set by SetBulkAsksFrom.
  bool PassOpen(Cost cost, WorkClass work_class) {
    // Acquire: the allowance that is read below is that of this epoch or of a later one.
    const uint32_t epoch = open_epoch_.load(std::memory_order_acquire);
    if (epoch == 0) return false;
    if (work_class == WorkClass::kBulk && cost.bytes >= bulk_asks_from_.load(std::memory_order_relaxed)) return false;
    const uint64_t allowance = open_allowance_.load(std::memory_order_relaxed);
    return admitted_[work_class].AddWithin(cost.bytes, epoch, allowance);
  }

  // Admits or refuses a request that PassOpen did not admit, or makes it wait. Does not block.
  Admission Admit(Cost cost, Party party);

  // Admits work that goes on although it was refused, or did not ask: counts it, and charges it to the limits, so that
  // other work waits for it. Ignores a cost that is a mistake.
  void AdmitAnyway(Cost cost, WorkClass work_class);

  // Calls the OnSettled functions of the requests that SetLimits admitted or refused, unless another call has done so
  // already. SetLimits does not call them itself, because its caller may hold locks.
  void TellSettled() { const SettlingLock lock(*this); }

  // Admits the waiting requests that may pass now, and refuses those whose deadline has come. Returns the time at which
  // Pump must be called next; TimePoint::max() if no request waits.
  TimePoint Pump();

  // Refuses all waiting requests. `reason` must point to storage that outlives the gate.
  void RefuseAll(std::string_view reason);

  // Returns true if, since the last call of TakePressed, a request of the class waited, or was refused because its wait
  // would have been too long.
  bool TakePressed(WorkClass work_class);

  // Returns how much work of the class was admitted since construction.
  Flow Admitted(WorkClass work_class) const { return admitted_[work_class].Sum(); }
  GateStats Stats() const;

 protected:
  static constexpr uint64_t kAnyBytes = std::numeric_limits<uint64_t>::max();
  // The largest cost. The sum over all requests that may wait does not overflow. A larger cost is a mistake, such as
  // size_t(-1).
  static constexpr uint64_t kLargestCost = uint64_t{1} << 40;

  struct Line {
    FairQueue queue;
    uint64_t small_turn = 0;  // bytes that small requests may still take before the large one in turn pays a piece
    Duration longest_wait = std::chrono::seconds(1);
    std::string_view reason;  // the reason of a wait or a refusal
    bool blames_size = true;  // a request that is too large to be admitted in time is told so, instead of `reason`
    bool pressed = false;     // the value that TakePressed returns next
  };

  // The derived class implements the next functions, except those whose default it takes.
  // Decides on a new request: calls AdmitInTurn, or admits or refuses the request itself.
  virtual Admission Decide(Party party, uint64_t bytes, TimePoint now) WEIR_REQUIRES(mutex_) = 0;
  // Returns true if the limits let a request of this class and size pass now.
  virtual bool MayPass(WorkClass c, uint64_t bytes) const WEIR_REQUIRES(mutex_) = 0;
  // Charges to the limits what MayPass has allowed: a request or a piece of it. Returns true if the request gets a
  // permit.
  virtual bool Pay(WorkClass c, uint64_t bytes) WEIR_REQUIRES(mutex_) = 0;
  // Charges to the limits what AdmitAnyway admits.
  virtual void Owe(WorkClass, uint64_t) WEIR_REQUIRES(mutex_) {}
  // Takes back a part of what a request has paid, which no work will use.
  virtual void PayBack(WorkClass, uint64_t) WEIR_REQUIRES(mutex_) {}
  // Returns the most bytes that a waiting request pays at once.
  virtual uint64_t Piece(WorkClass) const WEIR_REQUIRES(mutex_) { return kAnyBytes; }
  // Returns after how many seconds MayPass is true if the limits stay as they are; at least the longest wait of the
  // class if that cannot be predicted.
  virtual double SecondsUntil(WorkClass c, uint64_t bytes) const WEIR_REQUIRES(mutex_) = 0;
  // Predicts after how many seconds requests of `bytes` bytes in total will have been admitted, by the limits that can
  // be expected in the mean. Returns the longest wait of the class if no prediction is possible.
  virtual double Foretell(WorkClass c, uint64_t bytes) const WEIR_REQUIRES(mutex_) { return SecondsUntil(c, bytes); }
  // Brings the limits up to date, to the given time. The gate calls it before it admits waiting requests.
  virtual void Refill(TimePoint) WEIR_REQUIRES(mutex_) {}

  // Counts work as admitted.
  void CountAdmitted(WorkClass c, uint64_t bytes) { admitted_[c].Add(bytes); }
  // Opens or closes the gate. While it is open, PassOpen admits at most `allowance` bytes of each class until the next
  // call of SetOpen.
  void SetOpen(bool open, uint64_t allowance = kAnyBytes) WEIR_REQUIRES(mutex_);
  // Makes PassOpen return false for bulk work of at least `bytes` bytes, even while the gate is open.
  void SetBulkAsksFrom(uint64_t bytes) { bulk_asks_from_.store(bytes, std::memory_order_relaxed); }
  // Admits a request if no other request of its class waits and MayPass returns true. Otherwise refuses it if 10,000
  // requests of the class already wait, or if Foretell exceeds the longest wait of the class. Otherwise makes it wait.
  Admission AdmitInTurn(Party party, uint64_t bytes, TimePoint now) WEIR_REQUIRES(mutex_);
  // Refuses a new request, for the state of the engine or for its own size. `key` is the reason under which GateStats
  // counts the refusal, `reason` the one that the caller is told.
  Admission Refuse(WorkClass c, std::string_view reason, double retry_after_s) WEIR_REQUIRES(mutex_);
  Admission RefuseSize(WorkClass c, std::string_view key, double retry_after_s, std::string_view reason)
      WEIR_REQUIRES(mutex_);
  // Refuses a waiting request.
  void Refuse(Waiter& waiter, std::string_view reason, double retry_after_s, TimePoint now) WEIR_REQUIRES(mutex_);
  // Admits a waiting request to which no limit applies any more, wherever it is in the queue.
  void PassOutOfTurn(Waiter& waiter, TimePoint now) WEIR_REQUIRES(mutex_);
  void PumpAndWake() WEIR_REQUIRES(mutex_) { WakeAt(PumpLocked(clock_.Now())); }

  const Clock& clock_;
  mutable Mutex mutex_;
  ByClass<Line> lines_ WEIR_GUARDED_BY(mutex_);
  // The deadlines of all waiting requests.
  std::set<std::pair<TimePoint, Waiter*>> deadlines_ WEIR_GUARDED_BY(mutex_);
  int64_t running_ WEIR_GUARDED_BY(mutex_) = 0;  // permits that have not ended

 private:
  // Holds the gate's lock. The destructor calls the OnSettled functions that are still to be called for settled
  // (admitted or refused) requests, and then releases the lock. It releases the lock during each of these calls. If
  // this thread is already inside an OnSettled function of this gate, the destructor calls none; the outer
  // SettlingLock, which called that function, calls the rest.
  struct WEIR_THREAD_ANNOTATION(scoped_lockable) SettlingLock {
    explicit SettlingLock(Gate& g) WEIR_THREAD_ANNOTATION(acquire_capability(g.mutex_)) : gate(g), lock(g.mutex_) {}
    ~SettlingLock() WEIR_THREAD_ANNOTATION(release_capability()) { gate.Tell(); }
    Gate& gate;
    const MutexLock lock;
  };

  Admission::State Poll(Admission& admission, Waiter& waiter) override;
  Admission::State Wait(Admission& admission, Waiter& waiter) override;
  bool Cancel(Admission& admission, Waiter& waiter) override;
  bool SetOnSettled(Waiter& waiter, std::function<void()>* settled) override;
  void End(Waiter* waiter) override;

  Admission::State GiveAnswer(Admission& admission, Waiter& waiter) WEIR_REQUIRES(mutex_);
  // Counts a request of `bytes` bytes as admitted and charges the part that it has not paid.
  bool Charge(WorkClass c, uint64_t bytes, uint64_t unpaid) WEIR_REQUIRES(mutex_);
  Waiter* NextInTurn(WorkClass c) const WEIR_REQUIRES(mutex_);
  uint64_t NextPayment(const Waiter& waiter) const WEIR_REQUIRES(mutex_);
  TimePoint TimeOfPayment(const Waiter& waiter, TimePoint now) const WEIR_REQUIRES(mutex_);
  TimePoint NextPump(TimePoint now) WEIR_REQUIRES(mutex_);
  TimePoint NextLook(const Waiter& waiter, TimePoint now) const WEIR_REQUIRES(mutex_);
  Admission RefuseAsTooLong(Party party, uint64_t bytes, double seconds) WEIR_REQUIRES(mutex_);
  TimePoint PumpLocked(TimePoint now) WEIR_REQUIRES(mutex_);
  void Grant(WorkClass c, TimePoint now) WEIR_REQUIRES(mutex_);
  void Pass(Waiter& waiter, TimePoint now) WEIR_REQUIRES(mutex_);
  void Expire(TimePoint now) WEIR_REQUIRES(mutex_);
  void Settle(Waiter& waiter, TimePoint now) WEIR_REQUIRES(mutex_);
  Duration EndWait(const Waiter& waiter, TimePoint now) WEIR_REQUIRES(mutex_);
  void Detach(Waiter& waiter) WEIR_REQUIRES(mutex_);
  void Release(Waiter* waiter) WEIR_REQUIRES(mutex_);
  void WakeAt(TimePoint when) WEIR_REQUIRES(mutex_);
  void Tell() WEIR_REQUIRES(mutex_);
  void TellOne(Waiter& waiter) WEIR_REQUIRES(mutex_);
  void FinishTelling(Waiter& waiter) WEIR_REQUIRES(mutex_);

  const std::function<void(TimePoint)> wake_;
  std::atomic<uint32_t> open_epoch_{1};              // 0: closed; otherwise a new number after each SetOpen(true)
  std::atomic<uint64_t> open_allowance_{kAnyBytes};  // bytes of each class that PassOpen may admit in an epoch
  std::atomic<uint64_t> bulk_asks_from_{kAnyBytes};
  ByClass<FlowCounter> admitted_;
  uint32_t last_epoch_ WEIR_GUARDED_BY(mutex_) = 1;
  // The settled requests whose OnSettled function was not called yet.
  std::deque<std::shared_ptr<Waiter>> to_tell_ WEIR_GUARDED_BY(mutex_);
  GateStats stats_ WEIR_GUARDED_BY(mutex_);
  TimePoint next_wake_ WEIR_GUARDED_BY(mutex_) = TimePoint::max();
};

}  // namespace weir
