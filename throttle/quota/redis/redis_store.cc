#include "throttle/quota/redis/redis_store.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "throttle/quota/redis/redis_script.h"
#include "throttle/quota/redis/redis_store_rep.h"
#include "throttle/quota/reservation_id.h"

namespace weir {
namespace {

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

}  // namespace

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
  // Nobody has asked it anything yet, or others have answered since.
  if (health.problem.empty() && servers.breaker != StoreHealth::Breaker::kClosed) health.problem = servers.problem;
  health.warning = servers.warning;
  return health;
}

}  // namespace weir
