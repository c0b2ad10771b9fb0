// QuotaLimiter: decides whether a request may be sent to a model now, and counts what the requests use.
//
//   MemoryQuotaStore store;
//   QuotaLimiter limiter(store, {.providers = {Provider::kOpenAi}});
//
//   Decision d = limiter.Reserve({.model = "gpt-4o", .tokens = 900});   // the estimate, before the call
//   if (!d.allowed) return RefuseFor(d.retry_after);                    // d.reason says why
//   const Usage used = CallTheModel();
//   limiter.Commit(d.reservation, used.prompt_tokens, used.output_tokens);  // or limiter.Refund(d.reservation)
//
// Decide charges nothing: before the RecordUsage that follows it, other callers may ask too, and all of them may be
// allowed. Use Reserve if possible.
//
// Threads: any, for every function. Functions that return an answer wait for the store (QuotaStore::Pace). Submit…
// functions do not wait if the store is asynchronous (Redis); with any other store they wait as well.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/quota/model_patterns.h"
#include "throttle/quota/naming_shares.h"
#include "throttle/quota/profiles.h"
#include "throttle/quota/quota.h"
#include "throttle/quota/quota_store.h"
#include "throttle/quota/tier_rules.h"

namespace weir {

// Whether requests for models without a known quota are allowed.
enum class UnknownModels : uint8_t { kAllow, kRefuse };
// Whether requests are refused (fail closed) or allowed (fail open) while the store does not answer.
enum class WhenStoreAway : uint8_t { kRefuse, kAllow };

// The price of a million tokens, in millionths of the unit of money (kMoneyUnit).
struct ModelPrice {
  int64_t input = 0;
  int64_t output = 0;

  bool operator==(const ModelPrice&) const = default;
};
// The tokens of one call, of which `output` are the model's output. If `output` is empty, each token costs the higher
// of the two prices.
struct TokenUse {
  int64_t tokens = 0;  // below 0 if an argument of Of is
  std::optional<int64_t> output = {};

  static TokenUse Of(int64_t prompt_tokens, int64_t output_tokens);
};
// Returns the cost in millionths, rounded up.
int64_t CostOf(const ModelPrice& price, const TokenUse& use);

struct QuotaConfig {
  // The providers whose profiles (profiles.h) give a quota to a model for which neither `quotas` nor the store has one.
  // If `providers` and `quotas` are empty and no_profiles is false, Gemini's profile applies.
  std::vector<Provider> providers;
  bool no_profiles = false;
  // Quotas by model. StateQuotas stores them in the store when they change; the quotas stored last apply to all
  // processes that share the store. In this process these quotas also apply while the store has none.
  std::map<std::string, ModelQuota, std::less<>> quotas;
  // Other names of configured models, and patterns of names with one '*', with the model of each. A request for such a
  // name is a request for that model, and is counted with it (model_names.h). AddAlias fills this.
  std::map<std::string, std::string, std::less<>> aliases;
  // Prices by the name under which a model is counted; "*" is for all other models. A model without a price is free.
  std::map<std::string, ModelPrice, std::less<>> prices;
  // Models that are denied to all requesters, whatever their limits: names and patterns. A request is denied if its
  // name, or the name under which it is counted, is here or fits a pattern here. This holds even if the configuration
  // has an entry with the exact name of the model.
  std::set<std::string, std::less<>> denied_models;
  // True: StateQuotas also withdraws the quotas that an earlier configuration stated to the store, even in another
  // process, and that `quotas` no longer has. False: it withdraws only what this limiter stated.
  bool withdraws_others = false;
  UnknownModels unknown_models = UnknownModels::kAllow;
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  Duration reservation_ttl = std::chrono::minutes(10);  // 1 s .. 24 h; applies if the caller states none
  // Shadow mode: the limiter decides and counts, but refuses only malformed requests (kInvalidTokens, kInvalidName) and
  // reused idempotency keys (kKeyReused). Use beyond a limit is counted too, so that the usage is the real one.
  bool shadow = false;
  TierRulesConfig tiers;

  // Returns the providers whose profiles apply: `providers`, or the default (see there).
  std::vector<Provider> ProvidersThatHold() const;
  bool operator==(const QuotaConfig&) const = default;
};
// Returns an error for a contradiction, or for a value out of range. Call this before a configuration from outside is
// used.
Status CheckQuotaConfig(const QuotaConfig& config);
// Makes `name`, which may be a pattern, another name of `model`. Fails, and changes nothing, if a name is malformed, if
// `name` is already a name of a different model, or if both are the same name and no pattern.
Status AddAlias(std::string_view name, std::string_view model, QuotaConfig* config);
// Checks an alias that was added. Call this when all models are in `config`. Fails if the alias would apply to no
// request.
Status CheckAlias(std::string_view name, std::string_view model, const QuotaConfig& config);
// Returns true if some limit is counted over all models together.
bool CountsAcrossModels(const QuotaConfig& config);

// A request to decide on. The views must be valid until the function that gets the request returns.
struct QuotaRequest {
  std::string_view model;
  // The tokens that the call has used or, as an estimate, will use.
  int64_t tokens = 0;
  Requester requester;
  std::optional<Duration> reservation_ttl;    // only for Reserve; empty: the configuration's; clamped to 1 s .. 24 h
  std::optional<int64_t> output_tokens = {};  // how many of `tokens` are output (TokenUse)
  // A caller may repeat a take, a reservation or a record with the same key, for the same model, user, tenant and API
  // key; then it is counted once. A key is remembered for a day after the take or record, or after the end of the
  // reservation. A request that was refused may be repeated with its key, and is decided again. Empty: no key.
  std::string_view idempotency_key = {};
  bool every_tier = false;  // fill Decision::tiers even if the request fits
};
inline constexpr size_t kMaxIdempotencyKeyBytes = 256;
inline constexpr Duration kMinReservationTtl = std::chrono::seconds(1);
inline constexpr Duration kMaxReservationTtl = std::chrono::hours(24);

// One limit that a request has met in a tier, and its state.
struct TierState {
  Tier tier{};
  std::string key;  // the name of the counter, "user:alice"; may contain an API key
  Limit limit;
  int64_t used = 0;
  int64_t remaining = 0;  // at least 0
};

struct Decision {
  bool allowed = false;
  QuotaCode code = QuotaCode::kOk;
  std::string counted_as;  // the model, if the request is counted under another name than its own; else empty
  std::string reason;      // explains `code` to people; empty for kOk
  bool shadowed = false;   // allowed only because of shadow mode; `code` and `reason` say why it would be refused
  std::optional<Duration> retry_after;  // for a refusal; empty: trying again is useless, or the time is unknown
  std::optional<Tier> tier;             // the tier that refused; empty: no tier did
  std::optional<int64_t> priority;      // the priority of the QoS class; empty: the request has none
  std::optional<ModelQuota> quota;      // the quota that was applied; empty: none is known
  ModelUsage usage;
  std::vector<TierState> tiers;  // the limits that the request has met, if it did not fit or every_tier is set
  std::optional<int64_t> cost;   // in millionths; empty: the model has no price
  bool again = false;            // the request was counted before, by its idempotency key
  // Only for Reserve: the id of the reservation. Empty if none was made: the request was refused, or it was allowed
  // although the store did not answer.
  std::string reservation;
  Duration reservation_ttl{};  // the time to live that was asked for; 0 without a reservation
};

// The outcome of Commit, CommitSoFar, Refund and Extend.
struct Settled {
  enum class Code : uint8_t {
    kSettled,             // settled, or extended
    kUnknownReservation,  // never made, or forgotten
    kInvalidTokens,       // negative; the reservation stays open
    kStoreUnavailable,
    kSettledOtherwise,  // settled before in another way (actual_tokens, refunded), which stays
    kExpired,           // only for extensions: the reservation has expired, and its amounts were released
  };
  Code code = Code::kSettled;
  std::string reason;
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;
  bool refunded = false;
  bool late = false;   // settled after the deadline: what was used is charged as of now
  bool again = false;  // it was settled in the same way before; nothing has changed
  // The cost of the committed tokens, in millionths. Empty if the model has no price, for a refund, after a failure, or
  // if more had been reported before than was committed.
  std::optional<int64_t> cost;
  Duration time_left{};    // to the deadline as it was before this call; 0 if `late` or `again`
  Duration extended_to{};  // after an extension that succeeded: time from now to the deadline

  bool ok() const { return code == Code::kSettled; }
};

struct ModelStats {
  std::string model;
  std::optional<ModelQuota> quota;
  ModelUsage usage;
};

struct AllModelStats {
  std::vector<ModelStats> models;  // sorted by name
  // If a part of the store does not answer: the known models that could not be asked, and what is wrong. There may be
  // more such models, which are not known.
  std::vector<std::string> unavailable;
  std::string problem;
  std::string next;  // the last model of this answer if there are more models; else empty
};

// Receives all decisions and settlements, for metrics. Its functions are called by the thread that decides, or by the
// one that brings the store's answer. They must be quick, and must not call the limiter.
class QuotaObserver {
 public:
  enum class Call : uint8_t { kDecide, kTake, kReserve, kRecord, kExplain };
  static constexpr size_t kCalls = 5;

  virtual ~QuotaObserver() = default;
  // Called once for each decision, also if it was made without the store. `model_class`: see TierRules::ClassOf.
  virtual void OnDecision(Call call, std::string_view model_class, const Decision& decision) = 0;
  // Called once for each Commit and Refund, and OnExtended for each CommitSoFar and Extend, whatever their outcome.
  virtual void OnSettled(const Settled& settled, bool refund) = 0;
  virtual void OnExtended(const Settled& /*settled*/) {}
  // Called once for each decision and settlement that asked the store, unless the store is in memory (Pace::kAtOnce).
  // `available` is false for kStoreUnavailable.
  virtual void OnStoreAnswer(Duration latency, bool available) = 0;
};

// Sleeper: waits for the limiter. Tests pass one with virtual time, so that they do not wait.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Returns after `d`, or as soon as `stop` is requested.
  virtual void Sleep(Duration d, const std::stop_token& stop) = 0;

  // Returns a Sleeper that really sleeps.
  static Sleeper& System();
};

class QuotaLimiter {
 public:
  using Call = QuotaObserver::Call;

  // `store`, `clock`, `observer`, `sleeper` and `date` must outlive the limiter; `observer` may be null. `clock`
  // measures latency and deadlines, `date` gives the calendar day. CheckQuotaConfig must have accepted `config`. Does
  // not use the store; StateQuotas stores the configuration's quotas there.
  explicit QuotaLimiter(QuotaStore& store, QuotaConfig config = {}, const Clock& clock = Clock::System(),
                        QuotaObserver* observer = nullptr, Sleeper& sleeper = Sleeper::System(),
                        const WallClock& date = WallClock::System());
  // Waits until all submitted calls have their answers. Threads of BackgroundPrune must have ended before.
  ~QuotaLimiter();
  QuotaLimiter(const QuotaLimiter&) = delete;
  QuotaLimiter& operator=(const QuotaLimiter&) = delete;

  // Says whether the request would be allowed now; charges nothing.
  Decision Decide(const QuotaRequest& request);
  bool CanSend(std::string_view model, int64_t tokens) { return Decide({.model = model, .tokens = tokens}).allowed; }
  // Decides and, if the request is allowed, charges it, in one step.
  Decision Take(const QuotaRequest& request);
  // Does the same, but charges by a reservation, which is settled when the real use is known. If it is not settled
  // within its time to live, it expires, and what it has charged is released.
  Decision Reserve(const QuotaRequest& request);
  // Ends a reservation with its real use. What was reserved and not used is released; use beyond the reservation is
  // charged, whatever the limits. After the deadline the use is charged as of now (Settled::late).
  Settled Commit(std::string_view reservation, const TokenUse& use);
  Settled Commit(std::string_view reservation, int64_t tokens) { return Commit(reservation, TokenUse{tokens}); }
  Settled Commit(std::string_view reservation, int64_t prompt_tokens, int64_t output_tokens) {
    return Commit(reservation, TokenUse::Of(prompt_tokens, output_tokens));
  }
  // Reports what a call still under way has used so far, in total, and gives its reservation more time, as Extend does.
  // Use beyond the reservation is charged at once. What was reported stays charged, however the call ends.
  Settled CommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl = {});
  // Ends a reservation of a call that was not made: releases all of it, except use that was reported.
  Settled Refund(std::string_view reservation);
  // Moves a reservation's deadline to `ttl` from now (clamped to 1 s .. 24 h; empty: the configuration's), but never to
  // an earlier time. An expired reservation is not extended (kExpired).
  Settled Extend(std::string_view reservation, std::optional<Duration> ttl = {});
  // Charges usage that has already happened, even beyond the limits. `allowed` says whether it was counted, and `code`
  // whether it fitted.
  Decision RecordUsage(std::string_view model, int64_t prompt_tokens, int64_t output_tokens,
                       const Requester& requester = {});
  // Does the same as Decide, and fills Decision::tiers.
  Decision Explain(const QuotaRequest& request);

  // Does what `call` says (take, reserve or only decide) as soon as there is room: after a refusal it sleeps for
  // exactly retry_after, and asks again. That time presumes that open reservations use what they have reserved: if they
  // release amounts earlier, the caller sleeps nevertheless. There is no queue; the first caller that asks once there
  // is room gets it. Returns the last decision if it allows the request, if it has no retry_after, if the next try
  // would be after `deadline`, or if `stop` is requested.
  Decision WaitForCapacity(const QuotaRequest& request, std::optional<TimePoint> deadline = {},
                           std::stop_token stop = {}, Call call = Call::kTake);

  // The Submit… functions do the same as those above, but return without waiting if the store is asynchronous (Redis).
  // `done` is called once: by this thread before the function returns, or by a thread of the store. It must not block.
  void Submit(Call call, const QuotaRequest& request, std::function<void(Decision)> done);
  // Does the same as Commit or, without `use`, as Refund.
  void SubmitSettle(std::string_view reservation, const std::optional<TokenUse>& use,
                    std::function<void(Settled)> done);
  void SubmitCommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl,
                         std::function<void(Settled)> done);
  void SubmitExtend(std::string_view reservation, std::optional<Duration> ttl, std::function<void(Settled)> done);

  // Returns the model under which a request for `model` is counted (model_names.h).
  std::string CountedAs(std::string_view model) const;
  // Returns an error if the name is malformed, or if the store does not answer.
  Result<ModelStats> Stats(std::string_view model);
  // Returns the statistics of the models that come after `after` in Models(): at most `most` (>= 1) of them. Models
  // that cannot be asked are named in the result; it is an error if no model can be asked.
  Result<AllModelStats> AllStats(std::string_view after = {}, size_t most = SIZE_MAX);
  // Returns all models that the configuration or the store knows, sorted.
  Result<std::vector<std::string>> Models();
  // Forgets the counters and the open reservations of a model. Reset, SetQuota and UnsetQuota refuse a name that is
  // counted as another model.
  Status Reset(std::string_view model);
  Status ResetAll();
  // Stores a quota in the store, for all processes that share it. It takes precedence over the configuration's quota.
  Status SetQuota(std::string_view model, const ModelQuota& quota);
  // Removes the quota that SetQuota stored, so that the configuration's applies again, or a profile's.
  Status UnsetQuota(std::string_view model);
  // Adds the profile of a provider to the configuration in use.
  void AddProvider(Provider provider);

  // Stores the configuration's quotas in the store, unless that was done before, and withdraws those that this limiter
  // stored and that the configuration no longer has. (With withdraws_others it also withdraws those that another
  // process stored for a configuration; quotas of SetQuota stay.) Returns warnings for the log, for example about a
  // quota of another process or of an earlier configuration that was replaced. An error is the store's; the next call
  // does the rest. The owner of the limiter must call this every few seconds; a call that has nothing to do costs next
  // to nothing. After the store has reconnected, a call stores the quotas again that the store has lost, for example
  // because it came back empty.
  Result<std::vector<std::string>> StateQuotas();
  // Uses `config`, which CheckQuotaConfig must have accepted, from the next call on, with the same store. Then returns
  // the result of StateQuotas; `config` stays in use even if that is an error. The warnings include the limits whose
  // counters begin at 0 (CountsBegunAnew).
  Result<std::vector<std::string>> Reconfigure(QuotaConfig config);

  // Starts a thread that prunes the store after every `interval`. The thread ends when its stop is requested, or when
  // the returned object is destroyed, which must be before the limiter is.
  [[nodiscard]] std::jthread BackgroundPrune(Duration interval);

  QuotaStore& store() { return store_; }
  // Returns the configuration in use. The returned object does not change when another configuration replaces it.
  std::shared_ptr<const QuotaConfig> config() const;

 private:
  struct Rules;  // all that is made from a configuration; immutable
  struct Question;
  struct Waiting;

  void Use(QuotaConfig config);
  static ModelQuota CutDown(const ModelQuota& quota);  // reduces the amounts to kMostAmount
  const std::shared_ptr<const Rules>& rules() const;
  std::optional<ModelQuota> DefaultQuota(std::string_view model) const;
  bool HasPrices() const;
  std::optional<ModelPrice> PriceOf(std::string_view model) const;  // `model` is the name under which it is counted
  Status CheckOwnName(std::string_view model) const;
  std::vector<std::string> ConfiguredModels() const;
  std::vector<std::string> WithConfigured(std::vector<std::string> models) const;  // adds the configured models, sorts

  Decision Ask(Call call, const QuotaRequest& request);
  static void Conclude(const Rules& rules, const Question& question, ChargeAnswer& answer, Decision* decision);
  static std::vector<TierState> StatesOf(const TierPlan& plan, const ChargeAnswer& answer);
  static std::string PartyOf(const Rules& rules, const Requester& requester);
  void Observe(const Rules& rules, const Question& question, const Decision& decision) const;
  Settlement SettlementOf(std::string_view reservation, const std::optional<TokenUse>& use) const;
  Settlement Extension(std::string_view reservation, const std::optional<TokenUse>& use,
                       std::optional<Duration> ttl) const;
  static Settlement SettlementOfTake(const Question& question, const ChargeAnswer& answer);
  Settled Settle(Settlement settlement);
  void SubmitSettle(Settlement settlement, std::function<void(Settled)> done);
  std::optional<Settled> RefuseSettlement(const Settlement& settlement) const;
  Settled Conclude(const Settlement& settlement, SettlementAnswer& answer) const;
  void Observe(const Settlement& settlement, const Settled& settled) const;
  // Returns true if the latency of the store is measured. Two readings of the clock are worth it only if the store is
  // not in memory.
  bool Timed() const { return observer_ != nullptr && store_.pace() != QuotaStore::Pace::kAtOnce; }
  void Begin();
  void End();

  Result<std::optional<ModelQuota>> StatedQuota(std::string_view model);
  void AddStats(std::span<const std::string> models, AllModelStats* all);
  Status StateLost(const QuotaConfig& config);
  Status StateQuota(const std::string& model, const ModelQuota& quota);
  Status WithdrawQuota(const std::string& model, const ModelQuota& quota);
  Status LookAtStore(const QuotaConfig& config);

  QuotaStore& store_;
  NamingShares naming_;
  const Clock& clock_;
  QuotaObserver* const observer_;
  Sleeper& sleeper_;
  const WallClock& date_;

  const uint64_t id_;               // unique among all limiters that ever were in this process
  std::atomic<uint64_t> epoch_{0};  // version of rules_; a thread's copy of rules_ is good for one epoch
  mutable std::mutex rules_mutex_;
  std::shared_ptr<const Rules> rules_;

  std::mutex under_way_mutex_;
  std::condition_variable all_answered_;
  size_t under_way_ = 0;  // submitted calls without an answer

  // Held while quotas are stored or the configuration is replaced; guards the members below.
  std::mutex stating_mutex_;
  // The quotas in the store that this limiter has stored, or that it has to withdraw.
  std::map<std::string, ModelQuota, std::less<>> stated_;
  bool looked_at_store_ = false;       // whether LookAtStore has found the quotas of earlier configurations
  uint64_t reconnects_seen_ = 0;       // StoreHealth::reconnects when lost quotas were last looked for
  std::vector<std::string> warnings_;  // warnings not returned yet
};

}  // namespace weir
