// QuotaStore: counts usage, and decides atomically what fits.
//
// One decision concerns one model: its quota (requests and tokens in any minute, requests a day) and the tiers that the
// caller names. All are checked, then all are charged, or none. The store holds the quotas stated for models, so that
// all processes that share it decide by the same ones; the limits of tiers come with each call.
//
// Promises of every store (tests/throttle/quota has the suite that each of them passes):
//  * No window is charged with more than its limit, whatever the threads, processes and machines. Only forced charges
//    go beyond: their use has already happened.
//  * A charge that fits is not refused, except for the granule: if a window has more than exact_entries() entries,
//    entries closer than granule(window) are kept as one, with the time of the last of them.
//  * An entry made at t counts in [t, t + window). A day begins with its first request and ends 24 h later.
//  * If the clock steps back, entries in the future count as of now. If it steps forward, that time counts as passed.
//  * A reservation that is not settled within its time to live is given back, whole, as of its deadline; to a bucket
//    when the next call on its model finds it, and what the refill has paid by then stays paid. A later commit charges
//    what was used, and the request, as of the commit, whatever the limits. After the deadline it no longer counts in
//    counts for all models either, whichever model the next call is for.
//  * How a reservation ended is remembered, so that repeating a settlement changes nothing: for kSettledKept after it
//    was settled, for kExpiredKept after its deadline, and the last kMostEnded of a model; the ends whose time is over
//    first are forgotten first. A named one (Charge::token) is remembered for kExpiredKept however it ended. Named ones
//    have a bound of their own: the last kMostNamedEnded of a model, or as many as the store is told. Health warns if
//    one is forgotten before its time is over. A reset forgets all; so does the end of a store that has reservations
//    only in memory.
//  * A reset of a model gives back what its open reservations hold of counts for all models.
//  * Use that was reported before a reservation ended stays charged, with its request, however it ends.
//  * Each calendar day or month is a count of its own, in which its reservations are settled, whenever that is. The
//    caller's clock says which one it is (Limit::per), the store's how long it still lasts.
//  * A bucket keeps its debt: what it lacks to be full. The debt is paid off at the rate of the limit by which the
//    bucket was last asked. A refund gives back at most what the refill has not paid since; for `reserved` made at t0
//    that is max(0, reserved - floor(rate * (now - t0))). So a caller that waits with a refund never gets more than its
//    burst at once.
//  * Names and open reservations are bounded (kTooManyNames). Models with a quota always have room.
//  * Negative amounts count as 0; quotas that CheckQuota refuses are not accepted.
//  * Unlimited use is counted too, for the statistics, in bounded memory.
//
// Threads: any, for every function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/quota/limit.h"
#include "throttle/quota/quota.h"
#include "throttle/quota/reservation_id.h"

namespace weir {

// The most open reservations of one model; one more is refused with kTooManyNames. One call gives back so many that are
// past their deadline, the first due first; the others still count, but can only be settled late.
inline constexpr size_t kMostOpenReservations = 100'000;
inline constexpr size_t kMostExpiredAtOnce = 1'000;
// Bounds of the ends that are remembered: a commit is repeated within minutes, but a call that outlives its reservation
// may take hours more.
inline constexpr size_t kMostEnded = 10'000;
inline constexpr size_t kMostNamedEnded = 100'000;  // one call a second for a day, some 300 bytes each
inline constexpr Duration kSettledKept = std::chrono::hours(1);
inline constexpr Duration kExpiredKept = std::chrono::hours(24);

// One limit of one tier, as a request meets it. Its count is kept under (model, key, MeterName(limit)).
struct TierCharge {
  std::string_view key;  // escaped, "user:alice"; without the model
  Limit limit;
  bool of_all_models = false;  // counted under (key, MeterName(limit)), whatever the model
};

// One request for a decision. The views have to live only during the call, also of Submit.
struct Charge {
  enum class Mode : uint8_t {
    kPeek,       // decides, charges nothing
    kTake,       // charges what fits
    kHold,       // the same, as a reservation
    kForce,      // charges all there is room for, even if it does not fit; the answer says whether it would have
    kForceHold,  // the same, as a reservation
  };

  std::string_view model;
  Mode mode = Mode::kPeek;
  int64_t requests = 1;                     // 0 or 1: 0 asks for no request, for example if only the state is wanted
  int64_t tokens = 0;                       // less than 0 counts as 0
  int64_t money = 0;                        // the same; limited only by tiers
  std::span<const TierCharge> tiers;        // in the order in which they are checked
  size_t tiers_before_model = 0;            // so many of them come before the model's own quota, the others after it
  std::optional<ModelQuota> default_quota;  // used if the store has none stated for the model; empty: it is unknown
  bool refuse_unknown = false;              // does not charge an unknown model, unless forced
  Duration hold_for{};                      // a reservation's time to live
  // Set for a reservation that may be asked for again: its token, which no other has. If it is open, or has ended in
  // another way than by a refund before it had used anything, nothing is charged, and the answer has
  // ChargeAnswer::again.
  const ReservationToken* token = nullptr;
  bool may_name = true;  // false: a charge that needs a new name is refused (kTooManyNames), as if there were no room
  // True for a call that is under way until it is settled, or for a question whether there is room for one
  // (Limit::Unit::kCalls).
  bool is_call = false;

  bool charges() const { return mode != Mode::kPeek; }
  bool forces() const { return mode == Mode::kForce || mode == Mode::kForceHold; }
  bool holds() const { return mode == Mode::kHold || mode == Mode::kForceHold; }
};

// Amount that a tier has used or, for a bucket, that it lacks to be full (its debt, rounded up); after the charge if
// there was one.
struct TierUsage {
  int64_t used = 0;
};

struct ChargeAnswer {
  // kOk, kUnlimited, kUnknownModel (no quota; no tier refuses), kRpdExceeded … kTooLarge, kTooManyNames,
  // kStoreUnavailable. If several limits refuse, the first in order; the model's are in the order day, requests,
  // tokens. A limit that can never be met comes before the others.
  QuotaCode code = QuotaCode::kOk;
  std::optional<size_t> tier;                 // the tier that refused
  Limit::Unit unit = Limit::Unit::kRequests;  // for kTooLarge: the unit of which there is too much
  // Time until all limits would let it pass if nothing else came: > 0 if it is refused for now, in whole nanoseconds,
  // exact but for the granule. Empty if it can never pass, or if the time is unknown. Open reservations are presumed to
  // use what they reserved: if one is given back, it fits sooner.
  std::optional<Duration> retry_after;
  std::optional<ModelQuota> quota;  // the quota that was applied
  ModelUsage usage;
  std::vector<TierUsage> tiers;  // one for each of Charge::tiers; empty if the store is unavailable
  bool charged = false;          // the model's own counts were, even if a tier of a forced charge had no room
  uint32_t new_names = 0;        // names that began by it: a model without a quota, counts of tiers
  // Set if it needed new names: true if nine tenths of the room for them are taken.
  std::optional<bool> nearly_full;
  std::string reservation;  // id of the reservation if one was made; it contains the model
  struct Again {
    int64_t tokens = 0;  // tokens that it had reserved
  };
  std::optional<Again> again;  // set if it was made before
  std::string problem;         // for kStoreUnavailable: what is wrong, for a log or a person

  // True for an unknown model, whatever the policy says.
  bool fits() const { return code <= QuotaCode::kUnknownModel; }
};

// Ends a reservation, or gives it more time.
struct Settlement {
  std::string_view reservation;
  // Tokens that were really used. Empty: a refund, which gives back the request too. If fewer than reserved, the rest
  // is free at once; if more, the excess is charged as of now, whatever the limits.
  std::optional<int64_t> tokens;
  // Set to keep the reservation open: its deadline is then so far from now, or as it was if that is later. With
  // `tokens`, these are the use so far: use beyond the reservation is charged at once, and from then on no less is
  // charged, even if it is never settled or is refunded.
  std::optional<Duration> extend = {};
  int64_t money = 0;  // cost of the tokens
};

struct SettlementAnswer {
  enum class Code : uint8_t {
    kSettled,  // or extended
    kUnknown,  // never made, or forgotten
    kStoreUnavailable,
    kSettledOtherwise,  // it was settled before in another way, as the answer says, and stays so
    kExpired,           // only for an extension: it was given back
  };
  Code code = Code::kSettled;
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;
  bool refunded = false;
  bool late = false;     // settled after the deadline, when the reserved amounts had been given back
  bool again = false;    // it was settled the same way before, and nothing changed
  Duration time_left{};  // left until the deadline; 0 if it is late, or again
  std::string problem;
};

// All that a store knows of a model, for statistics and for migration. Entries are in the order of time.
struct ModelState {
  struct Entry {
    WallTime time;
    int64_t amount = 0;
    bool operator==(const Entry&) const = default;
  };
  std::optional<ModelQuota> quota;  // empty if none was stated
  bool by_configuration = false;    // stated by StateQuota
  std::vector<Entry> requests;
  std::vector<Entry> tokens;
  WallTime day_start{};
  int64_t day_count = 0;

  bool has_usage() const { return !requests.empty() || !tokens.empty() || day_count > 0; }
  bool operator==(const ModelState&) const = default;
};
// Has no tiers and no open reservations: they do not outlive a migration.
using QuotaState = std::map<std::string, ModelState, std::less<>>;

struct ModelList {
  std::vector<std::string> models;  // sorted
  std::string missing;              // empty, or which part could not be asked, and why
};

// The state of a store. Counters never decrease; the other members are gauges.
struct StoreHealth {
  enum class Breaker : uint8_t { kClosed, kHalfOpen, kOpen };
  enum class Decides : uint8_t { kAll, kSome, kNone };
  Breaker breaker = Breaker::kClosed;
  Decides decides = Decides::kAll;  // for which models charges are answered; kSome: the server of the others is away
  std::string problem;              // the last failure; empty while all is well
  std::string warning;              // change that the operator should make, although the store answers
  uint64_t failures = 0;            // calls that were answered with kStoreUnavailable
  uint64_t reconnects = 0;
  uint64_t expired_reservations = 0;  // found by this process
  uint64_t dropped_entries = 0;       // forced usage that was not counted: too many names or open reservations
};

class QuotaStore {
 public:
  // How a call gets its answer: memory at once, files after I/O, servers when they answer.
  enum class Pace : uint8_t { kAtOnce, kBlocks, kAsynchronous };

  virtual ~QuotaStore() = default;

  virtual std::string name() const = 0;  // "memory", "sqlite:quota.db", "redis://127.0.0.1:6379": no secrets
  virtual Pace pace() const = 0;
  virtual size_t exact_entries() const = 0;
  virtual Duration granule(Duration window) const = 0;
  // Returns false if the counts of different models are not in one place; then tiers `of_all_models` are
  // kStoreUnavailable.
  virtual bool CountsAcrossModels() const { return true; }

  virtual ChargeAnswer Run(const Charge& charge) = 0;
  virtual SettlementAnswer Run(const Settlement& settlement) = 0;
  // The same, without waiting: `done` is called once, by any thread, perhaps before this returns; it must not block.
  virtual void Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) { done(Run(charge)); }
  virtual void Submit(const Settlement& settlement, std::function<void(SettlementAnswer)> done) {
    done(Run(settlement));
  }

  // Applies to all processes that share the store, from now on. Counts stay. Empty: the model has no stated quota any
  // more.
  virtual Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) = 0;
  // The same for a configuration: its quotas are known as such until SetQuota states others.
  virtual Status StateQuota(std::string_view model, const ModelQuota& quota) { return SetQuota(model, quota); }
  virtual Result<std::vector<std::string>> StatedByConfiguration() { return std::vector<std::string>(); }
  // Forgets the counts and the open reservations of a model and of its tiers; quotas stay. If `model` is empty, of all
  // models, with the counts for all models together.
  virtual Status Reset(std::string_view model) = 0;
  // The models with a stated quota or with anything that counts, sorted. (Redis: a model for which only tiers have
  // counted stays for a while.)
  virtual Result<std::vector<std::string>> Models() = 0;
  // The same; if a part of the store is away, the models that can be listed.
  virtual Result<ModelList> ListModels() {
    Result<std::vector<std::string>> models = Models();
    if (!models.ok()) return models.status();
    return ModelList{.models = std::move(models).value(), .missing = {}};
  }
  // For `weir quota migrate`. Import replaces all that there was, in one step (Redis: model by model; repeat it if it
  // failed). Repeating it changes nothing.
  virtual Result<QuotaState> Export() = 0;
  virtual Status Import(const QuotaState& state) = 0;

  // Forgets what no longer counts, and gives back what has expired. Not needed for correctness; its duration is
  // bounded.
  virtual void Prune() = 0;
  // Writes down what is only in memory (YAML). What was there before stays whole until then.
  virtual Status Persist() { return {}; }
  virtual StoreHealth Health() const { return {}; }
};

}  // namespace weir
