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
// Decide charges nothing. If several callers call Decide before the first of them calls RecordUsage, all of them may be
// allowed although there is room for only one. Use Reserve if possible.
//
// Thread-safe. Functions whose result depends on the store wait for it (QuotaStore::Pace). The Submit… functions do not
// wait if the store is asynchronous (Redis); with any other store they wait, too.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "throttle/limits/quota/naming_shares.h"
#include "throttle/limits/quota/quota_config.h"
#include "throttle/limits/quota/quota_decision.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// Sleeper: pauses a thread, for WaitForCapacity and BackgroundPrune. Tests pass a Sleeper with virtual time, so that
// they need not wait.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Returns after the time `d`, or earlier if `stop` is requested.
  virtual void Sleep(Duration d, const std::stop_token& stop) = 0;

  // Returns a Sleeper that really sleeps.
  static Sleeper& System();
};

class QuotaLimiter {
 public:
  using Call = QuotaObserver::Call;

  // `store`, `clock`, `observer`, `sleeper` and `date` must outlive the limiter; `observer` may be null. The limiter
  // uses `clock` to measure latency and deadlines, and `date` to find the calendar day and month. `date` must be the
  // clock of the store, unless that is a server's. The constructor does not call the store; StateQuotas writes the
  // quotas of `config` to the store. REQUIRES: CheckQuotaConfig has accepted `config`.
  explicit QuotaLimiter(QuotaStore& store, QuotaConfig config = {}, const Clock& clock = Clock::System(),
                        QuotaObserver* observer = nullptr, Sleeper& sleeper = Sleeper::System(),
                        const WallClock& date = WallClock::System());
  // Waits until all that was submitted has its answer. REQUIRES: all threads of BackgroundPrune have ended.
  ~QuotaLimiter();
  QuotaLimiter(const QuotaLimiter&) = delete;
  QuotaLimiter& operator=(const QuotaLimiter&) = delete;

  // Returns whether the request would be allowed now. Charges nothing.
  Decision Decide(const QuotaRequest& request);
  bool CanSend(std::string_view model, int64_t tokens) { return Decide({.model = model, .tokens = tokens}).allowed; }
  // Decides and, if the request is allowed, charges it, in one atomic step.
  Decision Take(const QuotaRequest& request);
  // Does the same as Take, but makes a reservation, which the caller settles when it knows the real use. If the caller
  // does not settle the reservation within its time to live, the reservation expires, and the store releases what it
  // has charged.
  Decision Reserve(const QuotaRequest& request);
  // Ends a reservation with its real use. Releases what was reserved but not used, and charges use beyond the
  // reservation, whatever the limits. After the deadline, charges the use at the present time (Settled::late).
  Settled Commit(std::string_view reservation, const TokenUse& use);
  Settled Commit(std::string_view reservation, int64_t tokens) { return Commit(reservation, TokenUse{tokens}); }
  Settled Commit(std::string_view reservation, int64_t prompt_tokens, int64_t output_tokens) {
    return Commit(reservation, TokenUse::Of(prompt_tokens, output_tokens));
  }
  // Reports the total use so far of a call to a model that is still under way, and gives its reservation more time, as
  // Extend does. Charges use beyond the reservation at once. The reported use stays charged, however the call ends.
  Settled CommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl = {});
  // Ends the reservation of a call to a model that was not made. Releases all of it or, if use was reported before, all
  // but that use and the request.
  Settled Refund(std::string_view reservation);
  // Moves the deadline of a reservation to `ttl` from now, but never to an earlier time. `ttl` is clamped to the range
  // from 1 s to 24 h. If it is empty, reservation_ttl of the configuration applies. Does not extend a reservation that
  // has expired (kExpired).
  Settled Extend(std::string_view reservation, std::optional<Duration> ttl = {});
  // Charges usage that has already happened, even beyond the limits. In the result, `allowed` says whether the usage
  // was counted, and `code` says whether it was within the limits.
  Decision RecordUsage(std::string_view model, int64_t prompt_tokens, int64_t output_tokens,
                       const Requester& requester = {});
  // Does the same as Decide, and fills Decision::tiers.
  Decision Explain(const QuotaRequest& request);

  // Does what `call` says (take, reserve or only decide). After a refusal, sleeps for exactly retry_after and tries
  // again. It does not wake earlier if open reservations release amounts meanwhile. There is no queue: if several
  // callers wait, the first that tries once there is room gets it. Returns the last decision if it allows the request,
  // if it has no retry_after, if the next try would be after `deadline`, or if `stop` is requested.
  Decision WaitForCapacity(const QuotaRequest& request, std::optional<TimePoint> deadline = {},
                           std::stop_token stop = {}, Call call = Call::kTake);

  // The Submit… functions do the same as those above, but return without waiting if the store is asynchronous (Redis).
  // They call `done` once: on the calling thread before they return, or on a thread of the store. `done` must not
  // block.
  void Submit(Call call, const QuotaRequest& request, std::function<void(Decision)> done);
  // Does the same as Commit or, if `use` is empty, as Refund.
  void SubmitSettle(std::string_view reservation, const std::optional<TokenUse>& use,
                    std::function<void(Settled)> done);
  void SubmitCommitSoFar(std::string_view reservation, const TokenUse& use, std::optional<Duration> ttl,
                         std::function<void(Settled)> done);
  void SubmitExtend(std::string_view reservation, std::optional<Duration> ttl, std::function<void(Settled)> done);

  // Returns the model under which a request for `model` is counted (model_names.h).
  std::string CountedAs(std::string_view model) const;
  // Returns an error if the name is malformed, or if the store does not answer.
  Result<ModelStats> Stats(std::string_view model);
  // Returns the statistics of at most `most` (>= 1) models: those that follow `after` in Models(). The result names the
  // models that could not be asked. Returns an error if the store cannot list its models, or if none of these models
  // could be asked.
  Result<AllModelStats> AllStats(std::string_view after = {}, size_t most = SIZE_MAX);
  // Returns all models that the configuration or the store knows, sorted.
  Result<std::vector<std::string>> Models();
  // Deletes the counters and the reservations of a model. Reset, SetQuota and UnsetQuota return an error for a name
  // that is counted as another model.
  Status Reset(std::string_view model);
  Status ResetAll();
  // Stores a quota in the store, for all processes that share it. It takes precedence over the configuration's quota.
  Status SetQuota(std::string_view model, const ModelQuota& quota);
  // Replaces the quota in the store by the configuration's or, if the configuration has none, removes it, so that a
  // profile's applies.
  Status UnsetQuota(std::string_view model);
  // Adds the profile of a provider to the configuration in use.
  void AddProvider(Provider provider);

  // Writes the configuration's quotas to the store, unless it has done that before, and withdraws the quotas that this
  // limiter has written and that the configuration no longer has. With withdraws_others, also withdraws those that
  // another process has written for a configuration. Keeps a quota that differs from the one that was written, for
  // example after SetQuota. Returns warnings for the log, for example if it has replaced a quota of another process or
  // of an earlier configuration. If the store fails, returns an error, and does the rest the next time. The owner of
  // the limiter must call this function every few seconds; it costs almost nothing if there is nothing to do. After the
  // store has reconnected, it also writes the quotas that the store has lost, for example because the store was
  // restarted without its data.
  Result<std::vector<std::string>> StateQuotas();
  // Uses `config` from now on, with the same store. Then returns the result of StateQuotas; even if that is an error,
  // `config` stays in use. The warnings include the limits whose counters start again from 0 (CountsBegunAnew).
  // REQUIRES: CheckQuotaConfig has accepted `config`.
  Result<std::vector<std::string>> Reconfigure(QuotaConfig config);

  // Starts a thread that prunes the store after every `interval`. The thread ends when its stop is requested, or when
  // the returned object is destroyed. The caller must destroy that object before the limiter.
  [[nodiscard]] std::jthread BackgroundPrune(Duration interval);

  QuotaStore& store() { return store_; }
  // Returns the configuration in use. The returned object does not change when another configuration replaces it.
  std::shared_ptr<const QuotaConfig> config() const;

 private:
  struct Rules;  // all that is computed from a configuration; immutable
  struct Question;
  struct Waiting;

  void Use(QuotaConfig config) WEIR_REQUIRES(stating_mutex_);
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
  // The steps before and after the store, which Ask and Submit share. `party` returns PartyOf of the request.
  template <typename Party>
  Charge ChargeOf(const Rules& rules, const Question& question, const Party& party);
  template <typename Party>
  void OnAnswer(const Rules& rules, const Question& question, const Party& party, TimePoint asked, ChargeAnswer& answer,
                Decision* decision);
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
  // Returns true if the latency of the store is measured. For a store in memory, two readings of the clock would cost
  // too much.
  bool Timed() const { return observer_ != nullptr && store_.pace() != QuotaStore::Pace::kAtOnce; }
  void Begin();
  void End();

  Result<std::optional<ModelQuota>> StatedQuota(std::string_view model);
  void AddStats(std::span<const std::string> models, AllModelStats* all);
  Status StateLost(const QuotaConfig& config) WEIR_REQUIRES(stating_mutex_);
  Status StateQuota(const std::string& model, const ModelQuota& quota) WEIR_REQUIRES(stating_mutex_);
  Status WithdrawQuota(const std::string& model, const ModelQuota& quota) WEIR_REQUIRES(stating_mutex_);
  Status LookAtStore(const QuotaConfig& config) WEIR_REQUIRES(stating_mutex_);

  QuotaStore& store_;
  NamingShares naming_;
  const Clock& clock_;
  QuotaObserver* const observer_;
  Sleeper& sleeper_;
  const WallClock& date_;

  const uint64_t id_;               // unique among all limiters that ever were in this process
  std::atomic<uint64_t> epoch_{0};  // changes with rules_; a thread's copy of rules_ is valid for one epoch
  mutable Mutex rules_mutex_;
  std::shared_ptr<const Rules> rules_ WEIR_GUARDED_BY(rules_mutex_);

  Mutex under_way_mutex_;
  Condition all_answered_;
  size_t under_way_ WEIR_GUARDED_BY(under_way_mutex_) = 0;  // submitted calls without an answer

  Mutex stating_mutex_;  // held while quotas are written or the configuration is replaced
  // The quotas that this limiter has written to the store, or that it has to withdraw from the store.
  std::map<std::string, ModelQuota, std::less<>> stated_ WEIR_GUARDED_BY(stating_mutex_);
  // True once LookAtStore has found the quotas of earlier configurations.
  bool looked_at_store_ WEIR_GUARDED_BY(stating_mutex_) = false;
  // StoreHealth::reconnects at the last search for lost quotas.
  uint64_t reconnects_seen_ WEIR_GUARDED_BY(stating_mutex_) = 0;
  std::vector<std::string> warnings_ WEIR_GUARDED_BY(stating_mutex_);  // warnings not returned yet
};

}  // namespace weir
