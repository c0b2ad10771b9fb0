#include "throttle/write_gate.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

constexpr double kBulkFloor = 0.05;         // share of the bulk rate that interactive work cannot take
constexpr double kOpenShareOfBurst = 0.25;  // share of a burst that each class may write while open

}  // namespace

void WriteGate::SetLimits(const WriteLimits& limits) {
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  limits_ = limits;
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    lines_[c].longest_wait = limits[c].longest_wait;
    lines_[c].reason = limits[c].reason;
    buckets_[c].SetRate(now, limits[c].bytes_per_second, limits.burst_bytes);
  }
  const double bulk_rate = limits[WorkClass::kBulk].bytes_per_second;
  bulk_floor_.SetRate(now, kBulkFloor * bulk_rate, limits.burst_bytes);
  if (open() && !limits.open) Close(now);
  SetOpen(limits.open,
          std::isfinite(bulk_rate) ? static_cast<uint64_t>(kOpenShareOfBurst * limits.burst_bytes) : kAnyBytes);
  PumpAndWake();
}

// While the gate was open, PassOpen charged nothing. Bulk work starts with an empty bucket, so it is limited at once.
void WriteGate::Close(TimePoint now) {
  SetOpen(false);
  buckets_[WorkClass::kInteractive].SetTokens(now, limits_.burst_bytes);
  buckets_[WorkClass::kBulk].SetTokens(now, 0);
  bulk_floor_.SetTokens(now, 0);
}

Admission WriteGate::Decide(Party party, uint64_t bytes, TimePoint now) {
  if (open() && std::isfinite(limits_[party.work_class].bytes_per_second)) Close(now);
  Refill(now);
  return AdmitInTurn(party, bytes, now);
}

void WriteGate::Refill(TimePoint now) {
  for (TokenBucket& bucket : buckets_) bucket.Refill(now);
  bulk_floor_.Refill(now);
}

bool WriteGate::MayPass(WorkClass c, uint64_t bytes) const {
  if (open()) return true;
  if (limits_[c].hold) return false;
  const double cost = static_cast<double>(bytes);
  return buckets_[c].Has(cost) || (c == WorkClass::kBulk && bulk_floor_.Has(cost));
}

double WriteGate::SecondsUntilTurn(WorkClass c, uint64_t bytes, uint64_t bytes_ahead) const {
  const double cost = static_cast<double>(bytes);
  const double ahead = static_cast<double>(bytes_ahead);
  double seconds = buckets_[c].SecondsUntil(cost, ahead);
  if (c == WorkClass::kBulk) seconds = std::min(seconds, bulk_floor_.SecondsUntil(cost, ahead));
  // The end of a hold cannot be predicted.
  return limits_[c].hold ? std::max(seconds, ToSeconds(limits_[c].longest_wait)) : seconds;
}

bool WriteGate::Pay(WorkClass c, uint64_t bytes) {
  const double cost = static_cast<double>(bytes);
  TokenBucket& bulk = buckets_[WorkClass::kBulk];
  if (c == WorkClass::kInteractive) {
    buckets_[c].Take(cost);
    // Interactive work takes from the bulk bucket, too, but leaves at most a debt that the bucket makes up for in a
    // second.
    bulk.Take(cost, -bulk.bytes_per_second());
    return false;
  }
  // Work that passes by the bulk bucket must not put the floor in debt: the floor is needed when interactive work
  // arrives.
  const bool by_floor = !bulk.Has(cost);
  bulk_floor_.Take(cost, by_floor ? -std::numeric_limits<double>::infinity() : 0);
  bulk.Take(cost);
  return false;
}

}  // namespace weir
