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
  // The tokens that the call has used or, for an estimate, will use.
  int64_t tokens = 0;
  Requester requester;
  std::optional<Duration> reservation_ttl;    // only for Reserve; empty: the configuration's; clamped to 1 s .. 24 h
  std::optional<int64_t> output_tokens = {};  // how many of `tokens` are output (TokenUse)
  // A key that the caller chooses so that it can repeat the request. A take, a record or a reservation that is repeated
  // with the same key, for the same model, user, tenant and API key, is counted only once. The store remembers the key
  // for a day after a take or record, and for a day after the end of a reservation. A refused request may be repeated
  // with its key; the limiter then decides again. Empty: no key.
  std::string_view idempotency_key = {};
  bool every_tier = false;  // true: the limiter fills Decision::tiers even if the request fits
};
inline constexpr size_t kMaxIdempotencyKeyBytes = 256;
inline constexpr Duration kMinReservationTtl = std::chrono::seconds(1);
inline constexpr Duration kMaxReservationTtl = std::chrono::hours(24);

// A limit that a request has met in a tier, and the state of its counter.
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
  std::optional<Duration> retry_after;  // time until a new try may pass; empty: none can pass, or it is unknown
  std::optional<Tier> tier;             // the tier that refused; empty: no tier did
  std::optional<int64_t> priority;      // the priority of the QoS class; empty: the request has none
  std::optional<ModelQuota> quota;      // the quota that was applied; empty: none is known
  ModelUsage usage;
  std::vector<TierState> tiers;  // the limits that the request has met, if it did not fit or every_tier is set
  std::optional<int64_t> cost;   // in millionths; empty: the model has no price
  bool again = false;            // true if an earlier request with the same idempotency key was counted
  // Only for Reserve: the id of the reservation. Empty if none was made, because the request was refused, or because it
  // was allowed while the store did not answer.
  std::string reservation;
  Duration reservation_ttl{};  // the reservation's time to live; 0 without a reservation
};

// The outcome of Commit, CommitSoFar, Refund and Extend.
struct Settled {
  enum class Code : uint8_t {
    kSettled,             // settled, or extended
    kUnknownReservation,  // never made, or forgotten
    kInvalidTokens,       // negative; the reservation stays open
    kStoreUnavailable,
    kSettledOtherwise,  // was settled before in another way (actual_tokens, refunded); nothing has changed
    kExpired,           // only for Extend and CommitSoFar: the deadline has passed, and the amounts were released
  };
  Code code = Code::kSettled;
  std::string reason;
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;
  bool refunded = false;
  bool late = false;   // settled after the deadline: the use was charged at the time of this call
  bool again = false;  // was settled in the same way before; nothing has changed
  // The cost of the committed tokens, in millionths. Empty if the model has no price, for a refund, after a failure, or
  // if the use that was reported earlier is larger than the committed use.
  std::optional<int64_t> cost;
  Duration time_left{};    // the time that was left before this call until the deadline; 0 if `late` or `again`
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
