#include "throttle/limits/quota/redis/redis_store.h"

#include <algorithm>
#include <future>
#include <utility>

#include "throttle/limits/quota/nearly_full.h"
#include "throttle/limits/quota/redis/redis_script.h"
#include "throttle/limits/quota/redis/redis_store_rep.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {
namespace {

// Submits the request, and waits for the answer.
template <typename Answer, typename Question>
Answer Await(RedisQuotaStore* store, const Question& question) {
  std::promise<Answer> answer;
  store->Submit(question, [&answer](Answer one) { answer.set_value(std::move(one)); });
  return answer.get_future().get();
}

// Bounds of the owed charges (redis_store.h).
constexpr size_t kMostOwed = 10'000;
constexpr size_t kGivenBackAtOnce = 100;
// How long after a late reply the store tries to release the owed charge. Redis remembers a release for longer
// (kSettledKept).
constexpr Duration kOwedFor = std::chrono::minutes(30);
constexpr Duration kLongestHold = 366 * kDay;
}  // namespace

RedisQuotaStore::RedisQuotaStore(RedisEndpoint endpoint, RedisStoreOptions options)
    : rep_(std::make_unique<Rep>(std::move(endpoint), std::move(options))) {}

RedisQuotaStore::~RedisQuotaStore() = default;

std::string RedisQuotaStore::name() const { return Describe(rep_->endpoint); }
size_t RedisQuotaStore::exact_entries() const { return kRedisExactEntries; }
Duration RedisQuotaStore::granule(Duration window) const { return window / kRedisExactEntries; }

bool RedisQuotaStore::CountsAcrossModels() const { return rep_->endpoint.kind != RedisEndpoint::Kind::kCluster; }

// --- Decisions

ChargeAnswer RedisQuotaStore::Run(const Charge& charge) { return Await<ChargeAnswer>(this, charge); }

SettlementAnswer RedisQuotaStore::Run(const Settlement& settlement) {
  return Await<SettlementAnswer>(this, settlement);
}

void RedisQuotaStore::Submit(const Charge& charge, std::function<void(ChargeAnswer)> done) {
  std::string reservation;
  const bool may_be_again = charge.holds() && charge.token;  // then it is not released; its caller may ask again
  if (charge.holds())
    reservation = FormatReservationId(may_be_again ? *charge.token : RandomReservationToken(), charge.model);
  RedisMessages::Command command = rep_->messages.FormatCharge(charge, reservation);
  RedisCall::Late late;
  if (charge.mode == Charge::Mode::kTake)
    late = [rep = rep_.get()](RedisCall& call, const redisReply& reply) { rep->OnLateCharge(&call, reply, {}); };
  if (charge.holds() && !may_be_again) {
    late = [rep = rep_.get(), reservation](RedisCall& call, const redisReply& reply) {
      rep->OnLateCharge(&call, reply, reservation);
    };
  }
  rep_->core.Submit(
      std::move(command),
      [rep = rep_.get(),
       asked = Rep::Asked{charge.tiers.size(), std::move(reservation), std::min(charge.hold_for, kLongestHold),
                          may_be_again},
       done = std::move(done)](const RedisOutcome& outcome) { rep->OnCharged(outcome, asked, done); },
      std::move(late));
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
    if (!outcome.answered() && outcome.sent && !asked.reservation.empty() && !asked.may_be_again)
      Remember({.id = asked.reservation, .until = core.Now() + asked.hold_for});
    return done(std::move(away));
  }
  Succeed(charged->expired);
  dropped += charged->dropped;
  if (charged->name_lost) NoteNameLost();
  if (charged->fullness >= 0) {
    const bool nearly = charged->fullness >= kNearlyFull;
    charged->answer.nearly_full = nearly;
    nearly_full_until = nearly ? (core.Now() + kWarnedFor).time_since_epoch().count() : 0;
  }
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
  if (settled->name_lost) NoteNameLost();
  done(std::move(settled->answer));
}

std::string RedisQuotaStore::Rep::Fail(const RedisOutcome& outcome) {
  ++failures;
  std::string text =
      IsGood(outcome) ? Describe(endpoint) + ": it answers what the script does not say" : outcome.problem;
  const MutexLock lock(problem_mutex);
  problem = text;
  if (well.exchange(false)) core.CheckSoon();
  return text;
}

void RedisQuotaStore::Rep::Succeed(uint64_t expired_now) {
  if (expired_now > 0) expired += expired_now;
  if (well) return;
  const MutexLock lock(problem_mutex);
  problem.clear();
  well = true;
}

void RedisQuotaStore::Rep::OnWell() {
  Succeed();
  GiveBackOwed();
}

// --- Owed charges (redis_store.h)

void RedisQuotaStore::Rep::OnLateCharge(RedisCall* call, const redisReply& reply, const std::string& reservation) {
  if (!RedisMessages::SaysCharged(reply)) return;
  Owed one{.id = reservation, .until = core.Now() + kOwedFor};
  if (reservation.empty()) {
    one.id = FormatReservationId(RandomReservationToken(), {});
    one.take = {.text = std::move(call->command), .slot = call->slot};
    one.answer = TextOf(reply);
  }
  Remember(std::move(one));
  GiveBackOwed();
}

void RedisQuotaStore::Rep::Remember(Owed one) {
  if (owed.size() >= kMostOwed) owed.pop_front();
  owed.push_back(std::move(one));
}

// Redis has usually executed a charge that was sent earlier on another connection before this release. If it has not,
// the late reply to the charge makes it owed again.
void RedisQuotaStore::Rep::GiveBackOwed() {
  if (giving_back > 0) return;
  give_back_failed = false;
  std::vector<Owed> now;
  for (; !owed.empty() && now.size() < kGivenBackAtOnce; owed.pop_front())
    if (owed.front().until > core.Now()) now.push_back(std::move(owed.front()));
  giving_back = now.size();
  for (Owed& one : now) {
    RedisMessages::Command command = one.answer.empty() ? *messages.FormatSettlement({.reservation = one.id})
                                                        : messages.FormatGiveBack(one.take, one.answer, one.id);
    core.Submit(std::move(command),
                [this, one = std::move(one)](const RedisOutcome& outcome) { OnGivenBack(outcome, one); });
  }
}

void RedisQuotaStore::Rep::OnGivenBack(const RedisOutcome& outcome, const Owed& one) {
  if (!IsGood(outcome)) {
    give_back_failed = true;
    Remember(one);
  } else if (const auto settled = RedisMessages::ParseSettlement(*outcome.reply, {})) {
    expired += settled->expired;
  }
  if (--giving_back > 0 || owed.empty()) return;
  give_back_failed ? core.CheckSoon() : GiveBackOwed();
}

StoreHealth RedisQuotaStore::Health() const {
  const RedisTopologyHealth servers = rep_->core.ServersHealth();
  using Decides = StoreHealth::Decides;
  StoreHealth health{
      .breaker = static_cast<StoreHealth::Breaker>(servers.breaker),  // the same states, in the same order
      .decides = servers.breaker == RedisBreaker::State::kClosed ? Decides::kAll
                 : servers.some_answer                           ? Decides::kSome
                                                                 : Decides::kNone,
      .failures = rep_->failures,
      .reconnects = servers.reconnects,
      .expired_reservations = rep_->expired,
      .dropped_entries = rep_->dropped,
  };
  const MutexLock lock(rep_->problem_mutex);
  health.problem = rep_->problem;
  // The problem is empty if no call has asked the server yet, or if other servers have answered since.
  if (health.problem.empty() && servers.breaker != RedisBreaker::State::kClosed) health.problem = servers.problem;
  health.warning = servers.warning;
  const int64_t now = rep_->core.Now().time_since_epoch().count();
  if (health.warning.empty() && now < rep_->nearly_full_until) health.warning = kNearlyFullWarning;
  if (health.warning.empty() && now < rep_->name_lost_until) health.warning = kNamesLostWarning;
  return health;
}

}  // namespace weir
