// WriteGate: paces each class by a byte rate.
//
//  * Interactive work is paced by its own bucket. Bulk work is paced by the bulk bucket, which all work is charged to:
//    interactive work may overdraw it, and bulk pays. Bulk keeps a floor of its rate, so it never starves.
//  * Refill is continuous: no wait has a least length.
//  * An open gate only counts. It closes by itself, to the limits it was given, when a quarter of a burst passes before
//    the next SetLimits: 20 MB can arrive within one tick of 100 ms.
#pragma once

#include "throttle/gate.h"
#include "throttle/token_bucket.h"

namespace weir {

struct WriteLimit {
  double bytes_per_second = std::numeric_limits<double>::infinity();
  Duration longest_wait = std::chrono::seconds(1);
  bool hold = false;             // no work passes; waiters go on waiting
  std::string_view reason = "";  // names what limits; points to storage that outlives the gate
};

struct WriteLimits : ByClass<WriteLimit> {
  bool open = true;  // only bursts are limited; what passes is only counted
  double burst_bytes = 1 << 20;
};

class WriteGate final : public Gate {
 public:
  using Gate::Gate;

  void SetLimits(const WriteLimits& limits);

 private:
  Admission Decide(Party party, uint64_t bytes, TimePoint now) override;
  void Refill(TimePoint now) override;
  bool MayPass(WorkClass c, uint64_t bytes) const override;
  bool Pay(WorkClass c, uint64_t bytes) override;
  double SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const override;
  void Close(TimePoint now);

  WriteLimits limits_;
  ByClass<TokenBucket> buckets_;
  TokenBucket bulk_floor_;
};

}  // namespace weir
