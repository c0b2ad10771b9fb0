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
// Decide only asks; between it and a later RecordUsage others may ask too, and all go. Who can, reserves.
//
// Threads: any, for every function. Those that answer with a value wait for the store (Pace); Submit… do not.
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

// What a million tokens cost, in millionths (kMoneyUnit).
struct ModelPrice {
  int64_t input = 0;
  int64_t output = 0;

  bool operator==(const ModelPrice&) const = default;
};
// Of a call. `output`: how many of the tokens came out; where nobody says it, each costs what is dearer.
struct TokenUse {
  int64_t tokens = 0;  // below 0 where one of its parts is
  std::optional<int64_t> output = {};

  static TokenUse Of(int64_t prompt_tokens, int64_t output_tokens);
};
// Rounded up.
int64_t CostOf(const ModelPrice& price, const TokenUse& use);

struct QuotaConfig {
  // Their profiles are the quotas of models for which neither `quotas` nor the store says otherwise. Neither providers
  // nor quotas: Gemini's, unless it is said that there are to be none.
  std::vector<Provider> providers;
  bool no_profiles = false;
  // Stated to the store (StateQuotas), where they changed: the last word counts, for all who share the store. They hold
  // here, too, as long as the store knows of none.
  std::map<std::string, ModelQuota, std::less<>> quotas;
  // Other names of configured models, or patterns of them with one '*': such requests are for that model, and counted
  // with it. An exact name comes before a pattern, of patterns the one with most other characters. By AddAlias.
  std::map<std::string, std::string, std::less<>> aliases;
  // Of models as they are counted; "*": of all others. One without a price costs nothing.
  std::map<std::string, ModelPrice, std::less<>> prices;
  // Nobody may, whatever their limits: a request whose name stands here, fits a pattern here, or is counted as one that
  // does. That comes before all that is said of the model by its exact name.
  std::set<std::string, std::less<>> denied_models;
  // What an earlier configuration stated to the store, also of another process, and `quotas` has not, is withdrawn.
  // False: only what this limiter stated.
  bool withdraws_others = false;
  UnknownModels unknown_models = UnknownModels::kAllow;
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  Duration reservation_ttl = std::chrono::minutes(10);  // where the caller names none
  // Decides and counts, and refuses nothing but what is malformed (kInvalidTokens, kInvalidName). What goes beyond a
  // limit counts as well, so that the usage is the real one.
  bool shadow = false;
  TierRulesConfig tiers;

  std::vector<Provider> ProvidersThatHold() const;
  bool operator==(const QuotaConfig&) const = default;
};
// Contradictions and values out of range; who reads a configuration from outside asks before it is used.
Status CheckQuotaConfig(const QuotaConfig& config);
// `name`, which may be a pattern, stands for the model.
Status AddAlias(std::string_view name, std::string_view model, QuotaConfig* config);
// Of one that was added, when all models are known: whether any request is counted by it.
Status CheckAlias(std::string_view name, std::string_view model, const QuotaConfig& config);
// Some limit is counted over all models.
bool CountsAcrossModels(const QuotaConfig& config);

struct QuotaRequest {
  std::string_view model;
  int64_t tokens = 0;
  Requester requester;
  std::optional<Duration> reservation_ttl;    // is brought to 1 s .. 24 h
  std::optional<int64_t> output_tokens = {};  // of `tokens` (TokenUse)
  // What takes, reserves or records may be said again with the same key (of the same requester and model), and counts
  // once: for a day after it was taken or recorded, or its reservation ended. A request that was refused may go then.
  std::string_view idempotency_key = {};
  bool every_tier = false;  // Decision::tiers also where all is well
};
inline constexpr size_t kMaxIdempotencyKeyBytes = 256;
inline constexpr Duration kMinReservationTtl = std::chrono::seconds(1);
inline constexpr Duration kMaxReservationTtl = std::chrono::hours(24);

// What a tier says about a request.
struct TierState {
  Tier tier{};
  std::string key;  // as it is counted, "user:alice"; an API key is in it
  Limit limit;
  int64_t used = 0;
  int64_t remaining = 0;
};

struct Decision {
  bool allowed = false;
  QuotaCode code = QuotaCode::kOk;
  std::string counted_as;               // the configured model, where another name was asked for
  std::string reason;                   // where it is not simply ok: what, how much of how much, and until when
  bool shadowed = false;                // it would have been refused: `code` and `reason` say why
  std::optional<Duration> retry_after;  // of a refusal; nothing: trying again is of no use, or nobody knows when
  std::optional<Tier> tier;             // that refused
  std::optional<int64_t> priority;      // of the QoS class
  std::optional<ModelQuota> quota;      // that was applied
  ModelUsage usage;
  std::vector<TierState> tiers;  // of the limits that it met: where it did not fit, or every_tier was asked for
  std::optional<int64_t> cost;   // in millionths, of a model that has a price
  bool again = false;            // it was counted before, by its idempotency key
  std::string reservation;       // of Reserve; empty where the store was away and it was allowed all the same
  Duration reservation_ttl{};    // from now
};

struct Settled {
  enum class Code : uint8_t {
    kSettled,  // or extended
    kUnknownReservation,
    kInvalidTokens,
    kStoreUnavailable,
    kSettledOtherwise,  // before, as actual_tokens and refunded say, and stays so
    kExpired,           // cannot be extended: it was given back
  };
  Code code = Code::kSettled;
  std::string reason;
  std::string model;
  int64_t reserved_tokens = 0;
  int64_t actual_tokens = 0;
  bool refunded = false;
  bool late = false;            // after the deadline: what was used is charged as of now
  bool again = false;           // settled so before; nothing changed
  std::optional<int64_t> cost;  // of actual_tokens, in millionths, where the model has a price
  Duration time_left{};         // that there was to settle it
  Duration extended_to{};       // of Extend: that there is from now

  bool ok() const { return code == Code::kSettled; }
};

struct ModelStats {
  std::string model;
  std::optional<ModelQuota> quota;
  ModelUsage usage;
};

struct AllModelStats {
  std::vector<ModelStats> models;  // sorted
  // Where a part of the store is away: models that are known, and what is wrong. There may be others.
  std::vector<std::string> unavailable;
  std::string problem;
  std::string next;  // the last that was asked for, where there are more; else empty
};

// Sees what happens, for metrics. Called by whatever thread decides; must be quick, and must not call the limiter.
class QuotaObserver {
 public:
  enum class Call : uint8_t { kDecide, kTake, kReserve, kRecord, kExplain };
  static constexpr size_t kCalls = 5;

  virtual ~QuotaObserver() = default;
  virtual void OnDecision(Call call, std::string_view model_class, const Decision& decision) = 0;
  virtual void OnSettled(const Settled& settled, bool refund) = 0;
  virtual void OnExtended(const Settled& /*settled*/) {}
  // Of stores that are not in memory.
  virtual void OnStoreAnswer(Duration latency, bool available) = 0;
};

// How the limiter lets time pass; handed in, so that nothing waits where time is virtual.
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

  // The store, the clock (for latency and deadlines), the observer, which may be null, the sleeper, and the clock by
  // which it is this day or another outlive it. It does not speak to the store yet: StateQuotas does. The configuration
  // was checked.
  explicit QuotaLimiter(QuotaStore& store, QuotaConfig config = {}, const Clock& clock = Clock::System(),
                        QuotaObserver* observer = nullptr, Sleeper& sleeper = Sleeper::System(),
                        const WallClock& date = WallClock::System());
  // Waits for the answers that are under way.
  ~QuotaLimiter();
  QuotaLimiter(const QuotaLimiter&) = delete;
  QuotaLimiter& operator=(const QuotaLimiter&) = delete;

  // Whether it would be allowed now; charges nothing.
  Decision Decide(const QuotaRequest& request);
  bool CanSend(std::string_view model, int64_t tokens) { return Decide({.model = model, .tokens = tokens}).allowed; }
  // Decides and, where it is allowed, charges, in one step.
  Decision Take(const QuotaRequest& request);
  // The same, to be settled when it is known what was used.
  Decision Reserve(const QuotaRequest& request);
  Settled Commit(std::string_view reservation, const TokenUse& use);
  Settled Commit(std::string_view reservation, int64_t tokens) { return Commit(reservation, TokenUse{tokens}); }
  Settled Commit(std::string_view reservation, int64_t prompt_tokens, int64_t output_tokens) {
    return Commit(reservation, TokenUse::Of(prompt_tokens, output_tokens));
  }
  // Of a call that goes on: what it has used so far, all together, and more time for it, as Extend. What goes beyond
  // the reservation counts at once, and what was said stays counted, however the call ends.
  Settled CommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl = {});
  Settled Refund(std::string_view reservation);
  // More time, counted from now; nothing: the configuration's. A deadline is never brought forward. One that has passed
  // stays passed.
  Settled Extend(std::string_view reservation, std::optional<Duration> ttl = {});
  // For who knows only afterwards: charges, whatever the limits. `allowed` says whether it was counted, the code
  // whether it fitted.
  Decision RecordUsage(std::string_view model, int64_t prompt_tokens, int64_t output_tokens,
                       const Requester& requester = {});
  // Decide, with the state of every tier.
  Decision Explain(const QuotaRequest& request);

  // Takes (or reserves, or only asks) as soon as there is room: sleeps exactly retry_after, which presumes that open
  // reservations use what they reserved (what is given back before is not noticed), and asks again; who waits
  // has no place in a queue. Ends with what the last asking said where waiting is of no use, when `deadline` is before
  // the next try, or when the token is stopped.
  Decision WaitForCapacity(const QuotaRequest& request, std::optional<TimePoint> deadline = {},
                           std::stop_token stop = {}, Call call = Call::kTake);

  // The same without waiting for the store. `done` is called once, by any thread, perhaps before this returns.
  void Submit(Call call, const QuotaRequest& request, std::function<void(Decision)> done);
  // No use: a refund.
  void SubmitSettle(std::string_view reservation, const std::optional<TokenUse>& use,
                    std::function<void(Settled)> done);
  void SubmitCommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl,
                         std::function<void(Settled)> done);
  void SubmitExtend(std::string_view reservation, std::optional<Duration> ttl, std::function<void(Settled)> done);

  // The model as which this name is counted; itself, where it has a quota of its own or nobody says otherwise.
  std::string CountedAs(std::string_view model) const;
  Result<ModelStats> Stats(std::string_view model);
  // Of Models(), those behind `after` and at most so many, as far as they can be asked; an error where none can.
  Result<AllModelStats> AllStats(std::string_view after = {}, size_t most = SIZE_MAX);
  // Known by configuration, or to the store; sorted.
  Result<std::vector<std::string>> Models();
  Status Reset(std::string_view model);  // its counts
  Status ResetAll();
  Status SetQuota(std::string_view model, const ModelQuota& quota);
  // Takes back what was set: the configuration's quota holds again, or a profile's.
  Status UnsetQuota(std::string_view model);
  // Adds its profile's quotas to those that hold where nobody says otherwise.
  void AddProvider(Provider provider);

  // Says to the store what it was not yet told of the configuration's quotas, and takes back those that it was told and
  // that stand there no more (withdraws_others: whoever told it; what SetQuota stated stays). The messages are warnings
  // for the log: a quota that another process or an earlier configuration had stated, and is replaced. An error is the
  // store's: what could not be said is said by the next call, which whoever began the limiter makes every few seconds,
  // for good: it costs nothing when all is said, and after the store has reconnected it says again what that has not at
  // all, such as one that came back empty.
  Result<std::vector<std::string>> StateQuotas();
  // With the same store, from the next call on; then StateQuotas, whose error leaves the configuration in force. Among
  // the warnings are the counts that begin anew by it (CountsBegunAnew).
  Result<std::vector<std::string>> Reconfigure(QuotaConfig config);

  // Prunes in a thread of its own until that is stopped, as it is by its end.
  [[nodiscard]] std::jthread BackgroundPrune(Duration interval);

  QuotaStore& store() { return store_; }
  // A snapshot.
  std::shared_ptr<const QuotaConfig> config() const;

 private:
  struct Rules;  // what is made of a configuration; immutable
  struct Question;
  struct Waiting;

  void Use(QuotaConfig config);
  static ModelQuota CutDown(const ModelQuota& quota);  // to kMostAmount
  const std::shared_ptr<const Rules>& rules() const;
  std::optional<ModelQuota> DefaultQuota(std::string_view model) const;
  bool HasPrices() const;
  std::optional<ModelPrice> PriceOf(std::string_view model) const;  // as it is counted
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
  // The two clock readings are only worth it where the store is not memory.
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

  const uint64_t id_;               // among all limiters that ever were in this process
  std::atomic<uint64_t> epoch_{0};  // of rules_: what a thread remembers of them is good for one epoch
  mutable std::mutex rules_mutex_;
  std::shared_ptr<const Rules> rules_;

  std::mutex under_way_mutex_;
  std::condition_variable all_answered_;
  size_t under_way_ = 0;  // what was submitted and has no answer yet

  std::mutex stating_mutex_;                               // one configuration at a time; guards what follows
  std::map<std::string, ModelQuota, std::less<>> stated_;  // what the store was told
  bool looked_at_store_ = false;                           // for what earlier configurations stated
  uint64_t reconnects_seen_ = 0;                           // of the store, when it had all of them
  std::vector<std::string> warnings_;                      // not handed out yet
};

}  // namespace weir
