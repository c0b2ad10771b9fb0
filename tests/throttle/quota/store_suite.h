// The promises of QuotaStore, as tests that every store passes. A test program links store_suite*.cc and names its
// stores:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, QuotaStoreSuite, testing::Values(StoreKind{.name = "memory", .open = OpenMemory}),
//                            NameOfKind);
//
// What the suite asks for beyond the letter of quota_store.h, where that leaves it open:
//  * Of what is not asked for (no tokens, no requests) there is always room, whatever is used; nothing is entered.
//  * A model whose quota is unlimited answers kUnlimited when all tiers let it pass, an unknown one kUnknownModel; an
//    unknown one that a tier refuses answers kTierExceeded.
//  * retry_after presumes that the open reservations have used what they reserved.
//  * A reservation has expired when its deadline has come (t0 + hold_for <= now); with the clock back, t0 is at most
//    now. Whoever commits it after that is charged as of then.
//  * What has left its window, or its day, at one look at it has left for good: it does not come back when the clock
//    steps back after that.
//  * A day of which all requests were given back has not begun: the next request begins one.
//  * kTooManyNames: what would be charged needs a model or a tier key for which there is no room. What refuses anyway
//    says so first. kForce: the model's own counts where there is room for it, and those tiers for which there is.
//  * A bucket that was never used is full, and so may be forgotten whenever it is.
//  * A bucket is paid off up to now at the rate of the limit that it was last charged by; then it follows the new one.
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
#include "throttle/quota/quota_store.h"

namespace weir {

struct StoreBounds {
  size_t max_models = 100'000;
  size_t max_tier_keys = 1'000'000;
  size_t max_named_ended = kMostNamedEnded;
};

// A store that is empty, by the clock that it was opened with.
struct StoreUnderTest {
  std::shared_ptr<void> keep = {};  // what outlives the store: its directory, its server
  std::unique_ptr<QuotaStore> store;
  // Another handle on the same state, as another process would have; null where the state is not shared.
  std::function<std::unique_ptr<QuotaStore>()> open_another = {};
};

struct StoreKind {
  std::string name;  // in the names of the tests: letters and digits
  std::function<StoreUnderTest(const WallClock& clock, const StoreBounds& bounds)> open;
  Duration resolution{1};       // of its times; all that the suite does is at whole multiples of it
  int property_rounds = 100;    // random sequences for each property
  bool bounds_whole = true;     // false: names are bounded in parts, by which the suite cannot go
  bool forgets_at_once = true;  // false: names take room, and models of tiers are listed, until their keys expire
};
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }
inline void PrintTo(const ModelUsage& usage, std::ostream* out) {
  *out << "rpm " << usage.rpm << ", tpm " << usage.tpm << ", rpd " << usage.rpd << " since "
       << usage.day_start.time_since_epoch().count() << ", open " << usage.open_reservations;
}
inline std::string NameOfKind(const testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

// How a request for a decision reads in a test: Take("gpt-4o", {.tokens = 900, .quota = {{.max_tpm = 1000}}}).
struct Ask {
  int64_t tokens = 0;
  int64_t money = 0;
  std::optional<ModelQuota> quota = {};  // by default
  int64_t requests = 1;
  std::vector<TierCharge> tiers = {};
  size_t tiers_before_model = 0;
  bool refuse_unknown = false;
  Duration hold_for = std::chrono::seconds(10);
  std::optional<ReservationToken> token = {};
  bool is_call = true;  // where it may be one
};

class QuotaStoreSuite : public testing::TestWithParam<StoreKind> {
 protected:
  static constexpr WallTime kStart{std::chrono::seconds(1'771'597'921)};

  void SetUp() override { Open({}); }
  // Another fresh store, with these bounds.
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

  // That it is refused now, not one step of the resolution before `retry_after` has passed, and not then. Leaves the
  // clock there.
  void ExpectFitsAfterRetry(std::string_view model, const Ask& ask);

  ManualWallClock clock_{kStart};
  StoreUnderTest tested_;
};

Limit Window(Limit::Unit unit, int64_t amount, Duration per);
Limit Bucket(Limit::Unit unit, int64_t amount, Duration per, int64_t burst);
Limit Day(Limit::Unit unit, int64_t amount, WallTime ends);  // days that end in another hour have another date

}  // namespace weir
