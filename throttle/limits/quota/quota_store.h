// QuotaStore: the interface of the stores, which count usage and decide atomically whether a charge fits. The stores
// are in memory_store.h, yaml_store.h, sqlite/ and redis/.
//
// A charge asks the store for one decision. It concerns the quota of one model (requests and tokens in any minute,
// requests a day) and the limits of the tiers that the caller passes (tier_rules.h finds them). The store checks all of
// these limits, and then charges either all of their counters or, if a limit refuses, none. A charge may be a
// reservation, which the caller settles later: a commit says what was really used, a refund says that nothing was used.
// A quota that SetQuota or StateQuota has stored is "stated", and applies to all processes that share the store. The
// limits of tiers are not stored; they come with each charge. limit.h explains the kinds of limits: windows, buckets,
// and calendar days and months.
//
// Promises of every store (each passes the suite in tests/throttle/limits/quota):
//  * No counter is charged beyond its limit, however many threads, processes and machines charge it, except by forced
//    charges (Charge::Mode::kForce and kForceHold) and by the use that a settlement reports.
//  * A charge that fits is not refused, with three exceptions. There may be no room for a new name or reservation (see
//    below). Expired reservations may still count (kMostExpiredAtOnce). And if a window has exact_entries() entries,
//    the store merges further entries that are closer than granule(window); a merged entry counts until its last part
//    would leave the window. Memory and SQLite stores merge more entries if there is little room for them
//    (window_log.h).
//  * An entry that was made at time t counts in [t, t + window). The day of a model's quota begins with its first
//    request and ends 24 h later.
//  * If the clock steps back, entries in the future count as if they were made now. If the clock steps forward, the
//    step counts as elapsed time.
//  * A reservation that is not settled within its time to live expires: the store releases what it has charged, except
//    use that was reported (see below). A bucket gets back only the part that the refill has not paid off by the time
//    at which a later operation finds the reservation expired. A commit after the deadline charges the use, and the
//    request, at the time of the commit, whatever the limits. In counters for all models (TierCharge::of_all_models),
//    the reservation no longer counts after the deadline either, whichever model the next operation is for.
//  * The store remembers how a reservation ended, so that a repeated settlement changes nothing. It keeps such an "end"
//    for kSettledKept after the settlement or, if the reservation expired, for kExpiredKept after the deadline. It
//    keeps at most kMostEnded ends of a model. If there are more, it forgets those ends whose time would be over first.
//    The end of a named reservation (Charge::token) is kept for kExpiredKept, however the reservation ended. Named ends
//    have a bound of their own: kMostNamedEnded for each model, unless the store's options say otherwise. A memory
//    store also bounds the ends of all models together. Health warns if the store forgets a named end before its time
//    is over. A reset of a model forgets its ends. A store that keeps reservations only in memory forgets all ends when
//    it is destroyed.
//  * If a reservation was refunded before any use, and its token was used again while its end was remembered, a
//    repeated settlement of the first changes nothing in the second (ReservationId::round).
//  * A reset of a model releases what the model's open reservations have charged in counters for all models.
//  * Use that was reported before a reservation ended (Settlement::extend) stays charged, and so does the request of
//    the reservation, however the reservation ends.
//  * Each calendar day or month has a counter of its own. A reservation is settled in the counters that it has charged,
//    even if their day or month is over. The caller's clock determines which day or month it is (Limit::date). The
//    store's clock determines how long this day or month still lasts.
//  * A bucket keeps its debt: the amount that is missing until it is full. The refill pays the debt off, at the rate of
//    the limit with which the bucket was last asked. A refund reduces the debt at most by the part that the refill has
//    not paid off since the reservation: for an amount `reserved` at t0, by at most max(0, reserved -
//    floor(rate*(now-t0))). So a caller that waits with a refund never gets more than its burst at once.
//  * The number of names (counters of tiers, and models without a quota that have counters) and of open reservations is
//    bounded. A charge beyond the bound is refused with kTooManyNames. A model with a quota always has room, but the
//    counters of its tiers may have none.
//  * Negative amounts count as 0. The store does not accept a quota that CheckQuota refuses.
//  * Usage that no limit bounds is counted, too, for the statistics, in bounded space.
//
// Thread-safe: all functions may be called from any thread.
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
#include "throttle/limits/quota/limit.h"
#include "throttle/limits/quota/quota.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {

// The most open reservations of one model. A charge that would make one more is refused with kTooManyNames.
inline constexpr size_t kMostOpenReservations = 100'000;
// The most reservations past their deadline that one operation expires, the earliest deadline first. The others still
// count until a later operation, but can only be settled late.
inline constexpr size_t kMostExpiredAtOnce = 1'000;
// The bounds of the ends that are remembered (see above). A client repeats a commit within minutes, but a call to a
// model that outlives its reservation may be committed hours later.
inline constexpr size_t kMostEnded = 10'000;
inline constexpr size_t kMostNamedEnded = 100'000;  // enough for one key a second for a day; about 300 bytes each
inline constexpr Duration kSettledKept = std::chrono::hours(1);
inline constexpr Duration kExpiredKept = std::chrono::hours(24);

// One limit of one tier, for one charge. The name of its counter is (model, key, MeterName(limit)).
struct TierCharge {
  std::string_view key;  // the escaped name of the user, tenant, … that is counted, without the model: "user:alice"
  Limit limit;
  bool of_all_models = false;  // true: the name of the counter is (key, MeterName(limit)); all models share it
};

// A request for a decision. The views must stay valid until Run or Submit returns.
struct Charge {
  enum class Mode : uint8_t {
    kPeek,  // decides, and charges nothing
    kTake,  // charges if everything fits
    kHold,  // the same, as a reservation
    // Charges even if limits refuse, as far as there is room for names. The answer says whether it would have fitted.
    kForce,
    kForceHold,  // the same, as a reservation
  };

  std::string_view model;
  Mode mode = Mode::kPeek;
  int64_t requests = 1;               // 0 or 1; 0: charges no request, for example only to read the usage
  int64_t tokens = 0;                 // a negative number counts as 0
  int64_t money = 0;                  // in millionths; a negative number counts as 0; only tiers limit it
  std::span<const TierCharge> tiers;  // in the order in which they are checked
  size_t tiers_before_model = 0;      // how many of `tiers` come before the model's own quota; the others come after it
  // The quota that applies if the store has none for the model. If this is empty, too, the model is unknown.
  std::optional<ModelQuota> default_quota;
  bool refuse_unknown = false;  // true: an unknown model is not charged, unless the charge is forced
  Duration hold_for{};          // a reservation's time to live
  // Makes a named reservation, which has this token. The caller may ask for it again with the same token: if the
  // reservation is open, or if its end is remembered, the store charges nothing and sets ChargeAnswer::again. But if
  // the reservation was refunded before any use, the store makes another one, with another id. The caller must use the
  // token for no other reservation. Null: the reservation gets a random token. Only for kHold and kForceHold.
  const ReservationToken* token = nullptr;
  // False: the store refuses the charge with kTooManyNames if it needs a new name, as if there were no room.
  bool may_name = true;
  // True for a call to a model (Limit::Unit::kCalls), which is under way until its reservation is settled or expires.
  // Also true for a kPeek that asks whether there is room for a call.
  bool is_call = false;

  bool charges() const { return mode != Mode::kPeek; }
  bool forces() const { return mode == Mode::kForce || mode == Mode::kForceHold; }
  bool holds() const { return mode == Mode::kHold || mode == Mode::kForceHold; }
};

// The state of a tier's counter, after the charge if one was made. `used` is the amount that counts. For a bucket it is
// the amount that is missing until the bucket is full (its debt), rounded up.
struct TierUsage {
  int64_t used = 0;
};

struct ChargeAnswer {
  // If the charge fits: kOk, kUnlimited, or kUnknownModel (the model has no quota, and no tier refuses). If a limit
  // refuses: kRpdExceeded, kRpmExceeded, kTpmExceeded, kTierExceeded or kTooLarge. Otherwise kTooManyNames or
  // kStoreUnavailable. If several limits refuse, the code is that of the limit that is checked first; the model's
  // limits are checked in the order day, requests, tokens. But kTooLarge takes precedence over all other codes.
  QuotaCode code = QuotaCode::kOk;
  std::optional<size_t> tier;                 // index in Charge::tiers of the tier that refused
  Limit::Unit unit = Limit::Unit::kRequests;  // for kTooLarge: the unit of the limit
  // The time until all limits would let the charge pass if nothing else were charged meanwhile. It is more than 0. It
  // is exact (in Redis to the microsecond), except for merged entries and for limits of calls (kCallsPause). It
  // presumes that open reservations use all that they have reserved; if one is released earlier, the charge fits
  // earlier. Empty if no limit refuses, or if the charge can never pass.
  std::optional<Duration> retry_after;
  std::optional<ModelQuota> quota;  // the quota that was applied; empty: none is known
  ModelUsage usage;                 // after the charge
  std::vector<TierUsage> tiers;     // one for each of Charge::tiers; empty if the store is unavailable
  // True if the model's own counters were charged, even if there was no room for a tier's counter of a forced charge.
  bool charged = false;
  // The number of names that the charge has added: a model without a quota, and counters of tiers. In a memory store
  // that is nearly full of reservations, a new reservation counts as a name, too.
  uint32_t new_names = 0;
  // True if at least nine tenths of the room for names are taken or, in a memory store, of the room for reservations.
  // Set only if the charge needed new names, or if a memory store had no room.
  std::optional<bool> nearly_full;
  // The id of the reservation that the charge made, or that was made before (`again`); else empty. The id contains the
  // model's name.
  std::string reservation;
  struct Again {
    int64_t tokens = 0;  // tokens that the reservation had reserved
  };
  std::optional<Again> again;  // set if the reservation was made before (Charge::token)
  std::string problem;         // for kStoreUnavailable: what is wrong, for a log or a person

  // Returns true if no limit refuses. This includes an unknown model, even if `refuse_unknown` is true.
  bool fits() const { return code <= QuotaCode::kUnknownModel; }
};

// Ends a reservation, or gives it more time.
struct Settlement {
  std::string_view reservation;  // the reservation's id; must stay valid until Run or Submit returns
  // For a commit: the tokens that were really used. If they are fewer than reserved, the store releases the rest at
  // once. If they are more, the store charges the excess at the present time, whatever the limits. Empty: a refund,
  // which also releases the request.
  std::optional<int64_t> tokens;
  // If this is set, the reservation stays open, and its deadline moves to this long from now, unless it is already
  // later. `tokens`, if set, is then the total use so far, and the store charges use beyond the reservation at once.
  // The reported use stays charged, even if the reservation expires or is refunded.
  std::optional<Duration> extend = {};
  int64_t money = 0;  // the cost of `tokens`, in millionths
};

struct SettlementAnswer {
  enum class Code : uint8_t {
    kSettled,  // settled, or extended
    kUnknown,  // never made, or forgotten
    kStoreUnavailable,
    kSettledOtherwise,  // was settled before in another way (see below); nothing has changed
    kExpired,           // only for an extension: the reservation has expired
  };
  Code code = Code::kSettled;
  // The fields below, except `problem`, have a meaning only if the code says that the reservation is known.
  std::string model;
  int64_t reserved_tokens = 0;  // the latest reservation with this token had these (ReservationId::round)
  int64_t actual_tokens = 0;    // the tokens that were used; for an extension, those reported so far
  bool refunded = false;
  // True if it was settled after the deadline, when the amounts had been released already. Always false if a
  // reservation of a later round has the same token.
  bool late = false;
  bool again = false;    // was settled in the same way before; nothing has changed
  Duration time_left{};  // the time from the settlement to the deadline, before an extension; 0 if `late` or `again`
  std::string problem;   // for kStoreUnavailable: what is wrong
};

// The quota and the usage of a model in a store, for migration and for the YAML file. Entries are in order of time.
struct ModelState {
  struct Entry {
    WallTime time;
    int64_t amount = 0;
    bool operator==(const Entry&) const = default;
  };
  std::optional<ModelQuota> quota;  // empty if none was stated
  bool by_configuration = false;    // `quota` comes from a configuration (StateQuota)
  std::vector<Entry> requests;      // entries of the last minute, as are those of `tokens`
  std::vector<Entry> tokens;
  WallTime day_start{};  // the epoch: no day has begun
  int64_t day_count = 0;

  bool has_usage() const { return !requests.empty() || !tokens.empty() || day_count > 0; }
  bool operator==(const ModelState&) const = default;
};
// The states of models, by name, without the counters of tiers and without open reservations; a migration loses those.
using QuotaState = std::map<std::string, ModelState, std::less<>>;

struct ModelList {
  std::vector<std::string> models;  // sorted
  std::string missing;              // the part of the store that could not be asked, and why; empty if there is none
};

// The state of a store, for operators and metrics. The uint64_t members are counters, which never decrease.
struct StoreHealth {
  enum class Breaker : uint8_t { kClosed, kHalfOpen, kOpen };
  enum class Decides : uint8_t { kAll, kSome, kNone };
  Breaker breaker = Breaker::kClosed;
  // The models for which the store answers. kSome: the servers of the other models do not answer.
  Decides decides = Decides::kAll;
  std::string problem;                // the last failure; empty while all is well
  std::string warning;                // a change that the operator should make, although the store answers; empty: none
  uint64_t failures = 0;              // operations that failed (kStoreUnavailable)
  uint64_t reconnects = 0;            // connections made again, or after a failed attempt
  uint64_t expired_reservations = 0;  // reservations that this process has found expired
  uint64_t dropped_entries = 0;       // parts of forced charges that were not counted, for lack of room
};

class QuotaStore {
 public:
  // How an operation gets its answer: at once, from memory (kAtOnce); after it has waited for a file (kBlocks); or
  // later, from a server (kAsynchronous), for which Submit does not wait.
  enum class Pace : uint8_t { kAtOnce, kBlocks, kAsynchronous };

  virtual ~QuotaStore() = default;

  virtual std::string name() const = 0;  // "memory", "sqlite:quota.db", "redis://127.0.0.1:6379": no secrets
  virtual Pace pace() const = 0;
  // Return how many entries of a window are kept exactly, and how close further entries must be to be merged into one.
  virtual size_t exact_entries() const = 0;
  virtual Duration granule(Duration window) const = 0;
  // Returns false if the counters of different models are not in one place (a Redis cluster). The store then answers
  // kStoreUnavailable to a charge that has tiers with `of_all_models`.
  virtual bool CountsAcrossModels() const { return true; }

  // Decides on a charge, or settles a reservation, and waits for the answer.
  virtual ChargeAnswer Run(const Charge& charge) = 0;
  virtual SettlementAnswer Run(const Settlement& settlement) = 0;
  // Do the same, and pass the answer to `done`. An asynchronous store does not wait for the answer; all others do. The
  // store calls `done` once, on any thread, possibly before the function returns. `done` must not block.
  virtual void Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) { done(Run(charge)); }
  virtual void Submit(const Settlement& settlement, std::function<void(SettlementAnswer)> done) {
    done(Run(settlement));
  }

  // Stores a quota for a model; if `quota` is empty, removes the stored quota. This applies to all processes that share
  // the store, from now on. Does not change counters. Returns an error if CheckQuota refuses the quota, or if the store
  // does not answer.
  virtual Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) = 0;
  // Does the same for a quota that comes from a configuration. The store remembers that until SetQuota stores or
  // removes the quota of the model.
  virtual Status StateQuota(std::string_view model, const ModelQuota& quota) { return SetQuota(model, quota); }
  // Returns the models whose stored quotas come from a configuration (StateQuota), sorted.
  virtual Result<std::vector<std::string>> StatedByConfiguration() { return std::vector<std::string>(); }
  // Deletes the counters of a model and of its tiers, its reservations, and how these ended. Keeps its quota. If
  // `model` is empty, does this for all models, and also deletes the counters for all models together.
  virtual Status Reset(std::string_view model) = 0;
  // Returns the models that have a stated quota or for which anything counts now, sorted. (Redis may list a model for a
  // while after its last tier counter has stopped counting.)
  virtual Result<std::vector<std::string>> Models() = 0;
  // Does the same as Models but, if a part of the store does not answer, returns the models of the other parts.
  virtual Result<ModelList> ListModels() {
    Result<std::vector<std::string>> models = Models();
    if (!models.ok()) return models.status();
    return ModelList{.models = std::move(models).value(), .missing = {}};
  }
  // Export and Import are for `weir quota migrate`. The YAML store uses them, too. Import replaces all quotas, counters
  // and reservations in the store with `state`: in Redis model by model, in other stores in one step. If it fails, the
  // caller can repeat it.
  virtual Result<QuotaState> Export() = 0;
  virtual Status Import(const QuotaState& state) = 0;

  // Deletes what no longer counts, and expires reservations; one call may leave a part for the next. Decisions are also
  // right if it is never called.
  virtual void Prune() = 0;
  // Writes to disk what is only in memory (YAML). Other stores do nothing. If writing fails, the former file stays as
  // it was.
  virtual Status Persist() { return {}; }
  virtual StoreHealth Health() const { return {}; }
};

}  // namespace weir
