// QuotaStore: where usage is counted, and where it is decided, atomically, what fits.
//
// One decision concerns one model: its quota (requests and tokens in any minute, requests a day) and the tiers that the
// caller names. All are checked, then all are charged, or none. The store holds the quotas that were stated for models,
// so that all processes that share it decide by the same; the limits of tiers come with each call.
//
// What all stores promise (tests/throttle/quota has the suite that each of them passes):
//  * In any window no more is charged than its limit, whatever the threads, processes and machines. Only what is forced
//    goes beyond: what was used was used.
//  * What fits is not refused, but for the granule: above so many entries in a window (exact_entries()), entries closer
//    than granule(window) are kept as one, with the time of the last of them.
//  * An entry made at t counts in [t, t + window). A day begins with its first request and ends 24 h later.
//  * A clock that steps back: what lies in the future counts as of now. One that steps forward: as if the time had
//  passed.
//  * A reservation that nobody settles within its time to live is given back, whole, as of its deadline; to a bucket
//    when the next call on its model finds it, and what the refill has paid by then is paid. Who commits it later is
//    charged what was used as of then, the request too, whatever the limits. Then it counts no more in counts
//    for all models either, whichever model the next call is for.
//  * How a reservation ended is remembered, so that saying the same again changes nothing: for kSettledKept after it
//    was settled, for kExpiredKept after its deadline, and of a model the last kMostEnded, of which those go first
//    whose time is over first. A named one (Charge::token) is remembered for kExpiredKept however it ended. Named ones
//    are bounded apart: a model has the last kMostNamedEnded, or as many as the store is told. Health warns when one
//    goes before its time is over. A reset forgets all; so does the end of a store that has reservations in memory
//    alone.
//  * A reset of a model gives back what its open reservations hold of counts for all models.
//  * What was told of a reservation's use before its end stays charged, with its request, however it ends.
//  * A day or month of the calendar is a count of its own, from which what was reserved there is settled, whenever
//  that is. It is the caller who says, by his clock, which one he is in (Limit::per); the store says how long it lasts.
//  * A bucket keeps its debt: what it lacks to be full. That is paid off at the rate of the limit that it was last
//  asked by. What is given back to it is at most what the refill since has not paid already, of `reserved` made at t0:
//  max(0, reserved - floor(rate * (now - t0))). So nobody gets more than its burst at once by waiting with a refund.
//  * Names and open reservations are bounded: kTooManyNames. Models with a quota always have room.
//  * Negative amounts count as 0; quotas that CheckQuota refuses are not taken.
//  * What is not limited is counted all the same, for the statistics, in bounded memory.
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

// Open reservations of one model at most; one more is refused with kTooManyNames. So many past their deadline are given
// back in one call, the first due first; the others count meanwhile, but cannot be settled any more.
inline constexpr size_t kMostOpenReservations = 100'000;
inline constexpr size_t kMostExpiredAtOnce = 1'000;
// Of those that have ended: who repeats a commit does so within minutes; a call that outlives its reservation may take
// hours more.
inline constexpr size_t kMostEnded = 10'000;
inline constexpr size_t kMostNamedEnded = 100'000;  // a call a second for a day, in some 300 bytes each
inline constexpr Duration kSettledKept = std::chrono::hours(1);
inline constexpr Duration kExpiredKept = std::chrono::hours(24);

// One limit of one tier, as a request meets it. Its count is kept under (model, key, MeterName(limit)).
struct TierCharge {
  std::string_view key;  // escaped, "user:alice"; without the model
  Limit limit;
  bool of_all_models = false;  // counted under (key, MeterName(limit)), whatever the model
};

// One request for a decision. The views are good during the call, also of Submit.
struct Charge {
  enum class Mode : uint8_t {
    kPeek,       // decides, charges nothing
    kTake,       // charges what fits
    kHold,       // the same, as a reservation
    kForce,      // charges all there is room for, whether it fits or not; the answer says whether it would have
    kForceHold,  // the same, as a reservation
  };

  std::string_view model;
  Mode mode = Mode::kPeek;
  int64_t requests = 1;               // 0 or 1: 0 asks for nothing of requests, such as when only the state is wanted
  int64_t tokens = 0;                 // less than 0 counts as 0
  int64_t money = 0;                  // the same; of the limits of tiers alone
  std::span<const TierCharge> tiers;  // in the order in which they are checked
  size_t tiers_before_model = 0;      // of them so many before the model's own quota, the others after it
  std::optional<ModelQuota> default_quota;  // where the store has none stated for the model; none: it is unknown
  bool refuse_unknown = false;              // an unknown model: nothing is charged but by force
  Duration hold_for{};                      // of a reservation: the time to live
  // Of a reservation that may be asked for again: its token, which nobody else has. Where it is open, or has ended, but
  // for a refund before it had used anything, nothing is charged, and it is answered as ChargeAnswer::again.
  const ReservationToken* token = nullptr;
  bool may_name = true;  // false: what needs a new name is refused (kTooManyNames), as if there were no room
  // A call that is under way until it is settled, or a question whether there is room for one (Limit::Unit::kCalls).
  bool is_call = false;

  bool charges() const { return mode != Mode::kPeek; }
  bool forces() const { return mode == Mode::kForce || mode == Mode::kForceHold; }
  bool holds() const { return mode == Mode::kHold || mode == Mode::kForceHold; }
};

// What a tier has used, or a bucket lacks to be full (its debt, rounded up), after the charge where there was one.
struct TierUsage {
  int64_t used = 0;
};

struct ChargeAnswer {
  // kOk, kUnlimited, kUnknownModel (no quota; no tier refuses), kRpdExceeded … kTooLarge, kTooManyNames,
  // kStoreUnavailable. Of several limits that refuse, the first in order; the model's are in the order day, requests,
  // tokens. A limit that can never be met is before the others.
  QuotaCode code = QuotaCode::kOk;
  std::optional<size_t> tier;                 // that refused
  Limit::Unit unit = Limit::Unit::kRequests;  // of kTooLarge: what there is too much of
  // Until all limits would let it pass if nothing else came: > 0 where it is refused for now, whole nanoseconds, to the
  // point (at the granule's precision); nothing where it never can, or nobody knows. Open reservations are presumed to
  // use what they reserved: where one is given back, it fits sooner.
  std::optional<Duration> retry_after;
  std::optional<ModelQuota> quota;  // that was applied
  ModelUsage usage;
  std::vector<TierUsage> tiers;  // one for each of Charge::tiers; none where the store is unavailable
  bool charged = false;          // the model's own counts were, also where a tier of what was forced had no room
  uint32_t new_names = 0;        // that began by it: a model without a quota, counts of tiers
  // Where it needed new names: whether nine tenths of the room for them are taken.
  std::optional<bool> nearly_full;
  std::string reservation;  // where one was made: its id, in which the model is
  struct Again {
    int64_t tokens = 0;  // that it had reserved
  };
  std::optional<Again> again;  // it was made before
  std::string problem;         // kStoreUnavailable: what is wrong, for a log or a person

  // Of an unknown model: whatever the policy says.
  bool fits() const { return code <= QuotaCode::kUnknownModel; }
};

// The end of a reservation, or more time for it.
struct Settlement {
  std::string_view reservation;
  // What was really used; nothing: nothing was, and the request too is given back. Less than reserved frees the rest at
  // once; more is charged as of now, whatever the limits.
  std::optional<int64_t> tokens;
  // It stays open: its deadline is so far from now, or as it was where that is later. With tokens, these are what was
  // used so far: what goes beyond the reservation is charged at once, and from then on no less is charged, also where
  // nobody settles it or it is refunded.
  std::optional<Duration> extend = {};
  int64_t money = 0;  // what the tokens cost
};

struct SettlementAnswer {
  enum class Code : uint8_t {
    kSettled,  // or extended
    kUnknown,  // never made, or forgotten
    kStoreUnavailable,
    kSettledOtherwise,  // it was settled before, as the answer says, and stays so
    kExpired,           // of an extension alone: it was given back
  };
  Code code = Code::kSettled;
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;
  bool refunded = false;
  bool late = false;     // after the deadline: what was reserved had been given back
  bool again = false;    // it was settled so before, and nothing changed
  Duration time_left{};  // that there was until the deadline; 0 where it is late, or again
  std::string problem;
};

// All that a store has of a model, for stats and for migration. Entries are in the order of time.
struct ModelState {
  struct Entry {
    WallTime time;
    int64_t amount = 0;
    bool operator==(const Entry&) const = default;
  };
  std::optional<ModelQuota> quota;  // stated
  bool by_configuration = false;    // by StateQuota
  std::vector<Entry> requests;
  std::vector<Entry> tokens;
  WallTime day_start{};
  int64_t day_count = 0;

  bool has_usage() const { return !requests.empty() || !tokens.empty() || day_count > 0; }
  bool operator==(const ModelState&) const = default;
};
// Without tiers and open reservations, which do not outlive a migration.
using QuotaState = std::map<std::string, ModelState, std::less<>>;

struct ModelList {
  std::vector<std::string> models;  // sorted
  std::string missing;              // empty, or what could not be asked, and why
};

// How a store is doing. Monotonic but for the gauges.
struct StoreHealth {
  enum class Breaker : uint8_t { kClosed, kHalfOpen, kOpen };
  enum class Decides : uint8_t { kAll, kSome, kNone };
  Breaker breaker = Breaker::kClosed;
  Decides decides = Decides::kAll;  // whether charges are answered: of all models, of some (others' server is away)
  std::string problem;              // of the last failure; empty while all is well
  std::string warning;              // what the operator should change, although the store answers
  uint64_t failures = 0;            // calls that were answered kStoreUnavailable
  uint64_t reconnects = 0;
  uint64_t expired_reservations = 0;  // that this process found
  uint64_t dropped_entries = 0;       // forced usage that is not counted: too many names or open reservations
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
  // False: the counts of different models are not in one place, and tiers `of_all_models` are kStoreUnavailable.
  virtual bool CountsAcrossModels() const { return true; }

  virtual ChargeAnswer Run(const Charge& charge) = 0;
  virtual SettlementAnswer Run(const Settlement& settlement) = 0;
  // The same, without waiting: `done` is called once, by any thread, perhaps before this returns; it must not block.
  virtual void Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) { done(Run(charge)); }
  virtual void Submit(const Settlement& settlement, std::function<void(SettlementAnswer)> done) {
    done(Run(settlement));
  }

  // For all who share the store, from now on. Counts stay. Nothing: no quota is stated any more.
  virtual Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) = 0;
  // The same, for a configuration: its quotas are known as such until SetQuota states others.
  virtual Status StateQuota(std::string_view model, const ModelQuota& quota) { return SetQuota(model, quota); }
  virtual Result<std::vector<std::string>> StatedByConfiguration() { return std::vector<std::string>(); }
  // Forgets the counts and the open reservations of a model and of its tiers; quotas stay. Empty: of all, and what is
  // counted for all models together.
  virtual Status Reset(std::string_view model) = 0;
  // The models with a stated quota or anything that counts, sorted. (Redis: one of which nothing but tiers has counted
  // stays for a while.)
  virtual Result<std::vector<std::string>> Models() = 0;
  // The same, and where a part of the store is away, those that can be listed.
  virtual Result<ModelList> ListModels() {
    Result<std::vector<std::string>> models = Models();
    if (!models.ok()) return models.status();
    return ModelList{.models = std::move(models).value(), .missing = {}};
  }
  // For `weir quota migrate`. Import replaces all that there was, in one step (Redis: model by model; one that failed
  // is repeated); doing it twice is doing it once.
  virtual Result<QuotaState> Export() = 0;
  virtual Status Import(const QuotaState& state) = 0;

  // Forgets what no longer counts, and gives back what has expired. Not needed for correctness; how long it takes is
  // bounded.
  virtual void Prune() = 0;
  // Writes down what is only in memory (YAML). What was there before stays whole until it is written.
  virtual Status Persist() { return {}; }
  virtual StoreHealth Health() const { return {}; }
};

}  // namespace weir
