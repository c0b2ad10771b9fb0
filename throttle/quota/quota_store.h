// QuotaStore: the interface of the stores that count usage and decide, atomically, what fits. They are memory_store.h,
// yaml_store.h, sqlite/ and redis/.
//
// A charge asks for one decision. It concerns one model's quota (requests and tokens in any minute, requests a day) and
// the limits of the tiers that the caller passes (tier_rules.h finds them). The store checks all of these limits; then
// it charges all of their counters, or none. A charge may be a reservation, which is settled later: a commit says what
// was really used, a refund says that nothing was. A quota is stated if SetQuota or StateQuota has stored it; so all
// processes that share the store decide by the same quotas. The limits of tiers come with each call.
//
// Promises of every store (each passes the suite in tests/throttle/quota):
//  * No window is charged beyond its limit, however many threads, processes and machines charge it. Only usage that has
//    already happened can exceed it: forced charges, and the use that a settlement reports.
//  * A charge that fits is not refused, with one exception: if a window has more than exact_entries() entries, entries
//    that are closer than granule(window) are kept as one, which counts until the last of them would leave.
//  * An entry that was made at t counts in [t, t + window). A day begins with its first request and ends 24 h later.
//  * If the clock steps back, entries in the future count as of now. If it steps forward, the step counts as elapsed.
//  * A reservation that is not settled within its time to live expires: all that it has charged is released, as of its
//    deadline. A bucket gets the amount back when the next call for the reservation's model finds the reservation
//    expired; debt that the refill has paid off by then stays paid. A commit that comes later charges what was used,
//    and the request, as of the commit, whatever the limits. In counters for all models, too, the reservation no longer
//    counts after the deadline, whichever model the next call is for.
//  * The store remembers how a reservation ended, so that a repeated settlement changes nothing. An end is kept for
//    kSettledKept if the reservation was settled, for kExpiredKept after the deadline if it expired; a model has at
//    most kMostEnded. If there are too many, the ends whose time is over first are forgotten first. The end of a named
//    reservation (Charge::token) is remembered for kExpiredKept, however it ended. Named ends have a bound of their
//    own: kMostNamedEnded of a model, unless the store's options say otherwise. Health warns if one is forgotten before
//    its time is over. A reset forgets all ends, as does the destruction of a store that has reservations only in
//    memory.
//  * A reset of a model releases what its open reservations hold in counters for all models.
//  * Use that was reported before a reservation ended (Settlement::extend) stays charged, and so does its request,
//    however the reservation ends.
//  * Each calendar day or month has a counter of its own. A reservation is settled in the counter in which it was made,
//    however late. The caller's clock says which day or month it is (Limit::date), the store's clock says how long that
//    still lasts.
//  * A bucket keeps its debt: what it lacks to be full. The debt is paid off at the rate of the limit with which the
//    bucket was last asked. A refund reduces the debt at most by what the refill has not paid off since the
//    reservation: for an amount `reserved` at t0 by max(0, reserved - floor(rate * (now - t0))). So a caller that waits
//    with a refund never gets more than its burst at once.
//  * Names (counters of models without a quota, and of tiers) and open reservations are bounded; a charge beyond the
//    bound gets kTooManyNames. Models with a quota always have room.
//  * Negative amounts count as 0. Quotas that CheckQuota refuses are not accepted.
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

// The most open reservations of one model. A charge that would make one more is refused with kTooManyNames.
inline constexpr size_t kMostOpenReservations = 100'000;
// The most reservations past their deadline that one call expires, the earliest deadline first. The others still count
// until a later call, but can only be settled late.
inline constexpr size_t kMostExpiredAtOnce = 1'000;
// Bounds of the ends that are remembered (see above). A commit is repeated within minutes, but a call that outlives its
// reservation may take hours more.
inline constexpr size_t kMostEnded = 10'000;
inline constexpr size_t kMostNamedEnded = 100'000;  // one call a second for a day, some 300 bytes each
inline constexpr Duration kSettledKept = std::chrono::hours(1);
inline constexpr Duration kExpiredKept = std::chrono::hours(24);

// One limit of one tier, for one charge. Its counter has the name (model, key, MeterName(limit)).
struct TierCharge {
  std::string_view key;  // the name of the counter's party, escaped, without the model: "user:alice"
  Limit limit;
  bool of_all_models = false;  // the counter is (key, MeterName(limit)), for all models together
};

// A request for a decision. The views must be valid until Run or Submit returns.
struct Charge {
  enum class Mode : uint8_t {
    kPeek,  // decides, and charges nothing
    kTake,  // charges if everything fits
    kHold,  // the same, as a reservation
    // Charges even if it does not fit, as far as there is room for names. The answer says whether it would have fitted.
    kForce,
    kForceHold,  // the same, as a reservation
  };

  std::string_view model;
  Mode mode = Mode::kPeek;
  int64_t requests = 1;               // 0 or 1; 0 asks for no request, for example if only the state is wanted
  int64_t tokens = 0;                 // a negative number counts as 0
  int64_t money = 0;                  // in millionths; a negative number counts as 0; only tiers limit it
  std::span<const TierCharge> tiers;  // in the order in which they are checked
  size_t tiers_before_model = 0;      // how many of `tiers` come before the model's own quota; the others come after it
  // The quota that applies if the store has none for the model. Empty: then the model is unknown.
  std::optional<ModelQuota> default_quota;
  bool refuse_unknown = false;  // an unknown model is not charged, unless the charge is forced
  Duration hold_for{};          // a reservation's time to live
  // Makes a named reservation, which a caller may ask for again with this token; no other reservation may have the
  // token. If the reservation of this token is open, or if its end is remembered, nothing is charged, and the answer
  // has ChargeAnswer::again. But one that was refunded before any use is made anew. Null: the reservation gets a random
  // token. Only for kHold and kForceHold.
  const ReservationToken* token = nullptr;
  // False: if the charge needs a new name, it is refused with kTooManyNames, as if there were no room.
  bool may_name = true;
  // True for a call, which is under way until its reservation is settled, or for a question whether there is room for a
  // call (Limit::Unit::kCalls).
  bool is_call = false;

  bool charges() const { return mode != Mode::kPeek; }
  bool forces() const { return mode == Mode::kForce || mode == Mode::kForceHold; }
  bool holds() const { return mode == Mode::kHold || mode == Mode::kForceHold; }
};

// The state of a tier's counter, after the charge if there was one. `used` is the amount that counts or, for a bucket,
// what it lacks to be full (its debt, rounded up).
struct TierUsage {
  int64_t used = 0;
};

struct ChargeAnswer {
  // If the charge fits: kOk, kUnlimited, or kUnknownModel (the model has no quota, and no tier refuses). Otherwise
  // kRpdExceeded … kTooLarge for a limit that refuses, kTooManyNames, or kStoreUnavailable. If several limits refuse,
  // the code is that of the first one checked; those of the model are checked in the order day, requests, tokens. But
  // kTooLarge takes precedence over all others.
  QuotaCode code = QuotaCode::kOk;
  std::optional<size_t> tier;                 // index in Charge::tiers of the tier that refused
  Limit::Unit unit = Limit::Unit::kRequests;  // for kTooLarge: the unit of the limit
  // The time until all limits would let the charge pass if nothing else came: > 0, in whole nanoseconds, and exact
  // except for the granule and for limits of calls (kCallsPause). It presumes that open reservations use what they have
  // reserved; if one is released, the charge fits sooner. Empty if no limit refuses, if the charge can never pass, or
  // if the time is unknown.
  std::optional<Duration> retry_after;
  std::optional<ModelQuota> quota;  // the quota that was applied; empty: none is known
  ModelUsage usage;                 // after the charge
  std::vector<TierUsage> tiers;     // one for each of Charge::tiers; empty if the store is unavailable
  // The model's own counters were charged. That may be true although a tier of a forced charge had no room.
  bool charged = false;
  // Number of names that the charge began: a model without a quota, counters of tiers. A reservation counts as a name
  // too in a memory store that is nearly full of reservations.
  uint32_t new_names = 0;
  // Set if the charge needed new names: true if nine tenths of the room for names are taken.
  std::optional<bool> nearly_full;
  // The id of the reservation that the charge made, now or before (`again`); else empty. It contains the model's name.
  std::string reservation;
  struct Again {
    int64_t tokens = 0;  // tokens that the reservation had reserved
  };
  std::optional<Again> again;  // set if the reservation was made before (Charge::token)
  std::string problem;         // for kStoreUnavailable: what is wrong, for a log or a person

  // Returns true if no limit refuses. That includes an unknown model, whatever the policy says.
  bool fits() const { return code <= QuotaCode::kUnknownModel; }
};

// Ends a reservation, or gives it more time.
struct Settlement {
  std::string_view reservation;  // the reservation's id; valid until the call returns
  // A commit: the tokens that were really used. If they are fewer than reserved, the rest is released at once; if they
  // are more, the excess is charged as of now, whatever the limits. Empty: a refund, which releases the request too.
  std::optional<int64_t> tokens;
  // Set: the reservation stays open. Its deadline moves to this time from now, or stays as it was if that is later.
  // `tokens`, if set, are the use so far: use beyond the reservation is charged at once. What was reported stays
  // charged, even if the reservation expires or is refunded.
  std::optional<Duration> extend = {};
  int64_t money = 0;  // the cost of `tokens`, in millionths
};

struct SettlementAnswer {
  enum class Code : uint8_t {
    kSettled,  // settled, or extended
    kUnknown,  // never made, or forgotten
    kStoreUnavailable,
    kSettledOtherwise,  // settled before in another way (see below), which stays
    kExpired,           // only for an extension: the reservation has expired
  };
  Code code = Code::kSettled;
  // The fields below, except `problem`, are set if the code says that the reservation is known.
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;  // tokens that were used; for an extension, that were reported so far
  bool refunded = false;
  bool late = false;     // settled after the deadline, when the amounts had been released
  bool again = false;    // settled in the same way before; nothing has changed
  Duration time_left{};  // to the deadline as it was before this call; 0 if `late` or `again`
  std::string problem;   // for kStoreUnavailable: what is wrong
};

// The quota and the usage of a model in a store, for statistics and for migration. Entries are in the order of time.
struct ModelState {
  struct Entry {
    WallTime time;
    int64_t amount = 0;
    bool operator==(const Entry&) const = default;
  };
  std::optional<ModelQuota> quota;  // empty if none was stated
  bool by_configuration = false;    // `quota` comes from a configuration (StateQuota)
  std::vector<Entry> requests;      // the last minute's; so are `tokens`
  std::vector<Entry> tokens;
  WallTime day_start{};  // the epoch: no day has begun
  int64_t day_count = 0;

  bool has_usage() const { return !requests.empty() || !tokens.empty() || day_count > 0; }
  bool operator==(const ModelState&) const = default;
};
// The states of models, by name. Counters of tiers and open reservations are left out; a migration loses them.
using QuotaState = std::map<std::string, ModelState, std::less<>>;

struct ModelList {
  std::vector<std::string> models;  // sorted
  std::string missing;              // the part of the store that could not be asked, and why; empty if there is none
};

// The state of a store, for operators and metrics. Counts never decrease; the other members show the present.
struct StoreHealth {
  enum class Breaker : uint8_t { kClosed, kHalfOpen, kOpen };
  enum class Decides : uint8_t { kAll, kSome, kNone };
  Breaker breaker = Breaker::kClosed;
  // The models for which the store answers. kSome: the servers of the other models do not answer.
  Decides decides = Decides::kAll;
  std::string problem;                // the last failure; empty while all is well
  std::string warning;                // a change that the operator should make, although the store answers; empty: none
  uint64_t failures = 0;              // calls that the store did not answer (kStoreUnavailable)
  uint64_t reconnects = 0;            // connections to servers, not counting the first ones
  uint64_t expired_reservations = 0;  // reservations that this process has found expired
  uint64_t dropped_entries = 0;       // forced usage not counted, for lack of room for names or open reservations
};

class QuotaStore {
 public:
  // How a call gets its answer: at once from memory (kAtOnce), after it has waited for a file (kBlocks), or later from
  // a server (kAsynchronous). Submit does not wait for a server.
  enum class Pace : uint8_t { kAtOnce, kBlocks, kAsynchronous };

  virtual ~QuotaStore() = default;

  virtual std::string name() const = 0;  // "memory", "sqlite:quota.db", "redis://127.0.0.1:6379": no secrets
  virtual Pace pace() const = 0;
  // Return how many entries of a window are kept exactly, and how close further entries must be to be kept as one.
  virtual size_t exact_entries() const = 0;
  virtual Duration granule(Duration window) const = 0;
  // Returns false if the counters of different models are not in one place (a Redis cluster). The answer to a charge
  // with tiers `of_all_models` is then kStoreUnavailable.
  virtual bool CountsAcrossModels() const { return true; }

  // Decides on a charge, or settles a reservation. Waits for the answer.
  virtual ChargeAnswer Run(const Charge& charge) = 0;
  virtual SettlementAnswer Run(const Settlement& settlement) = 0;
  // Do the same. An asynchronous store does not wait for the answer; all others do. `done` is called once, by any
  // thread, perhaps before this returns. It must not block.
  virtual void Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) { done(Run(charge)); }
  virtual void Submit(const Settlement& settlement, std::function<void(SettlementAnswer)> done) {
    done(Run(settlement));
  }

  // Stores a quota for a model; an empty `quota` removes it. It applies to all processes that share the store, from now
  // on. Counters stay. Fails if CheckQuota refuses the quota, or if the store does not answer.
  virtual Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) = 0;
  // Stores a quota that a configuration states; the store remembers that it did, until SetQuota stores another.
  virtual Status StateQuota(std::string_view model, const ModelQuota& quota) { return SetQuota(model, quota); }
  // Returns the models whose quotas a configuration has stored (StateQuota), sorted.
  virtual Result<std::vector<std::string>> StatedByConfiguration() { return std::vector<std::string>(); }
  // Forgets the counters of a model and of its tiers, its reservations, and how these ended. Quotas stay. If `model` is
  // empty, does this for all models, and forgets the counters for all models together.
  virtual Status Reset(std::string_view model) = 0;
  // Returns the models that have a stated quota or for which anything counts, sorted. (Redis: a model for which only
  // tiers have counted stays in the list for a while.)
  virtual Result<std::vector<std::string>> Models() = 0;
  // Does the same but, if a part of the store does not answer, returns the models of the other part.
  virtual Result<ModelList> ListModels() {
    Result<std::vector<std::string>> models = Models();
    if (!models.ok()) return models.status();
    return ModelList{.models = std::move(models).value(), .missing = {}};
  }
  // For `weir quota migrate`. Import replaces all quotas, counters and reservations in the store with `state`, in one
  // step. (Redis: model by model; if it fails, repeat it.) Repeating it changes nothing.
  virtual Result<QuotaState> Export() = 0;
  virtual Status Import(const QuotaState& state) = 0;

  // Deletes what no longer counts, and expires reservations, in bounded time. Decisions are right without it, too.
  virtual void Prune() = 0;
  // Writes to disk what is only in memory (YAML); other stores have nothing to do. If it fails, the former file stays
  // intact.
  virtual Status Persist() { return {}; }
  virtual StoreHealth Health() const { return {}; }
};

}  // namespace weir
