// WriteGate: the gate (gate.h) for writes; it paces each class of work at a rate in bytes per second.
//
//  * Interactive writes are paced by a token bucket of their own. Bulk writes are paced by the bulk bucket, from which
//    all writes take bytes. Interactive writes may overdraw it, by at most the bytes that it gains in a second; bulk
//    writes then wait until it has enough bytes again. If interactive writes keep it empty, bulk writes still pass at a
//    twentieth of the bulk rate, paced by a third bucket, which only they use.
//  * The buckets refill continuously, so a wait is no longer than it has to be.
//  * An open gate only counts the writes. But 20 MB can arrive within one tick of 100 ms. So if the writes of a class
//    since the last SetLimits exceed a quarter of burst_bytes, the gate closes by itself and applies the limits of that
//    SetLimits. It stays open if these limits are infinite for the class or for bulk work.
#pragma once

#include "throttle/gate.h"
#include "throttle/token_bucket.h"

namespace weir {

struct WriteLimit {
  double bytes_per_second = std::numeric_limits<double>::infinity();  // infinity: no limit
  Duration longest_wait = std::chrono::seconds(1);
  bool hold = false;             // no write of the class passes; requests wait
  bool idle = false;             // true if work of the class is far from this limit; only LimiterView uses it
  std::string_view reason = "";  // reason of waits and refusals; points to storage that outlives the gate
};

struct WriteLimits : ByClass<WriteLimit> {
  bool open = true;              // writes pass and are only counted, until a burst closes the gate
  double burst_bytes = 1 << 20;  // how many bytes may pass at once: the depth of the buckets
};

class WriteGate final : public Gate {
 public:
  using Gate::Gate;

  // Sets new limits, and admits or refuses the waiting requests whose turn or deadline has come. Their functions
  // (Admission::OnSettled) run later: at the next call of TellSettled, Pump or RefuseAll, or when an Admission of the
  // gate is polled, cancelled or destroyed, whichever comes first.
  void SetLimits(const WriteLimits& limits);

 private:
  Admission Decide(Party party, uint64_t bytes, TimePoint now) override WEIR_REQUIRES(mutex_);
  void Refill(TimePoint now) override WEIR_REQUIRES(mutex_);
  bool MayPass(WorkClass c, uint64_t bytes) const override WEIR_REQUIRES(mutex_);
  bool Pay(WorkClass c, uint64_t bytes) override WEIR_REQUIRES(mutex_);
  double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const override WEIR_REQUIRES(mutex_);
  void Close(TimePoint now) WEIR_REQUIRES(mutex_);

  WriteLimits limits_ WEIR_GUARDED_BY(mutex_);
  ByClass<TokenBucket> buckets_ WEIR_GUARDED_BY(mutex_);
  // A twentieth of the bulk rate, for bulk writes while the bulk bucket is empty.
  TokenBucket bulk_floor_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
