// The gate: where work waits. It paces each class by a byte rate and bounds how many expensive operations run at once.
//
//  * Interactive work is paced by its own bucket. Bulk work is paced by the bulk bucket, which all work is charged to:
//    interactive work may overdraw it, and bulk pays. Bulk keeps a floor of its rate, so it never starves.
//  * Within a class, parties share by deficit round robin in bytes (fair_queue.h).
//  * Refill is continuous: nobody sleeps a minimum.
//  * An open gate only counts. It closes by itself, at the limits it was given, when a thread brings more than its
//    share of a burst before the limits are set anew: between two ticks of 100 ms, 20 MB can come.
//  * Every wait ends at the longest wait of its class, and a request whose turn cannot come before that is refused at
//    once.
//
// Threads: all functions may be called from any thread. Time comes from the clock; grants happen in Pump, which the
// limiter's thread calls when `wake` asked for it, and in Poll and End of any Admission.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "throttle/admission.h"
#include "throttle/fair_queue.h"
#include "throttle/flow_counter.h"
#include "throttle/token_bucket.h"

namespace weir {

struct GateLimits {
  struct ForClass {
    double bytes_per_second = std::numeric_limits<double>::infinity();
    Duration longest_wait = std::chrono::seconds(1);
    bool hold = false;              // nothing passes; who waits goes on waiting
    bool refuse_expensive = false;  // at once
    std::string_view reason = "";   // what limits; points to storage that outlives the gate
  };

  bool open = true;  // nothing is limited but bursts, and what passes is only counted
  std::array<ForClass, kWorkClasses> classes;
  double burst_bytes = 1 << 20;
  // At most this many operations of at least expensive_bytes at once; cheaper ones are not counted.
  int64_t concurrency = std::numeric_limits<int64_t>::max();
  uint64_t expensive_bytes = 0;

  ForClass& operator[](WorkClass c) { return classes[static_cast<size_t>(c)]; }
  const ForClass& operator[](WorkClass c) const { return classes[static_cast<size_t>(c)]; }
};

struct GateStats {
  std::array<Flow, kWorkClasses> admitted;
  uint64_t delayed = 0;  // had to wait, whatever came of it
  uint64_t cancelled = 0;
  Duration waited{};                             // by all together
  std::map<std::string_view, uint64_t> refused;  // by reason; the reasons are few and fixed
  size_t waiting = 0;                            // now
  int64_t running = 0;                           // expensive operations, now
};

class Gate {
 public:
  // `wake(t)` is called, under the gate's lock, when Pump is needed at t and nobody was told before.
  Gate(const Clock& clock, std::function<void(TimePoint)> wake);
  ~Gate();  // no Admission of the gate may be left
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  bool open() const { return open_epoch_.load(std::memory_order_relaxed) != 0; }

  // The whole of an admission while the gate is open: writes nothing that threads share.
  bool PassOpen(Cost cost, WorkClass work_class) {
    const uint32_t epoch = open_epoch_.load(std::memory_order_relaxed);
    if (epoch == 0) return false;
    const uint64_t allowance = open_allowance_.load(std::memory_order_relaxed);
    return admitted_[static_cast<size_t>(work_class)].AddWithin(cost.bytes, epoch, allowance);
  }

  // The decision where PassOpen was false. Does not block.
  Admission Admit(Cost cost, Party party);

  // Counts what passes without asking.
  void CountAdmitted(Cost cost, WorkClass work_class) { admitted_[static_cast<size_t>(work_class)].Add(cost.bytes); }

  void SetLimits(const GateLimits& limits);

  // Grants and refuses what is due. Returns when it has to be called next; TimePoint::max() when nobody waits.
  TimePoint Pump();

  // Refuses all that wait, with `reason`.
  void RefuseAll(std::string_view reason);

  // Whether anybody of the class has waited since this was last asked.
  bool TakePressed(WorkClass work_class);

  Flow Admitted(WorkClass work_class) const { return admitted_[static_cast<size_t>(work_class)].Sum(); }
  GateStats Stats() const;

 private:
  friend class Admission;
  // Bounds the memory of waiting, about 400 bytes each.
  static constexpr size_t kMaxWaiting = 10'000;
  static constexpr double kBulkFloor = 0.05;         // of the bulk rate, whatever interactive work takes
  static constexpr double kOpenShareOfBurst = 0.25;  // of each thread, while open
  // A cost beyond this counts as this: sums of as many as may wait still fit.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 40;

  struct Line {
    TokenBucket bucket;
    FairQueue queue;
    bool pressed = false;
  };

  Line& LineOf(WorkClass c) { return lines_[static_cast<size_t>(c)]; }
  bool IsExpensive(uint64_t bytes) const { return bytes >= limits_.expensive_bytes; }
  bool MayPass(WorkClass c, uint64_t bytes) const;
  bool Blocked(WorkClass c, uint64_t bytes) const;
  double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const;
  void Charge(WorkClass c, uint64_t bytes);
  void Close(TimePoint now);
  bool TakeSlot(uint64_t bytes);
  Admission Refuse(std::string_view reason, double retry_after_s);
  Admission Enqueue(uint64_t bytes, Party party, Duration until_turn, TimePoint now);
  TimePoint PumpLocked(TimePoint now);
  void ExpireLocked(TimePoint now);
  void RefuseExpensiveLocked(TimePoint now);
  void GrantLocked(WorkClass c, TimePoint now);
  void RefuseDetached(Waiter& waiter, std::string_view reason, double retry_after_s, TimePoint now);
  void Settle(Waiter& waiter, Admission::State state, TimePoint now);
  void Detach(Waiter& waiter);
  void WakeAt(TimePoint when);
  void Refill(TimePoint now);
  void Release(Admission& admission);
  void TakeOver(Admission& admission);

  const Clock& clock_;
  const std::function<void(TimePoint)> wake_;
  std::atomic<uint32_t> open_epoch_{1};  // 0: not open; else changes whenever limits are set
  std::atomic<uint64_t> open_allowance_{std::numeric_limits<uint64_t>::max()};  // bytes a thread, class and epoch
  std::array<FlowCounter, kWorkClasses> admitted_;

  mutable std::mutex mutex_;
  GateLimits limits_;
  uint32_t epoch_ = 1;
  std::array<Line, kWorkClasses> lines_;
  TokenBucket bulk_floor_;
  int64_t running_ = 0;
  std::set<std::pair<TimePoint, Waiter*>> deadlines_;
  GateStats stats_;
  TimePoint next_wake_ = TimePoint::max();
};

}  // namespace weir
