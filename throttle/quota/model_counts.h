// ModelCounts: all that counts for one model in memory: its requests and tokens of the minute, its day, the meters of
// its tiers, its open reservations. Enters charges and settles reservations.
//
// Threads: one at a time.
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
#include "throttle/quota/ended_holds.h"
#include "throttle/quota/meter.h"
#include "throttle/quota/open_holds.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// Identifies a meter by its key and what MeterName says, without building that text.
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

// Returns how many of the meters (null: not there) the charge needs and lacks.
size_t MissingMeters(const Charge& charge, const std::vector<Meter*>& meters);

// Bounds of all models together.
struct CountBounds {
  Bound meters;
  Bound open_holds;
  EndsBound ended_holds;
  EndsBound named_ends;
  size_t named_ends_of_model = kMostNamedEnded;
  alignas(64) Bound entry_bytes;      // for windows; read for each entry, and rarely written
  std::atomic<WallTime> name_lost{};  // when a named end was last forgotten before its time was over
};

class ModelCounts {
 public:
  // The bounds outlive it, and so does the mutex of the counts across models. It takes that mutex if a reservation has
  // a part there, so callers do not hold it unless a function says so. Entries take room of the bounds, except those of
  // the minute of a model that has a quota.
  ModelCounts(CountBounds& bounds, std::mutex& across_mutex, bool has_quota, WallTime now)
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

  // Brings it to `now`; call it before every other function, with the same time. Returns how many expired reservations
  // it gave back: kMostExpiredAtOnce at most.
  size_t Advance(WallTime now);

  // The meter of a tier, at `now`; null if there is none yet.
  Meter* FindMeter(const TierCharge& tier, WallTime now);
  // Makes the meters that the charge needs and lacks, while there is room; those of all models in `across`, whose mutex
  // the caller holds, as for Enter. Returns how many are still missing.
  size_t MakeMeters(const Charge& charge, WallTime now, ModelCounts& across, std::vector<Meter*>* meters);
  void Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters);
  void Enter(const Charge& charge, WallTime now, const std::vector<Meter*>& meters, const ReservationToken& token);
  // Forgets ended reservations whose time is over, or that are too many.
  void ForgetEnded();
  // Finds a reservation that was made before and may be asked for again (Charge::token). Null: there is none. Call
  // ForgetEnded first: an end whose time is over must not be replaced by another of its name, because it has meters
  // pinned.
  const Hold* FindMade(const ReservationToken& token);
  bool HasRoomToHold() const { return holds_.HasRoom(); }
  std::optional<WallTime> NextDue() const { return holds_.NextDue(); }
  std::optional<WallTime> noted_due;  // set by MemoryShards
  // `answer` is kUnknown before, and stays so if the reservation is unknown. Returns how many it found expired.
  size_t Settle(const ReservationToken& token, const Settlement& settlement, WallTime now, SettlementAnswer* answer);
  // Gives back what its open reservations hold, because it is about to be forgotten and the meters across models are
  // not.
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

  void Restore(const ModelState& state, WallTime now);
  void Save(ModelState* state) const;
  // Looks at up to `buckets` buckets of meters, and forgets meters that say no more than new ones. Returns how many
  // buckets it looked at.
  size_t Sweep(WallTime now, size_t buckets);
  size_t buckets() const { return meters_.bucket_count(); }
  void ForgetMeters();  // the meters must not be pinned
  // True if nothing counts, except perhaps for tiers.
  bool Quiet() const;
  // For callers that list what counts. The end of a reservation counts nowhere, and is only kept for a while.
  bool CountsAnything() const { return !Quiet() || !meters_.empty(); }
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
  // GiveBack and EnterMore act as of now_.
  void GiveBack(const Hold& hold, const Amounts& amounts);
  void EnterMore(const Hold& hold, const Amounts& amounts);
  void Unpin(const Hold& hold) const;
  std::unique_lock<std::mutex> LockFor(const Hold& hold) const;

  CountBounds& bounds_;
  std::mutex& across_mutex_;
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
