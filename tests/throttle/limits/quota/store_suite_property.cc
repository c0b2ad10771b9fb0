// Compares every store with the oracle: any operations in any order must give the same answers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <sstream>

#include "tests/throttle/limits/quota/sliding_oracle.h"
#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using enum Limit::Unit;
using Mode = Charge::Mode;

enum class Op : uint8_t {
  kTake,
  kHold,
  kForce,
  kForceHold,
  kCommit,
  kRefund,
  kWait,
  kPrune,
  kOtherBucket,
  kExtend,
  kCommitSoFar,
  kHoldNamed
};
constexpr size_t kOps = 12;
constexpr std::array<Duration, 3> kTtls = {seconds(20), seconds(1), std::chrono::minutes(10)};

struct Step {
  int op = 0;
  int user = 0;
  int64_t tokens = 0;
  int wait = 0;   // index in Waits()
  int which = 0;  // chooses a reservation
  int ttl = 0;    // index in kTtls
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  static constexpr std::array<const char*, kOps> kNames = {"take",         "hold",   "force",         "force-hold",
                                                           "commit",       "refund", "wait",          "prune",
                                                           "other bucket", "extend", "commit so far", "hold named"};
  return out << "{" << kNames.at(static_cast<size_t>(step.op)) << " user " << step.user << " tokens " << step.tokens
             << " wait " << step.wait << " which " << step.which << " ttl " << step.ttl << "}";
}

// A failing case shrinks to the first of these.
std::vector<Duration> Waits(Duration resolution) {
  return {Duration(),  resolution,   milliseconds(1500),
          seconds(3),  seconds(5),   seconds(5) - resolution,
          seconds(17), seconds(30),  seconds(60) - resolution,
          seconds(60), seconds(90),  hours(1),
          hours(13),   hours(24),    -resolution,
          -seconds(4), -seconds(45), -hours(2)};
}

struct World {
  ModelQuota quota;
  Limit user;
  Limit all;
  Limit bucket;
  Limit day;  // a period of six hours
  Limit calls;
};

std::ostream& operator<<(std::ostream& out, const World& world) {
  return out << Describe(world.quota) << "; " << Describe(world.user) << "; " << Describe(world.all) << "; "
             << Describe(world.bucket) << "; " << Describe(world.day) << "; " << Describe(world.calls);
}

rc::Gen<World> AnyWorld() {
  return rc::gen::exec([] {
    const auto upto = [](int64_t most) { return *rc::gen::inRange<int64_t>(0, most + 1); };
    const auto zero_or = [&](int64_t least, int64_t span) { return upto(3) == 0 ? 0 : least + upto(span); };
    World world;
    world.quota = {.max_rpm = zero_or(1, 8), .max_tpm = zero_or(20, 200), .max_rpd = zero_or(1, 20)};
    world.user = Window(kRequests, 1 + upto(5), seconds(5));
    const bool of_money = upto(1) == 0;
    world.all = of_money ? Window(kMoney, 90 + upto(600), seconds(90)) : Window(kTokens, 30 + upto(200), seconds(90));
    const int64_t amount = 1 + upto(9);
    const auto unit = [&] { return static_cast<Limit::Unit>(upto(2)); };
    world.day = Day(unit(), 20 + upto(300), {});
    world.bucket = Bucket(unit(), amount, seconds(1 + upto(20)), amount + upto(40));
    world.calls = Window(kCalls, 1 + upto(4), kCallCounts);
    return world;
  });
}

rc::Gen<std::vector<Step>> AnySteps(size_t most, int waits) {
  using rc::gen::inRange;
  using rc::gen::set;
  return rc::gen::resize(static_cast<int>(most),
                         rc::gen::container<std::vector<Step>>(rc::gen::noShrink(rc::gen::build<Step>(
                             set(&Step::op, inRange<int>(0, kOps)), set(&Step::user, inRange<int>(0, 2)),
                             set(&Step::tokens, inRange<int64_t>(0, 60)), set(&Step::wait, inRange<int>(0, waits)),
                             set(&Step::which, inRange<int>(0, 8)), set(&Step::ttl, inRange<int>(0, 3))))));
}

// A model of a store beside the same model in the oracle.
class SideBySide {
 public:
  SideBySide(QuotaStore& store, ManualWallClock& clock, Duration resolution, std::string model, const World& world)
      : store_(store),
        clock_(clock),
        resolution_(resolution),
        model_(std::move(model)),
        quota_(world.quota),
        tiers_{{"user:a", world.user},   {"user:b", world.user}, {"all", world.all},
               {"bucket", world.bucket}, {"day", world.day},     {"calls", world.calls}},
        oracle_(world.quota, {world.user, world.user, world.all, world.bucket, world.day, world.calls}, clock.Now()) {}

  void Do(const Step& step) {
    clock_.Advance(Waits(resolution_).at(static_cast<size_t>(step.wait)));
    oracle_.SetTime(clock_.Now());
    LookAtCalendar();
    Compare();
    switch (static_cast<Op>(step.op)) {
      case Op::kTake:
        return Ask(Mode::kTake, step);
      case Op::kHold:
        return Ask(Mode::kHold, step);
      case Op::kForce:
        return Ask(Mode::kForce, step);
      case Op::kForceHold:
        return Ask(Mode::kForceHold, step);
      case Op::kCommit:
        return Settle(step, step.tokens);
      case Op::kRefund:
        return Settle(step, {});
      case Op::kWait:
        return;
      case Op::kPrune:
        store_.Prune();
        return Compare();
      case Op::kOtherBucket:
        return FollowOtherBucket(step);
      case Op::kExtend:
        return Extend(step, {});
      case Op::kCommitSoFar:
        return Extend(step, step.tokens);
      case Op::kHoldNamed:
        return HoldNamed(step);
    }
  }

 private:
  static constexpr size_t kDayTier = 4;

  // The caller says which day it is. Avoids a day that some stores may have forgotten.
  void LookAtCalendar() {
    const Duration six = hours(6);
    const Duration now = clock_.Now().time_since_epoch();
    Limit& day = tiers_.at(kDayTier).limit;
    day = Day(day.unit, day.amount, WallTime(now - now % six + six));
    oracle_.Follow(kDayTier, day);
    latest_ = std::max(latest_, now);
    knows_day_ = latest_ < day.per + kPeriodKept;
  }

  void Compare() {
    const ChargeAnswer answer = store_.Run(Charge{.model = model_, .requests = 0, .tiers = tiers_});
    RC_ASSERT(answer.usage == oracle_.usage());
    RC_ASSERT(answer.tiers.size() == tiers_.size());
    for (size_t i = 0; i < tiers_.size(); ++i)
      if (i != kDayTier || knows_day_) RC_ASSERT(answer.tiers[i].used == oracle_.UsedOf(i));
    RC_ASSERT(oracle_.GivesNothingTwice());
  }

  // Another rate and burst for the same count. The request is forced, so that every store learns of the change.
  void FollowOtherBucket(const Step& step) {
    Limit& bucket = tiers_.at(3).limit;
    bucket.amount = 1 + step.which;
    bucket.burst = bucket.amount + step.tokens;
    oracle_.Follow(3, bucket);
    Ask(Mode::kForce, step);
  }

  void HoldNamed(const Step& step) {
    const ReservationToken token = NamedReservationToken({model_, std::to_string(step.which % 3)});
    const auto made = named_.find(token);
    if (made == named_.end() || oracle_.MayBeForgotten(made->second)) {
      if (made == named_.end()) Ask(Mode::kHold, step, token);
      return;
    }
    const int id = made->second;
    if (!oracle_.IsMade(id)) {
      replaced_.insert(id);
      named_.erase(made);
      return Ask(Mode::kHold, step, token);
    }
    const ChargeAnswer answer = store_.Run(Charge{.model = model_,
                                                  .mode = Mode::kHold,
                                                  .tokens = step.tokens,
                                                  .money = ListedCost(step.tokens),
                                                  .tiers = tiers_,
                                                  .default_quota = quota_,
                                                  .hold_for = kTtls[0],
                                                  .token = &token,
                                                  .is_call = true});
    RC_ASSERT(answer.again.has_value());
    RC_ASSERT(answer.again->tokens == tokens_.at(id));
    RC_ASSERT(answer.reservation == ReservationOf(id));
    RC_ASSERT(!answer.charged);
    Compare();
  }

  void Ask(Mode mode, const Step& step, std::optional<ReservationToken> token = {}) {
    const Duration hold_for = kTtls.at(static_cast<size_t>(step.ttl));
    const bool holds = mode == Mode::kHold || mode == Mode::kForceHold;
    const bool forces = mode == Mode::kForce || mode == Mode::kForceHold;
    SlidingOracle::Plan plan{.meters = {static_cast<size_t>(step.user), 2, 3, 5}, .before_model = 2};
    if (knows_day_) plan.meters.push_back(kDayTier);
    plan.period_ends = tiers_.at(kDayTier).limit.per;
    std::vector<TierCharge> tiers;
    for (const size_t meter : plan.meters) tiers.push_back(tiers_[meter]);
    const SlidingOracle::Answer expected = oracle_.Ask(step.tokens, plan, holds);
    const ChargeAnswer answer = store_.Run(Charge{.model = model_,
                                                  .mode = mode,
                                                  .tokens = step.tokens,
                                                  .money = ListedCost(step.tokens),
                                                  .tiers = tiers,
                                                  .tiers_before_model = plan.before_model,
                                                  .default_quota = quota_,
                                                  .hold_for = hold_for,
                                                  .token = token ? &*token : nullptr,
                                                  .is_call = holds});
    RC_ASSERT(!answer.again);
    RC_ASSERT(answer.code == expected.code);
    RC_ASSERT(answer.tier == expected.tier);
    RC_ASSERT(answer.retry_after.has_value() == expected.retry_after.has_value());
    if (expected.retry_after) {
      RC_ASSERT(*answer.retry_after >= *expected.retry_after);
      RC_ASSERT(*answer.retry_after < *expected.retry_after + resolution_);
    }
    RC_ASSERT(answer.charged == (answer.fits() || forces));
    RC_ASSERT(answer.reservation.empty() == !(holds && answer.charged));
    if (answer.charged) {
      const int hold = holds ? static_cast<int>(reservations_.size()) + 1 : 0;
      oracle_.Charge(step.tokens, plan, hold, hold_for);
      if (hold != 0) {
        reservations_.push_back(answer.reservation);
        tokens_[hold] = step.tokens;
        if (token) named_[*token] = hold, oracle_.Name(hold);
      }
    }
    RC_ASSERT(answer.usage == oracle_.usage());
  }

  // Chooses one of the newest reservations, perhaps once more. Returns nothing if it was not made, or if some stores
  // may have forgotten it.
  std::optional<int> Chosen(const Step& step) const {
    const size_t back = static_cast<size_t>(step.which);
    if (back >= reservations_.size()) return {};
    const int id = static_cast<int>(reservations_.size() - back);
    return oracle_.MayBeForgotten(id) || replaced_.contains(id) ? std::nullopt : std::optional(id);
  }
  std::string_view ReservationOf(int id) const { return reservations_.at(static_cast<size_t>(id) - 1); }

  void Settle(const Step& step, std::optional<int64_t> tokens) {
    const std::optional<int> id = Chosen(step);
    if (!id) return;
    const SettlementAnswer answer = store_.Run(
        Settlement{.reservation = ReservationOf(*id), .tokens = tokens, .money = ListedCost(tokens.value_or(0))});
    const SlidingOracle::Settled expected = oracle_.Settle(*id, tokens);
    RC_ASSERT(answer.code == expected.code);
    RC_ASSERT(answer.late == expected.late);
    RC_ASSERT(answer.again == expected.again);
    Compare();
  }

  void Extend(const Step& step, std::optional<int64_t> tokens) {
    const std::optional<int> id = Chosen(step);
    if (!id) return;
    const Duration by = kTtls.at(static_cast<size_t>(step.ttl));
    const SettlementAnswer answer = store_.Run(Settlement{
        .reservation = ReservationOf(*id), .tokens = tokens, .extend = by, .money = ListedCost(tokens.value_or(0))});
    RC_ASSERT(answer.code == oracle_.Extend(*id, by, tokens));
    Compare();
  }

  QuotaStore& store_;
  ManualWallClock& clock_;
  const Duration resolution_;
  const std::string model_;
  const ModelQuota quota_;
  std::vector<TierCharge> tiers_;
  SlidingOracle oracle_;
  Duration latest_{};
  bool knows_day_ = true;
  std::vector<std::string> reservations_;
  std::map<int, int64_t> tokens_;  // tokens that each reservation was made with
  std::map<ReservationToken, int> named_;
  std::set<int> replaced_;  // by a later reservation of the same name
};

TEST_P(QuotaStoreSuite, AgreesWithTheOracle) {
  const size_t most_steps = std::min<size_t>(100, store().exact_entries() / 2);  // a step makes at most two entries
  const int waits = static_cast<int>(Waits(GetParam().resolution).size());
  int round = 0;
  const auto property = [&] {
    const World world = *AnyWorld();
    const std::vector<Step> steps = *AnySteps(most_steps, waits);
    clock_.Set(kStart);
    SideBySide both(store(), clock_, GetParam().resolution, "model-" + std::to_string(++round), world);
    for (const Step& step : steps) both.Do(step);
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = GetParam().property_rounds;
  const auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata(), params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << text.str();
}

// Entries that are closer than the granule are merged into one, with the time of the last. Seen from outside, an entry
// may stay in the window for a granule longer.
TEST_P(QuotaStoreSuite, AboveTheExactEntriesItRefusesAGranuleLongerAtMost) {
  const Duration granule = store().granule(kMinute);
  const auto exact = static_cast<int64_t>(store().exact_entries());
  const ModelQuota quota{.max_tpm = 30 * exact};  // 20 tokens per entry on average
  const Duration step = std::chrono::floor<std::chrono::microseconds>(kMinute / (2 * exact));
  std::mt19937_64 random(exact);
  std::vector<ModelState::Entry> taken;
  size_t oldest = 0, oldest_late = 0;  // the first entries that still count, exactly and with a granule more
  int64_t used = 0, used_late = 0;
  int refused = 0;
  for (int64_t i = 0; i < 4 * exact; ++i) {
    clock_.Advance(step * static_cast<int64_t>(random() % 3));
    for (; oldest < taken.size() && clock_.Now() - taken[oldest].time >= kMinute; ++oldest)
      used -= taken[oldest].amount;
    for (; oldest_late < taken.size() && clock_.Now() - taken[oldest_late].time >= kMinute + granule; ++oldest_late)
      used_late -= taken[oldest_late].amount;
    const auto tokens = static_cast<int64_t>(1 + random() % 39);
    if (Take("gpt-4o", {.tokens = tokens, .quota = quota}).fits()) {
      ASSERT_LE(used + tokens, quota.max_tpm) << "at " << i;
      taken.push_back({clock_.Now(), tokens});
      used += tokens;
      used_late += tokens;
    } else {
      ASSERT_GT(used_late + tokens, quota.max_tpm) << "at " << i;
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(static_cast<int64_t>(taken.size()), exact);
  EXPECT_LE(UsageOf("gpt-4o").tpm, quota.max_tpm);
}

}  // namespace
}  // namespace weir
