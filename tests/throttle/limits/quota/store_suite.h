// QuotaStoreSuite: tests of the promises of QuotaStore, which every store must pass. A test program links
// store_suite*.cc and names its stores:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, QuotaStoreSuite, testing::Values(StoreKind{.name = "memory", .open = OpenMemory}),
//                            NameOfKind);
//
// The suite also requires the following, which quota_store.h leaves open:
// * A charge of no tokens or no requests always fits the limit of tokens or requests, whatever the usage is. The store
//   makes no entry for it.
// * A model with an unlimited quota answers kUnlimited if all tiers let it pass, and an unknown model kUnknownModel. If
//   a tier refuses an unknown model, it answers kTierExceeded.
// * retry_after assumes that the open reservations use all that they reserved.
// * A reservation has expired when its deadline has come (t0 + hold_for <= now). If the clock steps back, t0 becomes
//   now at most. A later commit is charged at the time of the commit.
// * If a call finds that an entry has left its window or day, the entry does not come back when the clock steps back.
// * If all requests of a day were released, the day has not begun: the next request begins a day.
// * kTooManyNames: the charge needs a model or a tier key for which there is no room. Any other refusal comes first.
//   kForce charges the model's own counts if there is room for the model, and those tiers for which there is room.
// * A bucket that was never used is full, so a bucket may be forgotten whenever it is full.
// * If the limit of a bucket changes, it refills at the old rate up to the next charge, and then at the new rate.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "config/manual_clock.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

struct StoreBounds {
  size_t max_models = 100'000;
  size_t max_tier_keys = 1'000'000;
  size_t max_named_ended = kMostNamedEnded;
};

// An empty store, and the objects that a test of it needs.
struct StoreUnderTest {
  std::shared_ptr<void> keep = {};  // lives longer than the store: its directory, its server
  std::unique_ptr<QuotaStore> store;
  // Opens another handle on the same state, as another process would. Null if the state is not shared.
  std::function<std::unique_ptr<QuotaStore>()> open_another = {};
};

struct StoreKind {
  std::string name;  // part of the tests' names: letters and digits
  std::function<StoreUnderTest(const WallClock& clock, const StoreBounds& bounds)> open;
  Duration resolution{1};     // the store's time resolution; the suite uses whole multiples of it only
  int property_rounds = 100;  // random sequences for each property
  bool bounds_whole = true;   // false: the store limits names in several parts, so the suite cannot predict a refusal
  bool default_quota_frees = true;  // false: a model whose quota comes only with its charges takes a place, too
  bool forgets_at_once = true;      // false: until their keys expire, names take room and models with tiers are listed
};
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }
inline void PrintTo(const ModelUsage& usage, std::ostream* out) {
  *out << "rpm " << usage.rpm << ", tpm " << usage.tpm << ", rpd " << usage.rpd << " since "
       << usage.day_start.time_since_epoch().count() << ", open " << usage.open_reservations;
}
inline std::string NameOfKind(const testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

// A request as tests write it: Take("gpt-4o", {.tokens = 900, .quota = {{.max_tpm = 1000}}}).
struct Ask {
  int64_t tokens = 0;
  int64_t money = 0;
  std::optional<ModelQuota> quota = {};  // the default quota
  int64_t requests = 1;
  std::vector<TierCharge> tiers = {};
  size_t tiers_before_model = 0;
  bool refuse_unknown = false;
  Duration hold_for = std::chrono::seconds(10);
  std::optional<ReservationToken> token = {};
  bool is_call = true;  // true: the request counts as a call, if it can be one
};

class QuotaStoreSuite : public testing::TestWithParam<StoreKind> {
 protected:
  static constexpr WallTime kStart{std::chrono::seconds(1'771'597'921)};

  void SetUp() override { Open({}); }
  // Opens another empty store with these bounds.
  void Open(const StoreBounds& bounds);

  QuotaStore& store() { return *tested_.store; }
  ChargeAnswer Run(Charge::Mode mode, std::string_view model, const Ask& ask);
  ChargeAnswer Peek(std::string_view model, const Ask& ask) { return Run(Charge::Mode::kPeek, model, ask); }
  ChargeAnswer Take(std::string_view model, const Ask& ask) { return Run(Charge::Mode::kTake, model, ask); }
  ChargeAnswer Hold(std::string_view model, const Ask& ask) { return Run(Charge::Mode::kHold, model, ask); }
  ChargeAnswer ForceHold(std::string_view model, const Ask& ask) { return Run(Charge::Mode::kForceHold, model, ask); }
  ChargeAnswer Force(std::string_view model, const Ask& ask) { return Run(Charge::Mode::kForce, model, ask); }
  SettlementAnswer Commit(std::string_view reservation, int64_t tokens, int64_t money = 0);
  SettlementAnswer CommitSoFar(std::string_view reservation, int64_t tokens, int64_t money = 0);  // for 10 s more
  SettlementAnswer Refund(std::string_view reservation);
  SettlementAnswer Extend(std::string_view reservation, Duration by);
  ModelUsage UsageOf(std::string_view model);
  int64_t UsedOf(std::string_view model, const TierCharge& tier);

  // Expects a refusal now and until one step of the resolution before `retry_after` has passed, and no refusal after
  // the whole `retry_after`. Does not set the clock back.
  void ExpectFitsAfterRetry(std::string_view model, const Ask& ask);

  ManualWallClock clock_{kStart};
  StoreUnderTest tested_;
};

Limit Window(Limit::Unit unit, int64_t amount, Duration per);
Limit Bucket(Limit::Unit unit, int64_t amount, Duration per, int64_t burst);
Limit Day(Limit::Unit unit, int64_t amount, WallTime ends);  // another end hour is another date

}  // namespace weir
