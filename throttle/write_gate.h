// WriteGate: the gate (gate.h) for writes; it paces each class of work at a rate in bytes per second.
//
//  * Interactive writes are paced by a token bucket of their own. Bulk writes are paced by the bulk bucket, from which
//    all writes take bytes. Interactive writes may overdraw it, by at most the bytes that it gains in a second; bulk
//    writes then wait until it has enough bytes again. If interactive writes keep it empty, bulk writes still pass at a
//    twentieth of the bulk rate, paced by a third bucket, which only they use.
//  * The buckets refill continuously, so a wait is no longer than it has to be.
//  * A waiting request pays in pieces: an interactive one what its limit admits in 5 ms, a bulk one what it admits in
//    50 ms, but at least 4 KiB and at most a burst. So a request that is larger than a burst pays its rest before it is
//    admitted, and leaves no debt to others.
//  * An open gate only counts the writes. But 20 MB can arrive within one tick of 100 ms. So if the writes of a class
//    since the last SetLimits exceed a quarter of burst_bytes, the gate closes by itself and applies the limits of that
//    SetLimits. It stays open if these limits are infinite for the class or for bulk work. The interactive write that
//    closes it passes at once, whatever its size, because the engine's load is low. It takes at most a burst from the
//    interactive bucket, and leaves bulk work at most the debt of a second.
//  * A wait is foretold by the rate that can be expected in the mean (WriteLimit::mean_bytes_per_second), because the
//    limit of one tick may be its lowest.
//  * Work that goes on although it was refused (AdaptiveLimiter::MaybeThrottle) is charged all the same. It leaves at
//    most the debt that its class pays in half of the longest wait, at the limit of that moment and at any lower one.
//    If such work alone exceeds the limit, the debt stays, and requests of its class are refused until it ends.
//  * A cost of more than 1 TiB is refused and not counted as admitted: it is a mistake, such as size_t(-1).
#pragma once

#include "throttle/gate.h"
#include "throttle/token_bucket.h"

namespace weir {

struct WriteLimit {
  double bytes_per_second = std::numeric_limits<double>::infinity();  // infinity: no limit
  // The limit that can be expected in the mean, such as the drain. A request is refused at once only if it would wait
  // too long even at this rate. 0: bytes_per_second. Infinity: unknown, so no request is refused at once.
  double mean_bytes_per_second = 0;
  Duration longest_wait = std::chrono::seconds(1);
  bool hold = false;             // no write of the class passes; requests wait
  bool emergency = false;        // every refusal names `reason`, even that of a write which is too large for this limit
  bool idle = false;             // true if work of the class is far from this limit; only LimiterView uses it
  std::string_view reason = "";  // reason of waits and refusals; points to storage that outlives the gate
};

struct WriteLimits : ByClass<WriteLimit> {
  bool open = true;              // writes pass and are only counted, until a burst closes the gate
  double burst_bytes = 1 << 20;  // how many bytes may pass at once: the depth of the buckets; at least 1 KiB is used
};

class WriteGate final : public Gate {
 public:
  WriteGate(const Clock& clock, std::function<void(TimePoint)> wake);

  // Sets new limits, and admits or refuses the waiting requests whose turn or deadline has come. Their functions
  // (Admission::OnSettled) run later: at the next call of TellSettled, Pump or RefuseAll, or when an Admission of the
  // gate is polled, cancelled or destroyed, whichever comes first.
  void SetLimits(const WriteLimits& limits);

 private:
  Admission Decide(Party party, uint64_t bytes, TimePoint now) override WEIR_REQUIRES(mutex_);
  void Refill(TimePoint now) override WEIR_REQUIRES(mutex_);
  bool MayPass(WorkClass c, uint64_t bytes) const override WEIR_REQUIRES(mutex_);
  bool Pay(WorkClass c, uint64_t bytes) override WEIR_REQUIRES(mutex_);
  void PayBack(WorkClass c, uint64_t bytes) override WEIR_REQUIRES(mutex_) {
    buckets_[c].PutBack(static_cast<double>(bytes));
  }
  void Owe(WorkClass c, uint64_t bytes) override WEIR_REQUIRES(mutex_);
  uint64_t Piece(WorkClass c) const override WEIR_REQUIRES(mutex_);
  double SecondsUntil(WorkClass c, uint64_t bytes) const override WEIR_REQUIRES(mutex_);
  double Foretell(WorkClass c, uint64_t bytes) const override WEIR_REQUIRES(mutex_);
  void Close(TimePoint now) WEIR_REQUIRES(mutex_);
  void ForgiveDebts() WEIR_REQUIRES(mutex_);

  WriteLimits limits_ WEIR_GUARDED_BY(mutex_);
  ByClass<TokenBucket> buckets_ WEIR_GUARDED_BY(mutex_);
  // A twentieth of the bulk rate, for bulk writes while the bulk bucket is empty.
  TokenBucket bulk_floor_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
