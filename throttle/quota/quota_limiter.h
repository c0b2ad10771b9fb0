// QuotaLimiter: may this request go to this model now?
//
//   MemoryQuotaStore store;
//   QuotaLimiter limiter(store, {.providers = {Provider::kOpenAi}});
//
//   Decision d = limiter.Reserve({.model = "gpt-4o", .tokens = 900});   // the estimate, before the call
//   if (!d.allowed) return RefuseFor(d.retry_after);                    // d.reason says why
//   const Usage used = CallTheModel();
//   limiter.Commit(d.reservation, used.prompt_tokens, used.output_tokens);  // or limiter.Refund(d.reservation)
//
// Decide only asks: before a later RecordUsage other callers may ask too, and all of them go. Reserve if possible.
//
// Threads: any, for every function. Functions that return an answer wait for the store (Pace); Submit… do not.
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

enum class UnknownModels : uint8_t { kAllow, kRefuse };
enum class WhenStoreAway : uint8_t { kRefuse, kAllow };  // fail closed, fail open

// Price of a million tokens, in millionths (kMoneyUnit).
struct ModelPrice {
  int64_t input = 0;
  int64_t output = 0;

  bool operator==(const ModelPrice&) const = default;
};
// Tokens of one call; `output` of them came out. If that is unknown, every token costs the higher of both prices.
struct TokenUse {
  int64_t tokens = 0;  // below 0 if one of its parts is
  std::optional<int64_t> output = {};

  static TokenUse Of(int64_t prompt_tokens, int64_t output_tokens);
};
// Rounds up.
int64_t CostOf(const ModelPrice& price, const TokenUse& use);

struct QuotaConfig {
  // Their profiles are the quotas of models for which neither `quotas` nor the store has one. Without providers and
  // quotas it is Gemini's, unless no_profiles is set.
  std::vector<Provider> providers;
  bool no_profiles = false;
  // Stated to the store (StateQuotas) when they change: the last statement applies to all that share the store. They
  // apply here, too, while the store has none.
  std::map<std::string, ModelQuota, std::less<>> quotas;
  // Other names of configured models, or patterns of them with one '*': such requests are for that model, and are
  // counted with it. An exact name comes before a pattern; of patterns, the one with most other characters comes first.
  // Filled by AddAlias.
  std::map<std::string, std::string, std::less<>> aliases;
  // Prices by counted model; "*" is for all others. A model without a price is free.
  std::map<std::string, ModelPrice, std::less<>> prices;
  // Denied to all requesters, whatever their limits: a request whose name is here, fits a pattern here, or is counted
  // as one that does. A denial comes before all that is said of the model by its exact name.
  std::set<std::string, std::less<>> denied_models;
  // Withdraws what an earlier configuration stated to the store, even in another process, and `quotas` no longer has.
  // False: only what this limiter stated.
  bool withdraws_others = false;
  UnknownModels unknown_models = UnknownModels::kAllow;
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  Duration reservation_ttl = std::chrono::minutes(10);  // if the caller names none
  // Decides and counts, and refuses only malformed requests (kInvalidTokens, kInvalidName). Use beyond a limit counts
  // as well, so that the usage is the real one.
  bool shadow = false;
  TierRulesConfig tiers;

  std::vector<Provider> ProvidersThatHold() const;
  bool operator==(const QuotaConfig&) const = default;
};
// Finds contradictions and values out of range. Call it before using a configuration from outside.
Status CheckQuotaConfig(const QuotaConfig& config);
// Lets `name`, which may be a pattern, stand for the model.
Status AddAlias(std::string_view name, std::string_view model, QuotaConfig* config);
// Checks an alias that was added, when all models are known: fails if no request is counted by it.
Status CheckAlias(std::string_view name, std::string_view model, const QuotaConfig& config);
// True if some limit is counted over all models.
bool CountsAcrossModels(const QuotaConfig& config);

struct QuotaRequest {
  std::string_view model;
  int64_t tokens = 0;
  Requester requester;
  std::optional<Duration> reservation_ttl;    // brought to 1 s .. 24 h
  std::optional<int64_t> output_tokens = {};  // output among `tokens` (TokenUse)
  // A take, reserve or record may be repeated with the same key (for the same requester and model), and counts once:
  // for a day after it was taken or recorded, or its reservation ended. A request that was refused may go when it is
  // repeated.
  std::string_view idempotency_key = {};
  bool every_tier = false;  // fill Decision::tiers even if all is well
};
inline constexpr size_t kMaxIdempotencyKeyBytes = 256;
inline constexpr Duration kMinReservationTtl = std::chrono::seconds(1);
inline constexpr Duration kMaxReservationTtl = std::chrono::hours(24);

// The state of a tier for a request.
struct TierState {
  Tier tier{};
  std::string key;  // key of the count, "user:alice"; may contain an API key
  Limit limit;
  int64_t used = 0;
  int64_t remaining = 0;
};

struct Decision {
  bool allowed = false;
  QuotaCode code = QuotaCode::kOk;
  std::string counted_as;               // the configured model, if another name was asked for
  std::string reason;                   // unless it is simply ok: what, how much of how much, and until when
  bool shadowed = false;                // it would have been refused: `code` and `reason` say why
  std::optional<Duration> retry_after;  // for a refusal; empty: trying again is of no use, or the time is unknown
  std::optional<Tier> tier;             // the tier that refused
  std::optional<int64_t> priority;      // priority of the QoS class
  std::optional<ModelQuota> quota;      // the quota that was applied
  ModelUsage usage;
  std::vector<TierState> tiers;  // the limits that it met, if it did not fit or every_tier was asked for
  std::optional<int64_t> cost;   // in millionths, if the model has a price
  bool again = false;            // it was counted before, by its idempotency key
  std::string reservation;       // id from Reserve; empty if it was allowed although the store was away
  Duration reservation_ttl{};    // from now
};

struct Settled {
  enum class Code : uint8_t {
    kSettled,  // or extended
    kUnknownReservation,
    kInvalidTokens,
    kStoreUnavailable,
    kSettledOtherwise,  // in another way before, as actual_tokens and refunded say, and stays so
    kExpired,           // cannot be extended: it was given back
  };
  Code code = Code::kSettled;
  std::string reason;
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;
  bool refunded = false;
  bool late = false;            // after the deadline: what was used is charged as of now
  bool again = false;           // settled the same way before; nothing changed
  std::optional<int64_t> cost;  // cost of actual_tokens, in millionths, if the model has a price
  Duration time_left{};         // left to settle it
  Duration extended_to{};       // after Extend: time to the deadline, from now

  bool ok() const { return code == Code::kSettled; }
};

struct ModelStats {
  std::string model;
  std::optional<ModelQuota> quota;
  ModelUsage usage;
};

struct AllModelStats {
  std::vector<ModelStats> models;  // sorted
  // If a part of the store is away: known models that could not be asked, and what is wrong. There may be others.
  std::vector<std::string> unavailable;
  std::string problem;
  std::string next;  // the last model that was asked for, if there are more; else empty
};

// Sees what happens, for metrics. Called by the thread that decides; must be quick, and must not call the limiter.
class QuotaObserver {
 public:
  enum class Call : uint8_t { kDecide, kTake, kReserve, kRecord, kExplain };
  static constexpr size_t kCalls = 5;

  virtual ~QuotaObserver() = default;
  virtual void OnDecision(Call call, std::string_view model_class, const Decision& decision) = 0;
  virtual void OnSettled(const Settled& settled, bool refund) = 0;
  virtual void OnExtended(const Settled& /*settled*/) {}
  // Only for stores that are not in memory.
  virtual void OnStoreAnswer(Duration latency, bool available) = 0;
};

// How the limiter lets time pass; handed in, so that no test waits while time is virtual.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Returns after `d`, or as soon as the token is stopped.
  virtual void Sleep(Duration d, const std::stop_token& stop) = 0;

  static Sleeper& System();
};

class QuotaLimiter {
 public:
  using Call = QuotaObserver::Call;

  // The store, `clock` (for latency and deadlines), the observer, which may be null, the sleeper, and `date`, which
  // tells the day, outlive it. It does not use the store yet: StateQuotas does. The configuration must have been
  // checked.
  explicit QuotaLimiter(QuotaStore& store, QuotaConfig config = {}, const Clock& clock = Clock::System(),
                        QuotaObserver* observer = nullptr, Sleeper& sleeper = Sleeper::System(),
                        const WallClock& date = WallClock::System());
  // Waits for the answers that are under way.
  ~QuotaLimiter();
  QuotaLimiter(const QuotaLimiter&) = delete;
  QuotaLimiter& operator=(const QuotaLimiter&) = delete;

  // Says whether it would be allowed now; charges nothing.
  Decision Decide(const QuotaRequest& request);
  bool CanSend(std::string_view model, int64_t tokens) { return Decide({.model = model, .tokens = tokens}).allowed; }
  // Decides and, if it is allowed, charges, in one step.
  Decision Take(const QuotaRequest& request);
  // The same, to be settled when the real use is known.
  Decision Reserve(const QuotaRequest& request);
  Settled Commit(std::string_view reservation, const TokenUse& use);
  Settled Commit(std::string_view reservation, int64_t tokens) { return Commit(reservation, TokenUse{tokens}); }
  Settled Commit(std::string_view reservation, int64_t prompt_tokens, int64_t output_tokens) {
    return Commit(reservation, TokenUse::Of(prompt_tokens, output_tokens));
  }
  // Reports what a call that goes on has used so far, in total, and gives it more time, like Extend. Use beyond the
  // reservation counts at once, and what was reported stays counted, however the call ends.
  Settled CommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl = {});
  Settled Refund(std::string_view reservation);
  // Gives more time, counted from now; empty: the configuration's. A deadline never becomes earlier. A deadline that
  // has passed stays passed.
  Settled Extend(std::string_view reservation, std::optional<Duration> ttl = {});
  // Charges usage that is already known, even beyond the limits. `allowed` says whether it was counted, the code
  // whether it fitted.
  Decision RecordUsage(std::string_view model, int64_t prompt_tokens, int64_t output_tokens,
                       const Requester& requester = {});
  // The same as Decide, with the state of every tier.
  Decision Explain(const QuotaRequest& request);

  // Takes (or reserves, or only asks) as soon as there is room: sleeps exactly retry_after, which presumes that open
  // reservations use what they reserved (amounts given back earlier are not noticed), and asks again. A waiting caller
  // has no place in a queue. Returns the last answer if waiting is of no use, if `deadline` is before the next try, or
  // if the token is stopped.
  Decision WaitForCapacity(const QuotaRequest& request, std::optional<TimePoint> deadline = {},
                           std::stop_token stop = {}, Call call = Call::kTake);

  // The same without waiting for the store. `done` is called once, by any thread, perhaps before this returns.
  void Submit(Call call, const QuotaRequest& request, std::function<void(Decision)> done);
  // Without `use` it is a refund.
  void SubmitSettle(std::string_view reservation, const std::optional<TokenUse>& use,
                    std::function<void(Settled)> done);
  void SubmitCommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl,
                         std::function<void(Settled)> done);
  void SubmitExtend(std::string_view reservation, std::optional<Duration> ttl, std::function<void(Settled)> done);

  // The model as which this name is counted: the name itself if it has a quota of its own or no model claims it.
  std::string CountedAs(std::string_view model) const;
  Result<ModelStats> Stats(std::string_view model);
  // Statistics of the models behind `after` in Models(), at most `most`, as far as they can be asked; an error if none
  // can.
  Result<AllModelStats> AllStats(std::string_view after = {}, size_t most = SIZE_MAX);
  // All models known by configuration, or to the store; sorted.
  Result<std::vector<std::string>> Models();
  Status Reset(std::string_view model);  // its counts
  Status ResetAll();
  Status SetQuota(std::string_view model, const ModelQuota& quota);
  // Takes back what SetQuota set: the configuration's quota applies again, or a profile's.
  Status UnsetQuota(std::string_view model);
  // Adds its profile's quotas to the defaults.
  void AddProvider(Provider provider);

  // Tells the store the quotas of the configuration that it was not told yet, and withdraws those that it was told and
  // that the configuration no longer has (withdraws_others: even if another process told it; what SetQuota stated
  // stays). The messages are warnings for the log, such as for a quota that another process or an earlier configuration
  // had stated, and is replaced. An error is the store's: the next call says what could not be said. The owner of the
  // limiter calls this every few seconds, for good: it costs nothing when all is said, and after the store has
  // reconnected it says again what the store has lost, for example because it came back empty.
  Result<std::vector<std::string>> StateQuotas();
  // Uses this configuration, with the same store, from the next call on; then calls StateQuotas, whose error leaves the
  // configuration in force. The warnings include the counts that begin anew by it (CountsBegunAnew).
  Result<std::vector<std::string>> Reconfigure(QuotaConfig config);

  // Prunes in a thread of its own until that is stopped; its destruction stops it too.
  [[nodiscard]] std::jthread BackgroundPrune(Duration interval);

  QuotaStore& store() { return store_; }
  // A snapshot.
  std::shared_ptr<const QuotaConfig> config() const;

 private:
  struct Rules;  // made from a configuration; immutable
  struct Question;
  struct Waiting;

  void Use(QuotaConfig config);
  static ModelQuota CutDown(const ModelQuota& quota);  // to kMostAmount
  const std::shared_ptr<const Rules>& rules() const;
  std::optional<ModelQuota> DefaultQuota(std::string_view model) const;
  bool HasPrices() const;
  std::optional<ModelPrice> PriceOf(std::string_view model) const;  // named as it is counted
  Status CheckOwnName(std::string_view model) const;
  std::vector<std::string> ConfiguredModels() const;
  std::vector<std::string> WithConfigured(std::vector<std::string> models) const;  // sorted

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
  // Two clock readings are worth it only if the store is not memory.
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
  std::atomic<uint64_t> epoch_{0};  // version of rules_: a thread's copy of them is good for one epoch
  mutable std::mutex rules_mutex_;
  std::shared_ptr<const Rules> rules_;

  std::mutex under_way_mutex_;
  std::condition_variable all_answered_;
  size_t under_way_ = 0;  // submitted calls that have no answer yet

  std::mutex stating_mutex_;                               // one configuration at a time; guards the members below
  std::map<std::string, ModelQuota, std::less<>> stated_;  // quotas that the store was told
  bool looked_at_store_ = false;                           // for quotas of earlier configurations
  uint64_t reconnects_seen_ = 0;                           // the store's count when it was last asked for lost quotas
  std::vector<std::string> warnings_;                      // not handed out yet
};

}  // namespace weir
