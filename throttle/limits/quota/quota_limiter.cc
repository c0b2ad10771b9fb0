#include "throttle/limits/quota/quota_limiter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/text/name_hash.h"
#include "config/text/parse.h"
#include "throttle/limits/quota/model_names.h"
#include "throttle/limits/quota/model_patterns.h"
#include "throttle/limits/quota/quota_reasons.h"

namespace weir {
namespace {

uint64_t NextLimiterId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

TokenUse TokenUse::Of(int64_t prompt_tokens, int64_t output_tokens) {
  if (prompt_tokens < 0 || output_tokens < 0) return {.tokens = std::min(prompt_tokens, output_tokens)};
  return {.tokens = AddAmounts(std::min(prompt_tokens, kMostAmount), std::min(output_tokens, kMostAmount)),
          .output = output_tokens};
}

int64_t CostOf(const ModelPrice& price, const TokenUse& use) {
  constexpr int64_t kPricedTokens = 1'000'000;
  const int64_t tokens = std::clamp<int64_t>(use.tokens, 0, kMostAmount);
  const int64_t output = std::clamp<int64_t>(use.output.value_or(price.output > price.input ? tokens : 0), 0, tokens);
  const auto parts =
      static_cast<__int128>(tokens - output) * price.input + static_cast<__int128>(output) * price.output;
  return static_cast<int64_t>(std::min<__int128>((parts + kPricedTokens - 1) / kPricedTokens, kMostAmount));
}

struct QuotaLimiter::Rules {
  explicit Rules(QuotaConfig c);

  // Returns null if the model has no price.
  const ModelPrice* PriceOf(std::string_view model) const;

  const QuotaConfig config;
  const TierRules tiers;
  const ModelNames names;
  NameMap<ModelPrice> prices;
  ModelSet denied;
};

QuotaLimiter::Rules::Rules(QuotaConfig c) : config(std::move(c)), tiers(config.tiers), names(config) {
  for (const auto& [model, price] : config.prices) prices.Set(model, price);
  for (const std::string& model : config.denied_models) denied.Add(model);
}

const ModelPrice* QuotaLimiter::Rules::PriceOf(std::string_view model) const {
  const ModelPrice* price = prices.Find(model);
  return price != nullptr ? price : prices.Find(kAnyModel);
}

// The question to the store for one request. Has a plan only if limits of tiers may apply to the request.
struct QuotaLimiter::Question {
  explicit Question(Call c) : call(c) {}  // an aggregate would be cleared as a whole, also the large plan
  // Returns false if the request is refused without asking the store; `refusal` then says why.
  bool Prepare(const Rules& rules, const QuotaRequest& request, const WallClock& date, Decision* refusal);
  Charge ChargeOf(const Rules& rules) const;
  Duration HoldFor(const QuotaConfig& config) const {
    return std::clamp(ttl.value_or(config.reservation_ttl), kMinReservationTtl, kMaxReservationTtl);
  }

  const Call call;
  // True for a take or a record with an idempotency key: it is charged as a reservation and settled at once.
  bool settles() const { return token && call != Call::kReserve; }

  std::string_view model;
  int64_t tokens = 0;
  std::optional<int64_t> cost;
  std::optional<ReservationToken> token;
  std::optional<Duration> ttl;
  bool every_tier = false;
  const ModelQuota* default_quota = nullptr;
  std::optional<TierPlan> plan;
  bool is_alias = false;
  bool denied = false;
};

bool QuotaLimiter::Question::Prepare(const Rules& rules, const QuotaRequest& request, const WallClock& date,
                                     Decision* refusal) {
  const auto refuse = [&](QuotaCode code, std::string reason) {
    refusal->code = code;
    refusal->reason = std::move(reason);
    return false;
  };
  model = request.model;
  default_quota = rules.names.defaults().Find(model);
  // A name with a default quota was checked together with the configuration.
  if (default_quota == nullptr) {
    if (const Status name = CheckName("model", model); !name.ok())
      return refuse(QuotaCode::kInvalidName, name.message());
    if (const auto claimant = rules.names.ClaimantOf(model)) {
      model = *claimant;
      is_alias = true;
      default_quota = rules.names.defaults().Find(model);
    }
  }
  denied =
      !rules.denied.empty() && (rules.denied.Contains(request.model) || (is_alias && rules.denied.Contains(model)));
  if (request.tokens < 0)
    return refuse(QuotaCode::kInvalidTokens,
                  Printable(model) + ": " + std::to_string(request.tokens) + " tokens; they cannot be negative");
  tokens = std::min(request.tokens, kMostAmount);
  if (const ModelPrice* price = rules.config.prices.empty() ? nullptr : rules.PriceOf(model))
    cost = CostOf(*price, {.tokens = tokens, .output = request.output_tokens});
  if (const std::string_view key = request.idempotency_key; !key.empty()) {
    if (key.size() > kMaxIdempotencyKeyBytes)
      return refuse(QuotaCode::kInvalidName, "the idempotency key has " + std::to_string(key.size()) +
                                                 " bytes, expected at most " + std::to_string(kMaxIdempotencyKeyBytes));
    const Requester& who = request.requester;
    if (call != Call::kDecide && call != Call::kExplain)
      token =
          NamedReservationToken({model, who.user, who.tenant, who.api_key, call == Call::kReserve ? "held" : "", key});
  }
  ttl = request.reservation_ttl;
  every_tier = request.every_tier || call == Call::kExplain;
  if (rules.tiers.empty() && request.requester.empty()) return true;
  plan.emplace();
  const WallTime now = rules.tiers.uses_calendar() ? date.Now() : WallTime();
  const std::string_view sent = is_alias ? request.model : std::string_view();
  const Status planned = rules.tiers.MakePlan(model, request.requester, &*plan, now, sent);
  denied = denied || !plan->denied().empty();
  return planned.ok() || refuse(QuotaCode::kInvalidName, planned.message());
}

Charge QuotaLimiter::Question::ChargeOf(const Rules& rules) const {
  using Mode = Charge::Mode;
  const QuotaConfig& config = rules.config;
  Charge charge{.model = model, .tokens = tokens, .money = cost.value_or(0), .token = token ? &*token : nullptr};
  switch (call) {
    case Call::kDecide:
    case Call::kExplain:
      break;
    case Call::kTake:
      charge.mode = config.shadow ? Mode::kForce : Mode::kTake;
      if (token) charge.mode = config.shadow ? Mode::kForceHold : Mode::kHold;
      break;
    case Call::kReserve:
      charge.mode = config.shadow ? Mode::kForceHold : Mode::kHold;
      charge.hold_for = HoldFor(config);
      charge.is_call = true;
      break;
    case Call::kRecord:
      charge.mode = token ? Mode::kForceHold : Mode::kForce;
      break;
  }
  if (settles()) charge.hold_for = kMaxReservationTtl;
  if (denied && !charge.forces()) charge.mode = Mode::kPeek;
  if (plan) {
    charge.tiers = plan->charges();
    charge.tiers_before_model = plan->before_model();
  }
  if (default_quota != nullptr) charge.default_quota = *default_quota;
  charge.refuse_unknown = config.unknown_models == UnknownModels::kRefuse;
  return charge;
}

QuotaLimiter::QuotaLimiter(QuotaStore& store, QuotaConfig config, const Clock& clock, QuotaObserver* observer,
                           Sleeper& sleeper, const WallClock& date)
    : store_(store), clock_(clock), observer_(observer), sleeper_(sleeper), date_(date), id_(NextLimiterId()) {
  Use(std::move(config));
}

QuotaLimiter::~QuotaLimiter() {
  MutexLock lock(under_way_mutex_);
  all_answered_.wait(lock, [&]() WEIR_REQUIRES(under_way_mutex_) { return under_way_ == 0; });
}

void QuotaLimiter::Use(QuotaConfig config) {
  for (auto& [model, quota] : config.quotas) quota = CutDown(quota);
  auto rules = std::make_shared<const Rules>(std::move(config));
  const MutexLock lock(rules_mutex_);
  rules_ = std::move(rules);
  epoch_.fetch_add(1, std::memory_order_release);
}

// Each thread keeps a copy of the pointer, which costs a decision 1 ns. std::atomic<std::shared_ptr> would take a lock,
// and would change a reference count that all threads share.
const std::shared_ptr<const QuotaLimiter::Rules>& QuotaLimiter::rules() const {
  struct Remembered {
    uint64_t limiter = 0;
    uint64_t epoch = 0;
    std::shared_ptr<const Rules> rules;
  };
  static thread_local Remembered last;
  if (last.limiter != id_ || last.epoch != epoch_.load(std::memory_order_acquire)) {
    const MutexLock lock(rules_mutex_);
    last = {id_, epoch_.load(std::memory_order_relaxed), rules_};
  }
  return last.rules;
}

std::shared_ptr<const QuotaConfig> QuotaLimiter::config() const {
  const std::shared_ptr<const Rules> current = rules();
  return {current, &current->config};
}

std::string QuotaLimiter::CountedAs(std::string_view model) const {
  return std::string(rules()->names.CountedAs(model));
}

std::optional<ModelQuota> QuotaLimiter::DefaultQuota(std::string_view model) const {
  const ModelQuota* quota = rules()->names.defaults().Find(model);
  return quota != nullptr ? std::optional(*quota) : std::nullopt;
}

bool QuotaLimiter::HasPrices() const { return !rules()->config.prices.empty(); }

std::optional<ModelPrice> QuotaLimiter::PriceOf(std::string_view model) const {
  const Rules& rules = *this->rules();
  const ModelPrice* price = rules.config.prices.empty() ? nullptr : rules.PriceOf(model);
  return price != nullptr ? std::optional(*price) : std::nullopt;
}

std::vector<std::string> QuotaLimiter::ConfiguredModels() const {
  std::vector<std::string> models;
  for (const auto& [model, quota] : rules()->names.defaults()) models.push_back(model);
  return models;
}

void QuotaLimiter::Conclude(const Rules& rules, const Question& question, ChargeAnswer& answer, Decision* decision) {
  const QuotaConfig& config = rules.config;
  const bool records = question.call == Call::kRecord;
  const bool away = answer.code == QuotaCode::kStoreUnavailable;
  const bool refused_unknown =
      !records && answer.code == QuotaCode::kUnknownModel && config.unknown_models == UnknownModels::kRefuse;
  const bool reused = answer.again && answer.again->tokens != question.tokens;
  const bool fits = answer.fits() && !refused_unknown && !question.denied && !reused;
  const TierPlan* plan = question.plan ? &*question.plan : nullptr;

  Decision& d = *decision;
  d.code = question.denied ? QuotaCode::kDenied : reused ? QuotaCode::kKeyReused : answer.code;
  if (question.cost) d.cost = *question.cost;
  d.again = answer.again.has_value();
  if (question.is_alias) d.counted_as = question.model;
  if (records) {
    d.allowed = (answer.charged || answer.again) && !reused;
  } else if (!reused) {
    d.allowed = fits || (away && !question.denied && config.when_store_away == WhenStoreAway::kAllow);
    d.shadowed = !d.allowed && config.shadow;
    d.allowed = d.allowed || d.shadowed;
  }
  if (question.denied) {
    const bool model = plan == nullptr || plan->denied().empty();
    d.reason = Printable(question.model) + ": " + (model ? "denied to everybody" : plan->denied()) +
               " by the configuration; trying again is of no use";
  } else if (reused) {
    d.reason = Printable(question.model) + ": this idempotency key came with " + std::to_string(answer.again->tokens) +
               " tokens before, and now with " + std::to_string(question.tokens) + "; a new request needs a new key";
  } else if (d.code != QuotaCode::kOk) {
    d.reason =
        refused_unknown
            ? Printable(question.model) + ": no quota is known for this model, and unknown models are refused"
            : ReasonOf(question.model, {.tokens = question.tokens, .money = question.cost.value_or(0)}, plan, answer);
  }
  if (!d.allowed && !question.denied) d.retry_after = answer.retry_after;
  d.quota = answer.quota;
  d.usage = answer.usage;
  if (question.call == Call::kReserve && !reused) d.reservation = std::move(answer.reservation);
  if (!d.reservation.empty()) d.reservation_ttl = question.HoldFor(config);
  if (plan == nullptr) return;
  d.priority = plan->priority();
  if (answer.tier && !question.denied) d.tier = plan->tier_of(*answer.tier);
  if (!fits || question.every_tier) d.tiers = StatesOf(*plan, answer);
}

std::vector<TierState> QuotaLimiter::StatesOf(const TierPlan& plan, const ChargeAnswer& answer) {
  std::vector<TierState> states;
  // If the store did not answer, `answer.tiers` is empty, because the use of the tiers is unknown.
  for (size_t i = 0; i < std::min(plan.charges().size(), answer.tiers.size()); ++i) {
    const auto& [key, limit, of_all_models] = plan.charges()[i];
    const int64_t used = answer.tiers[i].used;
    states.push_back({.tier = plan.tier_of(i),
                      .key = std::string(key),
                      .limit = limit,
                      .used = used,
                      .remaining = std::max<int64_t>(0, MostAtOnce(limit) - used)});
  }
  return states;
}

void QuotaLimiter::Observe(const Rules& rules, const Question& question, const Decision& decision) const {
  if (observer_ != nullptr) observer_->OnDecision(question.call, rules.tiers.ClassOf(question.model), decision);
}

// Returns a party that a requester cannot invent: a key or a tenant of the configuration, or its address. The text does
// not contain the key, which is a secret.
std::string QuotaLimiter::PartyOf(const Rules& rules, const Requester& requester) {
  const TierRulesConfig& tiers = rules.config.tiers;
  if (!requester.api_key.empty() && tiers.api_keys.contains(requester.api_key)) {
    const auto tenant = tiers.api_key_tenants.find(requester.api_key);
    const size_t number = HashOfName(requester.api_key) % 10'000;
    return "an API key" + (tenant == tiers.api_key_tenants.end() ? std::string() : " of " + Printable(tenant->second)) +
           " (" + std::to_string(number) + ")";
  }
  if (!requester.tenant.empty() && tiers.tenants.contains(requester.tenant))
    return "tenant " + Printable(requester.tenant);
  return requester.address.empty() ? "callers without a tenant or key of the configuration"
                                   : "address " + Printable(requester.address);
}

template <typename Party>
Charge QuotaLimiter::ChargeOf(const Rules& rules, const Question& question, const Party& party) {
  Charge charge = question.ChargeOf(rules);
  if (naming_.store_is_nearly_full()) [[unlikely]]
    charge.may_name = naming_.MayName(party(), clock_.Now());
  return charge;
}

template <typename Party>
void QuotaLimiter::OnAnswer(const Rules& rules, const Question& question, const Party& party, TimePoint asked,
                            ChargeAnswer& answer, Decision* decision) {
  if (answer.nearly_full) naming_.Learn(party(), answer.new_names, *answer.nearly_full, clock_.Now());
  if (Timed()) observer_->OnStoreAnswer(clock_.Now() - asked, answer.code != QuotaCode::kStoreUnavailable);
  Conclude(rules, question, answer, decision);
  Observe(rules, question, *decision);
}

// Uses one Decision object from the beginning to the end, because each move of it costs 6 ns.
Decision QuotaLimiter::Ask(Call call, const QuotaRequest& request) {
  const Rules& rules = *this->rules();
  Question question(call);
  Decision decision;
  if (!question.Prepare(rules, request, date_, &decision)) {
    Observe(rules, question, decision);
    return decision;
  }
  const auto party = [&] { return PartyOf(rules, request.requester); };
  const TimePoint asked = Timed() ? clock_.Now() : TimePoint();
  ChargeAnswer answer = store_.Run(ChargeOf(rules, question, party));
  OnAnswer(rules, question, party, asked, answer, &decision);
  if (question.settles() && !answer.reservation.empty()) store_.Run(SettlementOfTake(question, answer));
  return decision;
}

Decision QuotaLimiter::Decide(const QuotaRequest& request) { return Ask(Call::kDecide, request); }
Decision QuotaLimiter::Take(const QuotaRequest& request) { return Ask(Call::kTake, request); }
Decision QuotaLimiter::Reserve(const QuotaRequest& request) { return Ask(Call::kReserve, request); }
Decision QuotaLimiter::Explain(const QuotaRequest& request) { return Ask(Call::kExplain, request); }

Decision QuotaLimiter::RecordUsage(std::string_view model, int64_t prompt_tokens, int64_t output_tokens,
                                   const Requester& requester) {
  const TokenUse use = TokenUse::Of(prompt_tokens, output_tokens);
  return Ask(Call::kRecord,
             {.model = model, .tokens = use.tokens, .requester = requester, .output_tokens = use.output});
}

// Settles a take with the tokens that were counted for the first request with its key. If the settlement is lost, no
// usage is lost: it stays reserved for a day.
Settlement QuotaLimiter::SettlementOfTake(const Question& question, const ChargeAnswer& answer) {
  return {.reservation = answer.reservation,
          .tokens = answer.again ? answer.again->tokens : question.tokens,
          .money = question.cost.value_or(0)};
}

// The state that Submit needs when the answer of an asynchronous store comes.
struct QuotaLimiter::Waiting {
  explicit Waiting(Call call) : question(call) {}

  std::shared_ptr<const Rules> rules;
  std::string model;
  std::string party;
  Question question;
  std::function<void(Decision)> done;
  TimePoint asked;
};

void QuotaLimiter::Submit(Call call, const QuotaRequest& request, std::function<void(Decision)> done) {
  if (store_.pace() != QuotaStore::Pace::kAsynchronous) return done(Ask(call, request));
  auto waiting = std::make_shared<Waiting>(call);
  waiting->rules = rules();
  const Rules& rules = *waiting->rules;
  Decision refusal;
  if (!waiting->question.Prepare(rules, request, date_, &refusal)) {
    Observe(rules, waiting->question, refusal);
    return done(std::move(refusal));
  }
  waiting->model = request.model;
  if (!waiting->question.is_alias) waiting->question.model = waiting->model;
  waiting->done = std::move(done);
  if (Timed()) waiting->asked = clock_.Now();
  waiting->party = PartyOf(rules, request.requester);
  const auto party = [&waiting] { return waiting->party; };
  const Charge charge = ChargeOf(rules, waiting->question, party);
  Begin();
  store_.Submit(charge, [this, waiting](ChargeAnswer answer) {
    Decision decision;
    const auto party_of = [&waiting] { return waiting->party; };
    OnAnswer(*waiting->rules, waiting->question, party_of, waiting->asked, answer, &decision);
    if (waiting->question.settles() && !answer.reservation.empty()) {
      Begin();
      store_.Submit(SettlementOfTake(waiting->question, answer), [this](const SettlementAnswer&) { End(); });
    }
    waiting->done(std::move(decision));
    End();
  });
}

void QuotaLimiter::Begin() {
  const MutexLock lock(under_way_mutex_);
  ++under_way_;
}

void QuotaLimiter::End() {
  // Notifies under the lock, because the limiter may be destroyed as soon as the lock is free.
  const MutexLock lock(under_way_mutex_);
  if (--under_way_ == 0) all_answered_.notify_all();
}

Decision QuotaLimiter::WaitForCapacity(const QuotaRequest& request, std::optional<TimePoint> deadline,
                                       std::stop_token stop, Call call) {
  while (true) {
    Decision decision = Ask(call, request);
    if (decision.allowed || !decision.retry_after || stop.stop_requested()) return decision;
    if (deadline && *deadline - clock_.Now() < *decision.retry_after) return decision;
    sleeper_.Sleep(*decision.retry_after, stop);
    if (stop.stop_requested()) return decision;
  }
}

}  // namespace weir
