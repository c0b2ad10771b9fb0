// The values that a QuotaLimiter takes and returns: requests, decisions, settlements, statistics; and the observer that
// receives them for metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "throttle/limits/quota/quota.h"
#include "throttle/limits/quota/tier_rules.h"

namespace weir {

// A request to decide on. The views must stay valid until the function that takes the request returns.
struct QuotaRequest {
  std::string_view model;
  // The tokens that the call has used or, for an estimate, may use.
  int64_t tokens = 0;
  Requester requester;
  std::optional<Duration> reservation_ttl;    // only for Reserve; empty: the configuration's; clamped to 1 s .. 24 h
  std::optional<int64_t> output_tokens = {};  // how many of `tokens` are output (TokenUse)
  // A key that the caller chooses so that it can repeat the request. A take, a record or a reservation
  // (QuotaLimiter::Take, RecordUsage, Reserve) that is repeated with the same key, for the same model, user, tenant and
  // API key, is counted only once. Decide and Explain ignore the key. The store remembers the key for a day after a
  // take or record, and for a day after the end of a reservation, unless too many keys come (quota_store.h). If a
  // request was refused, or refunded before any use, it may be repeated with its key; the limiter then decides again.
  // Empty: no key.
  std::string_view idempotency_key = {};
  bool every_tier = false;  // true: the limiter fills Decision::tiers even if the request fits
};
inline constexpr size_t kMaxIdempotencyKeyBytes = 256;
inline constexpr Duration kMinReservationTtl = std::chrono::seconds(1);
inline constexpr Duration kMaxReservationTtl = std::chrono::hours(24);

// A limit of a tier that applies to a request, and the state of its counter.
struct TierState {
  Tier tier{};
  std::string key;  // the key of the counter, such as "user:alice"; may contain an API key
  Limit limit;
  int64_t used = 0;
  int64_t remaining = 0;  // at least 0
};

struct Decision {
  bool allowed = false;
  QuotaCode code = QuotaCode::kOk;
  std::string counted_as;  // the model, if the request is counted under another name than its own; else empty
  std::string reason;      // explains `code` to people; empty for kOk
  bool shadowed = false;   // true if only shadow mode has allowed it; `code` and `reason` say why it would be refused
  std::optional<Duration> retry_after;  // after a refusal: time until a new try may pass; empty: none can, or unknown
  std::optional<Tier> tier;             // the tier that refuses; empty: no tier does
  std::optional<int64_t> priority;      // the priority of the QoS class; empty: the request names none
  std::optional<ModelQuota> quota;      // the quota that was applied; empty: none is known
  ModelUsage usage;
  std::vector<TierState> tiers;  // the limits of tiers that apply, if the request did not fit or every_tier is set
  std::optional<int64_t> cost;   // in millionths; empty: the model has no price
  bool again = false;            // true if an earlier request with the same idempotency key was counted
  // Only for Reserve: the id of the reservation. Empty if none was made: the request was refused, or it was allowed
  // although the store did not answer or, in shadow mode, had no room.
  std::string reservation;
  Duration reservation_ttl{};  // the time to live that this request asked for; 0 without a reservation
};

// The outcome of Commit, CommitSoFar, Refund and Extend.
struct Settled {
  enum class Code : uint8_t {
    kSettled,             // settled, or extended
    kUnknownReservation,  // never made, or forgotten
    kInvalidTokens,       // negative; the reservation stays open
    kStoreUnavailable,
    kSettledOtherwise,  // was settled before in another way (actual_tokens, refunded); nothing has changed
    kExpired,           // only for Extend and CommitSoFar: the deadline has passed, and unused amounts were released
  };
  Code code = Code::kSettled;
  std::string reason;
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;
  bool refunded = false;
  bool late = false;   // settled after the deadline: a commit then charged the use at the time when it came
  bool again = false;  // was settled in the same way before; nothing has changed
  // The cost of the committed tokens, in millionths. Empty if the model has no price, for a refund, after a failure, or
  // if the use that was reported earlier is larger than the committed use.
  std::optional<int64_t> cost;
  Duration time_left{};    // the time from the settlement to the deadline, before an extension; 0 if `late` or `again`
  Duration extended_to{};  // after a successful extension: the time from now to the deadline

  bool ok() const { return code == Code::kSettled; }
};

struct ModelStats {
  std::string model;
  std::optional<ModelQuota> quota;
  ModelUsage usage;
};

struct AllModelStats {
  std::vector<ModelStats> models;  // sorted by name
  // If a part of the store does not answer: the known models whose statistics could not be read, and what is wrong.
  // That part of the store may have more models, which are not known.
  std::vector<std::string> unavailable;
  std::string problem;
  std::string next;  // if more models follow: the last model of this answer, to pass as `after`; else empty
};

// Receives all decisions and settlements, for metrics. The limiter calls its functions on the thread that decides, or
// on the thread of the store that delivers an answer. The functions must be quick, and must not call the limiter.
class QuotaObserver {
 public:
  enum class Call : uint8_t { kDecide, kTake, kReserve, kRecord, kExplain };
  static constexpr size_t kCalls = 5;

  virtual ~QuotaObserver() = default;
  // Called once for each decision, also if it was made without the store. `model_class` is a result of
  // TierRules::ClassOf.
  virtual void OnDecision(Call call, std::string_view model_class, const Decision& decision) = 0;
  // The limiter calls OnSettled once for each Commit and Refund, and OnExtended once for each CommitSoFar and Extend,
  // whatever the outcome.
  virtual void OnSettled(const Settled& settled, bool refund) = 0;
  virtual void OnExtended(const Settled& /*settled*/) {}
  // Called once for each decision and settlement that asked the store, unless the store is in memory (Pace::kAtOnce).
  // `available` is false if the answer was kStoreUnavailable.
  virtual void OnStoreAnswer(Duration latency, bool available) = 0;
};

}  // namespace weir
