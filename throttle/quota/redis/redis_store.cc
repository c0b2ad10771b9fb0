#include "throttle/quota/redis/redis_store.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "throttle/quota/redis/redis_core.h"
#include "throttle/quota/redis/redis_messages.h"
#include "throttle/quota/redis/redis_script.h"
#include "throttle/quota/reservation_id.h"

namespace weir {
namespace {

constexpr size_t kModelsAtOnce = 128;

// An answer that a thread waits for.
template <typename Answer>
class Awaited {
 public:
  void Set(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    changed_.notify_one();
  }
  Answer Get() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return answer_.has_value(); });
    return *std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Answer> answer_;
};

// A reservation whose making was not answered, and who has its id but this store?
constexpr size_t kMostUnanswered = 10'000;
constexpr size_t kGivenBackAtOnce = 100;
constexpr Duration kLongestHold = 366 * kDay;

struct Unanswered {
  std::string reservation;
  TimePoint deadline;
};

bool IsGood(const RedisOutcome& outcome) { return outcome.answered() && !IsError(*outcome.reply); }

}  // namespace

struct RedisQuotaStore::Rep {
  Rep(RedisEndpoint endpoint_, RedisStoreOptions options_)
      : endpoint(std::move(endpoint_)),
        options(std::move(options_)),
        messages(options),
        core(endpoint, options, messages.LoadScripts(), [this] { OnWell(); }) {}

  // What a charge is remembered by until its answer.
  struct Asked {
    size_t tiers = 0;
    std::string reservation;
    Duration hold_for{};
  };
  void OnCharged(const RedisOutcome& outcome, const Asked& asked, const std::function<void(ChargeAnswer)>& done);
  void OnSettled(const RedisOutcome& outcome, const std::string& model,
                 const std::function<void(SettlementAnswer)>& done);
  std::string Fail(const RedisOutcome& outcome);
  void Succeed(uint64_t expired_now = 0);
  void OnWell();
  void Remember(Unanswered one);
  void GiveBackUnanswered();
  void OnGivenBack(const RedisOutcome& outcome, const Unanswered& one);
  Result<std::vector<std::string>> FindModels();
  Status FindModelsOf(const std::shared_ptr<RedisServer>& server, std::set<std::string, std::less<>>* models);
  Status KeepThoseThatCount(std::span<const std::string> models, std::vector<std::string>* kept);
  Status ReadStates(std::span<const std::string> models, QuotaState* state);
  Status AskInTurn(std::vector<RedisMessages::Command> commands);
  Result<WallTime> Now();

  const RedisEndpoint endpoint;
  const RedisStoreOptions options;
  const RedisMessages messages;
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> expired{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> well{true};
  mutable std::mutex problem_mutex;
  std::string problem;
  std::deque<Unanswered> unanswered;  // the loop's thread's, as the next two
  size_t giving_back = 0;
  bool give_back_failed = false;
  RedisCore core;  // the last: what waits is answered by the members above
};

RedisQuotaStore::RedisQuotaStore(RedisEndpoint endpoint, RedisStoreOptions options)
    : rep_(std::make_unique<Rep>(std::move(endpoint), std::move(options))) {}

RedisQuotaStore::~RedisQuotaStore() = default;

std::string RedisQuotaStore::name() const { return Describe(rep_->endpoint); }
size_t RedisQuotaStore::exact_entries() const { return kRedisExactEntries; }
Duration RedisQuotaStore::granule(Duration window) const { return window / kRedisExactEntries; }

// --- Decisions

ChargeAnswer RedisQuotaStore::Run(const Charge& charge) {
  Awaited<ChargeAnswer> awaited;
  Submit(charge, [&awaited](ChargeAnswer answer) { awaited.Set(std::move(answer)); });
  return awaited.Get();
}

SettlementAnswer RedisQuotaStore::Run(const Settlement& settlement) {
  Awaited<SettlementAnswer> awaited;
  Submit(settlement, [&awaited](SettlementAnswer answer) { awaited.Set(std::move(answer)); });
  return awaited.Get();
}

void RedisQuotaStore::Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) {
  std::string reservation;
  if (charge.holds()) reservation = FormatReservationId(RandomReservationToken(), charge.model);
  RedisMessages::Command command = rep_->messages.FormatCharge(charge, reservation);
  rep_->core.Submit(
      std::move(command),
      [rep = rep_.get(),
       asked = Rep::Asked{charge.tiers.size(), std::move(reservation), std::min(charge.hold_for, kLongestHold)},
       done = std::move(done)](const RedisOutcome& outcome) { rep->OnCharged(outcome, asked, done); });
}

void RedisQuotaStore::Submit(const Settlement& settlement, std::function<void(SettlementAnswer)> done) {
  std::optional<RedisMessages::Command> command = rep_->messages.FormatSettlement(settlement);
  if (!command) return done({.code = SettlementAnswer::Code::kUnknown});
  const std::optional<ReservationId> id = ParseReservationId(settlement.reservation);
  rep_->core.Submit(*std::move(command), [rep = rep_.get(), model = id->model, done = std::move(done)](
                                             const RedisOutcome& outcome) { rep->OnSettled(outcome, model, done); });
}

void RedisQuotaStore::Rep::OnCharged(const RedisOutcome& outcome, const Asked& asked,
                                     const std::function<void(ChargeAnswer)>& done) {
  std::optional<RedisMessages::Charged> charged;
  if (IsGood(outcome)) charged = RedisMessages::ParseCharge(*outcome.reply, asked.tiers, asked.reservation);
  if (!charged) {
    ChargeAnswer away{.code = QuotaCode::kStoreUnavailable};
    away.problem = Fail(outcome);
    if (!outcome.answered() && outcome.sent && !asked.reservation.empty())
      Remember({.reservation = asked.reservation, .deadline = core.Now() + asked.hold_for});
    return done(std::move(away));
  }
  Succeed(charged->expired);
  dropped += charged->dropped;
  done(std::move(charged->answer));
}

void RedisQuotaStore::Rep::OnSettled(const RedisOutcome& outcome, const std::string& model,
                                     const std::function<void(SettlementAnswer)>& done) {
  std::optional<RedisMessages::Settled> settled;
  if (IsGood(outcome)) settled = RedisMessages::ParseSettlement(*outcome.reply, model);
  if (!settled) {
    SettlementAnswer away{.code = SettlementAnswer::Code::kStoreUnavailable};
    away.problem = Fail(outcome);
    return done(std::move(away));
  }
  Succeed(settled->expired);
  done(std::move(settled->answer));
}

std::string RedisQuotaStore::Rep::Fail(const RedisOutcome& outcome) {
  ++failures;
  std::string text =
      IsGood(outcome) ? Describe(endpoint) + ": it answers what the script does not say" : outcome.problem;
  const std::lock_guard lock(problem_mutex);
  problem = text;
  if (well.exchange(false)) core.CheckSoon();
  return text;
}

void RedisQuotaStore::Rep::Succeed(uint64_t expired_now) {
  if (expired_now > 0) expired += expired_now;
  if (well) return;
  const std::lock_guard lock(problem_mutex);
  problem.clear();
  well = true;
}

void RedisQuotaStore::Rep::OnWell() {
  Succeed();
  GiveBackUnanswered();
}

// --- Reservations that may have been made, though no answer came

void RedisQuotaStore::Rep::Remember(Unanswered one) {
  if (unanswered.size() >= kMostUnanswered) unanswered.pop_front();
  unanswered.push_back(std::move(one));
}

// What was sent before on another connection is executed before: whoever answers has read it.
void RedisQuotaStore::Rep::GiveBackUnanswered() {
  if (giving_back > 0) return;
  give_back_failed = false;
  std::vector<Unanswered> now;
  for (; !unanswered.empty() && now.size() < kGivenBackAtOnce; unanswered.pop_front())
    if (unanswered.front().deadline > core.Now()) now.push_back(std::move(unanswered.front()));
  giving_back = now.size();
  for (Unanswered& one : now) {
    RedisMessages::Command command = *messages.FormatSettlement({.reservation = one.reservation});
    core.Submit(std::move(command),
                [this, one = std::move(one)](const RedisOutcome& outcome) { OnGivenBack(outcome, one); });
  }
}

void RedisQuotaStore::Rep::OnGivenBack(const RedisOutcome& outcome, const Unanswered& one) {
  if (!IsGood(outcome)) {
    give_back_failed = true;
    Remember(one);
  } else if (const auto settled = RedisMessages::ParseSettlement(*outcome.reply, {})) {
    expired += settled->expired;
  }
  if (--giving_back > 0 || unanswered.empty()) return;
  give_back_failed ? core.CheckSoon() : GiveBackUnanswered();
}

// --- Quotas, and all that there is

Status RedisQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota) {
    if (Status checked = CheckQuota(model, *quota); !checked.ok()) return checked;
  }
  return rep_->AskInTurn({rep_->messages.FormatSetQuota(model, quota)});
}

Status RedisQuotaStore::Reset(std::string_view model) {
  if (!model.empty()) return rep_->AskInTurn({rep_->messages.FormatReset(model)});
  const Result<std::vector<std::string>> models = rep_->FindModels();
  if (!models.ok()) return models.status();
  std::vector<RedisMessages::Command> commands;
  for (const std::string& one : models.value()) commands.push_back(rep_->messages.FormatReset(one));
  return rep_->AskInTurn(std::move(commands));
}

Result<std::vector<std::string>> RedisQuotaStore::Models() {
  const Result<std::vector<std::string>> found = rep_->FindModels();
  if (!found.ok()) return found.status();
  std::vector<std::string> models;
  std::span<const std::string> left = found.value();
  while (!left.empty()) {
    const size_t count = std::min(left.size(), kModelsAtOnce);
    const Status kept = rep_->KeepThoseThatCount(left.first(count), &models);
    if (!kept.ok()) return kept;
    left = left.subspan(count);
  }
  return models;
}

Result<QuotaState> RedisQuotaStore::Export() {
  const Result<std::vector<std::string>> models = rep_->FindModels();
  if (!models.ok()) return models.status();
  QuotaState state;
  std::span<const std::string> left = models.value();
  while (!left.empty()) {
    const size_t count = std::min(left.size(), kModelsAtOnce);
    const Status read = rep_->ReadStates(left.first(count), &state);
    if (!read.ok()) return read;
    left = left.subspan(count);
  }
  return state;
}

Status RedisQuotaStore::Import(const QuotaState& state) {
  for (const auto& [model, counts] : state) {
    if (!counts.quota) continue;
    if (Status checked = CheckQuota(model, *counts.quota); !checked.ok()) return checked;
  }
  const Result<std::vector<std::string>> models = rep_->FindModels();
  if (!models.ok()) return models.status();
  const Result<WallTime> now = rep_->Now();
  if (!now.ok()) return now.status();
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models.value())
    if (!state.contains(model)) commands.push_back(rep_->messages.FormatRestore(model, {}, now.value()));
  for (const auto& [model, counts] : state)
    commands.push_back(rep_->messages.FormatRestore(model, counts, now.value()));
  return rep_->AskInTurn(std::move(commands));
}

Status RedisQuotaStore::Rep::AskInTurn(std::vector<RedisMessages::Command> commands) {
  for (size_t at = 0; at < commands.size(); at += kModelsAtOnce) {
    const auto from = commands.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = commands.begin() + static_cast<std::ptrdiff_t>(std::min(commands.size(), at + kModelsAtOnce));
    for (const RedisOutcome& outcome : core.AskAll({std::move_iterator(from), std::move_iterator(to)}, {}))
      if (!IsGood(outcome)) return Status::Error(Fail(outcome));
  }
  Succeed();
  return {};
}

// By what a charge of nothing says of each: its keys may stand for a while after the last entry that counts.
Status RedisQuotaStore::Rep::KeepThoseThatCount(std::span<const std::string> models, std::vector<std::string>* kept) {
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models)
    commands.push_back(messages.FormatCharge({.model = model, .requests = 0}, {}));
  const std::vector<RedisOutcome> outcomes = core.AskAll(std::move(commands), {});
  for (size_t i = 0; i < models.size(); ++i) {
    std::optional<RedisMessages::Charged> charged;
    if (IsGood(outcomes[i])) charged = RedisMessages::ParseCharge(*outcomes[i].reply, 0, {});
    if (!charged) return Status::Error(Fail(outcomes[i]));
    expired += charged->expired;
    const ModelUsage& usage = charged->answer.usage;
    if (charged->answer.quota || usage.rpm > 0 || usage.tpm > 0 || usage.rpd > 0) kept->push_back(models[i]);
  }
  Succeed();
  return {};
}

// Each model is asked for its state, which gives back what has expired, and says the time; and is then read.
Status RedisQuotaStore::Rep::ReadStates(std::span<const std::string> models, QuotaState* state) {
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models) {
    commands.push_back(messages.FormatCharge({.model = model, .requests = 0}, {}));
    commands.push_back(messages.FormatRead(model));
  }
  const std::vector<RedisOutcome> outcomes = core.AskAll(std::move(commands), {});
  for (size_t i = 0; i < models.size(); ++i) {
    const RedisOutcome& peeked = outcomes[2 * i];
    const RedisOutcome& read = outcomes[2 * i + 1];
    for (const RedisOutcome* outcome : {&peeked, &read})
      if (!IsGood(*outcome)) return Status::Error(Fail(*outcome));
    const std::optional<RedisMessages::Charged> charged = RedisMessages::ParseCharge(*peeked.reply, 0, {});
    if (!charged) return Status::Error(Fail(peeked));
    expired += charged->expired;
    if (std::optional<ModelState> found = RedisMessages::ParseState(*read.reply, charged->now))
      state->emplace(models[i], *std::move(found));
  }
  Succeed();
  return {};
}

Result<std::vector<std::string>> RedisQuotaStore::Rep::FindModels() {
  Result<RedisTopology::Servers> masters = core.Masters();
  if (!masters.ok()) return Status::Error(Fail({.problem = masters.status().message()}));
  std::set<std::string, std::less<>> models;
  Status status;
  for (const std::shared_ptr<RedisServer>& server : masters.value())
    if (status.ok()) status = FindModelsOf(server, &models);
  core.Release(std::move(masters).value());
  if (!status.ok()) return status;
  Succeed();
  return std::vector<std::string>(models.begin(), models.end());
}

Status RedisQuotaStore::Rep::FindModelsOf(const std::shared_ptr<RedisServer>& server,
                                          std::set<std::string, std::less<>>* models) {
  std::string cursor = "0";
  do {
    const RedisOutcome outcome = core.Ask({.text = messages.FormatScan(cursor)}, server);
    if (!IsGood(outcome)) return Status::Error(Fail(outcome));
    const redisReply& reply = *outcome.reply;
    if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 2) return Status::Error(Fail(outcome));
    cursor = TextOf(*reply.element[0]);
    for (size_t i = 0; i < reply.element[1]->elements; ++i)
      if (std::optional<std::string> model = messages.ModelOf(TextOf(*reply.element[1]->element[i])))
        models->insert(*std::move(model));
  } while (cursor != "0");
  return {};
}

Result<WallTime> RedisQuotaStore::Rep::Now() {
  if (options.clock) return options.clock->Now();
  // The script's time, as a model that there is not is told it.
  const RedisOutcome outcome = core.Ask(messages.FormatCharge({.model = "-", .requests = 0}, {}));
  std::optional<RedisMessages::Charged> charged;
  if (IsGood(outcome)) charged = RedisMessages::ParseCharge(*outcome.reply, 0, {});
  if (!charged) return Status::Error(Fail(outcome));
  Succeed();
  return charged->now;
}

StoreHealth RedisQuotaStore::Health() const {
  const RedisTopologyHealth servers = rep_->core.ServersHealth();
  StoreHealth health{
      .breaker = servers.breaker,
      .failures = rep_->failures,
      .reconnects = servers.reconnects,
      .expired_reservations = rep_->expired,
      .dropped_entries = rep_->dropped,
  };
  const std::lock_guard lock(rep_->problem_mutex);
  health.problem = rep_->problem;
  health.warning = servers.warning;
  return health;
}

}  // namespace weir
