#include "throttle/write_gate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

constexpr double kBulkFloor = 0.05;         // share of the bulk rate that interactive work cannot take
constexpr double kOpenShareOfBurst = 0.25;  // share of a burst that each class may write while open

// The piece in which a waiting request pays, by class, as the time in which the limit admits as much. It is the longest
// time for which a large request delays a small one; twenty times as long while bulk work passes by the floor. Each
// piece wakes the thread that waits for the request once, or the limiter's thread.
constexpr std::array<double, kWorkClasses> kPieceSeconds{0.005, 0.05};
constexpr double kLeastPiece = 4 << 10;
constexpr double kLeastBurst = 1 << 10;

// The longest debt that work leaves which goes on although it was refused, as a share of the longest wait of its class.
// The debt alone then makes no other request wait for too long.
constexpr double kLongestDebt = 0.5;
// The longest debt that interactive work leaves bulk work.
constexpr double kLongestOverdraftSeconds = 1;

double LongestDebtSeconds(const WriteLimit& limit) { return kLongestDebt * ToSeconds(limit.longest_wait); }

}  // namespace

WriteGate::WriteGate(const Clock& clock, std::function<void(TimePoint)> wake) : Gate(clock, std::move(wake)) {
  SetLimits({});
}

void WriteGate::SetLimits(const WriteLimits& limits) {
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  limits_ = limits;
  limits_.burst_bytes = std::max(limits.burst_bytes, kLeastBurst);
  for (WorkClass c : {WorkClass::kInteractive, WorkClass::kBulk}) {
    lines_[c].longest_wait = limits[c].longest_wait;
    lines_[c].reason = limits[c].reason;
    lines_[c].blames_size = !limits[c].emergency;
    buckets_[c].SetRate(now, limits[c].bytes_per_second, limits_.burst_bytes);
  }
  const double bulk_rate = limits[WorkClass::kBulk].bytes_per_second;
  bulk_floor_.SetRate(now, kBulkFloor * bulk_rate, limits_.burst_bytes);
  ForgiveDebts();
  if (open() && !limits.open) Close(now);
  SetOpen(limits.open,
          std::isfinite(bulk_rate) ? static_cast<uint64_t>(kOpenShareOfBurst * limits_.burst_bytes) : kLargestCost);
  PumpAndWake();
}

// At a lower rate, the same debt would take longer.
void WriteGate::ForgiveDebts() {
  const auto forgive = [](TokenBucket& bucket, double seconds) {
    bucket.Forgive(-seconds * bucket.bytes_per_second());
  };
  const double bulk_s = LongestDebtSeconds(limits_[WorkClass::kBulk]);
  forgive(buckets_[WorkClass::kInteractive], LongestDebtSeconds(limits_[WorkClass::kInteractive]));
  forgive(buckets_[WorkClass::kBulk], std::max(bulk_s, kLongestOverdraftSeconds));
  forgive(bulk_floor_, bulk_s);
}

// While the gate was open, PassOpen charged nothing. Bulk work starts with an empty bucket, so it is limited at once.
void WriteGate::Close(TimePoint now) {
  SetOpen(false);
  buckets_[WorkClass::kInteractive].SetTokens(now, limits_.burst_bytes);
  buckets_[WorkClass::kBulk].SetTokens(now, 0);
  bulk_floor_.SetTokens(now, 0);
}

Admission WriteGate::Decide(Party party, uint64_t bytes, TimePoint now) {
  const WorkClass c = party.work_class;
  if (bytes > kLargestCost)
    return RefuseSize(c, "not a size", 0, "a cost of more than 1 TiB is not the size of a write");
  if (open() && std::isinf(limits_[WorkClass::kBulk].bytes_per_second)) {
    SetOpen(true, kLargestCost);  // a new allowance
  } else if (open() && std::isfinite(limits_[c].bytes_per_second)) {
    Close(now);
    if (c == WorkClass::kInteractive) {
      CountAdmitted(c, bytes);
      Pay(c, bytes);
      return Admission();
    }
  }
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

uint64_t WriteGate::Piece(WorkClass c) const {
  const TokenBucket& bucket = buckets_[c];
  if (open() || bucket.unlimited()) return kAnyBytes;
  const double piece = kPieceSeconds[static_cast<size_t>(c)] * bucket.bytes_per_second();
  return static_cast<uint64_t>(std::min(std::max(piece, kLeastPiece), limits_.burst_bytes));
}

double WriteGate::SecondsUntil(WorkClass c, uint64_t bytes) const {
  const double cost = static_cast<double>(bytes);
  double seconds = buckets_[c].SecondsUntil(cost);
  if (c == WorkClass::kBulk) seconds = std::min(seconds, bulk_floor_.SecondsUntil(cost));
  // The end of a hold cannot be predicted.
  return limits_[c].hold ? std::max(seconds, ToSeconds(limits_[c].longest_wait)) : seconds;
}

double WriteGate::Foretell(WorkClass c, uint64_t bytes) const {
  const double by_limit = SecondsUntil(c, bytes);
  const WriteLimit& limit = limits_[c];
  if (limit.hold || limit.mean_bytes_per_second <= limit.bytes_per_second) return by_limit;
  if (std::isinf(limit.mean_bytes_per_second)) return std::min(by_limit, ToSeconds(limit.longest_wait));
  const double missing = static_cast<double>(bytes) - buckets_[c].tokens();
  return std::min(by_limit, std::max(0.0, missing) / limit.mean_bytes_per_second);
}

bool WriteGate::Pay(WorkClass c, uint64_t bytes) {
  const double cost = static_cast<double>(bytes);
  TokenBucket& bulk = buckets_[WorkClass::kBulk];
  if (c == WorkClass::kInteractive) {
    buckets_[c].Take(cost, 0);  // a write that closes the gate may be larger than the bucket
    bulk.Take(cost, -kLongestOverdraftSeconds * bulk.bytes_per_second());
    return false;
  }
  // Work that passes by the bulk bucket must not put the floor in debt: the floor is needed when interactive work
  // arrives.
  const bool by_floor = !bulk.Has(cost);
  bulk_floor_.Take(cost, by_floor ? -std::numeric_limits<double>::infinity() : 0);
  bulk.Take(cost);
  return false;
}

// An open gate owes nothing: its buckets begin anew when it closes.
void WriteGate::Owe(WorkClass c, uint64_t bytes) {
  if (open()) return;
  const auto owe = [cost = static_cast<double>(bytes)](TokenBucket& bucket, double seconds) {
    bucket.Take(cost, -seconds * bucket.bytes_per_second());
  };
  const double longest_s = LongestDebtSeconds(limits_[c]);
  owe(buckets_[c], longest_s);
  if (c == WorkClass::kBulk) owe(bulk_floor_, longest_s);
  if (c == WorkClass::kInteractive) owe(buckets_[WorkClass::kBulk], kLongestOverdraftSeconds);
}

}  // namespace weir
