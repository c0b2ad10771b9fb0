// ModelCounts: the counters of one model in a memory store (requests and tokens of the minute, requests of the day, and
// the meters of its tiers), and its open and ended reservations. It charges amounts and settles reservations. It does
// not decide whether a charge fits; Judge (judge.h) does.
//
// Not thread-safe; callers hold the mutex of the model's shard (memory_shards.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/bound.h"
#include "config/mutex.h"
#include "throttle/limits/quota/ended_holds.h"
#include "throttle/limits/quota/meter.h"
#include "throttle/limits/quota/open_holds.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// MeterKeyView identifies a meter by the key of its tier and by the parts of MeterName (limit.h), without making that
// text. MeterKey is the same, but owns the key of the tier.
struct MeterKeyView {
  std::string_view key;
  Limit::Unit unit{};
  Limit::Kind kind{};
  int64_t length_or_date = 0;

  explicit MeterKeyView(const TierCharge& tier)
      : key(tier.key), unit(tier.limit.unit), kind(tier.limit.kind), length_or_date(LengthOrDate(tier.limit)) {}
};
struct MeterKey {
  std::string key;
  Limit::Unit unit{};
  Limit::Kind kind{};
  int64_t length_or_date = 0;

  explicit MeterKey(const MeterKeyView& view)
      : key(view.key), unit(view.unit), kind(view.kind), length_or_date(view.length_or_date) {}
};
struct HashMeterKey {
  using is_transparent = void;
  size_t operator()(const auto& key) const {
    const size_t kinds = static_cast<size_t>(key.length_or_date) + 2 * static_cast<size_t>(key.unit) +
                         static_cast<size_t>(key.kind);  // lengths are multiples of a millisecond
    return std::hash<std::string_view>()(key.key) ^ kinds * 0x9e3779b97f4a7c15;
  }
};
struct SameMeterKey {
  using is_transparent = void;
  bool operator()(const auto& a, const auto& b) const {
    return a.length_or_date == b.length_or_date && a.unit == b.unit && a.kind == b.kind && a.key == b.key;
  }
};

// Returns the number of meters that the charge needs and that do not exist. `meters` has one pointer for each tier of
// the charge, which is null if the meter does not exist.
size_t MissingMeters(const Charge& charge, const std::vector<Meter*>& meters);

// The bounds that all models of a store share.
struct CountBounds {
  Bound meters;                                  // counters of tiers
  Bound open_holds;                              // open reservations
  EndsBound ended_holds;                         // remembered ends of reservations without a name
  EndsBound named_ends;                          // remembered ends of named reservations (Charge::token)
  size_t named_ends_of_model = kMostNamedEnded;  // how many of `named_ends` each model may have
  // Bytes of the entries of windows. Threads read it for each entry and rarely write it, so it has its own cache line.
  alignas(64) Bound entry_bytes;
  // The last time at which the end of a named reservation was forgotten too early (quota_store.h); the epoch: never.
  std::atomic<WallTime> name_lost{};
};

class ModelCounts {
 public:
  // `bounds` and `across_mutex` must outlive this object. `across_mutex` guards the counters across models
  // (MemoryShards::across). A function that settles, expires or forgets a reservation locks this mutex if the
  // reservation has charged such a counter. So callers must not hold it, unless the function's comment says that they
  // must. Entries take room from `bounds`, except the entries of the minute if `has_quota` is true or after Unbind.
  ModelCounts(CountBounds& bounds, Mutex& across_mutex, bool has_quota, WallTime now)
      : bounds_(bounds),
        across_mutex_(across_mutex),
        now_(now),
        requests_(kMinute, has_quota ? nullptr : &bounds.entry_bytes),
        tokens_(kMinute, has_quota ? nullptr : &bounds.entry_bytes),
        holds_(bounds.open_holds),
        ended_(kMostEnded, bounds.ended_holds),
        named_ended_(bounds.named_ends_of_model, bounds.named_ends) {}
  ~ModelCounts();
  ModelCounts(const ModelCounts&) = delete;
  ModelCounts& operator=(const ModelCounts&) = delete;

  // Brings the minute, the day and the reservations to `now`. The caller must call it before every other function, with
  // the same time. Expires reservations whose deadline has come, at most kMostExpiredAtOnce of them, and returns their
  // number.
  size_t Advance(WallTime now);

  // Frees the minute from the bound on entries, because the model has got a quota.
  void Unbind() {
    requests_.Unbind();
    tokens_.Unbind();
  }

  // Returns the meter of a tier, advanced to `now`, or null if there is none. The meter uses tier.limit from then on.
  Meter* FindMeter(const TierCharge& tier, WallTime now);
  // Makes the meters that the charge needs and that are null in `meters`, as long as there is room. Makes those of
  // tiers with `of_all_models` in `across`. Returns the number of meters for which there was no room; these stay null.
  // REQUIRES, also for Enter: the caller holds `across_mutex` if a tier of the charge has `of_all_models`.
  size_t MakeMeters(const Charge& charge, WallTime now, ModelCounts& across, std::vector<Meter*>* meters);
  // Charges the amounts, whatever the limits, in the model's own counters and in those `meters` that are not null. With
  // a `token`, also makes an open reservation, and returns its round (ReservationId).
  void Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters);
  uint32_t Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters, const ReservationToken& token);
  // Forgets the ends that may be forgotten by now, and the ends beyond the bounds.
  void ForgetEnded();
  // Returns the reservation with this token if it is open, or if it was named and its end is remembered. Otherwise, or
  // if it counts as never made (HoldEnd::as_if_never), returns null. The caller must call ForgetEnded first: a new
  // reservation with the same token must not replace an end that still pins meters.
  const Hold* FindMade(const ReservationToken& token);
  bool HasRoomToHold() const { return holds_.HasRoom(); }
  std::optional<WallTime> NextDue() const { return holds_.NextDue(); }
  std::optional<WallTime> noted_due;  // the deadline that MemoryShards::NoteDue has recorded
  // Settles or extends a reservation. REQUIRES: `answer->code` is kUnknown. Does not change it if the reservation is
  // unknown. Returns the number of reservations that this call found expired: 0 or 1.
  size_t Settle(const ReservationId& id, const Settlement& settlement, WallTime now, SettlementAnswer* answer);
  // Releases the amounts of the open reservations, but keeps the reservations. MemoryQuotaStore::Reset calls it before
  // it deletes this object, because the counters across models are not deleted.
  void GiveBackAll();

  const WindowLog& requests() const { return requests_; }
  const WindowLog& tokens() const { return tokens_; }
  const DayCount& day() const { return day_; }
  ModelUsage usage() const {
    return {
        .rpm = std::min(kMostAmount, requests_.used()),
        .tpm = std::min(kMostAmount, tokens_.used()),
        .rpd = day_.count(),
        .day_start = day_.start(),
        .open_reservations = static_cast<int64_t>(holds_.size()),
    };
  }

  // Restore fills an object that counts nothing yet. Save writes the model's own counters, but not its quota.
  void Restore(const ModelState& state, WallTime now);
  void Save(ModelState* state) const;
  // Calls ForgetEnded. Then visits at most `buckets` hash buckets of the meters, from where the last call stopped, and
  // deletes the meters that are Forgettable. Returns the number of buckets that it visited.
  size_t Sweep(WallTime now, size_t buckets);
  size_t buckets() const { return meters_.bucket_count(); }
  // Deletes all meters. REQUIRES: none of them is pinned.
  void ForgetMeters();
  // Returns true if the model's own counters are 0 and it has no open reservation. Its tiers may still count something.
  bool Quiet() const;
  // Returns true if the model's counters are a reason for QuotaStore::Models to list it. Ends of reservations are no
  // reason, because they count nothing.
  bool CountsAnything() const { return !Quiet() || !meters_.empty(); }
  // Returns true if this object can be deleted.
  bool Forgettable() const { return !CountsAnything() && ended_.empty() && named_ended_.empty(); }

 private:
  void EnterParts(const Charge& charge, WallTime now, const std::vector<Meter*>& meters, Hold* hold);
  void Expire(const ReservationToken& token, Hold hold);
  void SettleOpen(const ReservationToken& token, const Hold& open, const Settlement& settlement,
                  SettlementAnswer* answer);
  void SettleEnded(const ReservationToken& token, const EndedHolds::Ended& ended, const Settlement& settlement,
                   SettlementAnswer* answer);
  void EndAs(const ReservationToken& token, Hold hold, const SettlementAnswer& answer);
  EndedHolds& EndsOf(const Hold& hold) { return hold.named ? named_ended_ : ended_; }
  // GiveBack and EnterMore act at the time now_.
  void GiveBack(const Hold& hold, const Amounts& amounts);
  void EnterMore(const Hold& hold, const Amounts& amounts);
  void Unpin(const Hold& hold) const;
  std::unique_lock<Mutex> LockFor(const Hold& hold) const;

  CountBounds& bounds_;
  Mutex& across_mutex_;
  WallTime now_;
  WindowLog requests_;
  WindowLog tokens_;
  DayCount day_;
  OpenHolds holds_;
  EndedHolds ended_;
  EndedHolds named_ended_;
  std::unordered_map<MeterKey, Meter, HashMeterKey, SameMeterKey> meters_;
  size_t next_bucket_ = 0;
};

}  // namespace weir
