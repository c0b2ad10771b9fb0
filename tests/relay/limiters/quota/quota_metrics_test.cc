#include "relay/limiters/quota/quota_metrics.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

using Call = QuotaObserver::Call;
using std::chrono::microseconds;
using std::chrono::seconds;

class QuotaMetricsTest : public testing::Test {
 protected:
  static std::string TextOf(const QuotaMetrics& metrics, const StoreHealth& health = {}) {
    MetricFamilies families;
    metrics.AppendTo(families, health);
    return prometheus::TextSerializer().Serialize(std::move(families).Take());
  }
  std::string Text(const StoreHealth& health = {}) const { return TextOf(metrics_, health); }
  bool Has(const std::string& line, const StoreHealth& health = {}) const { return HasLine(Text(health), line); }

  ManualClock clock_;
  QuotaMetrics metrics_{clock_};
};

TEST_F(QuotaMetricsTest, CountsDecisionsByWhatTheyWere) {
  metrics_.OnDecision(Call::kDecide, "large", {.allowed = true});
  metrics_.OnDecision(Call::kReserve, "large", {.code = QuotaCode::kTierExceeded, .tier = Tier::kUserModel});
  metrics_.OnDecision(Call::kReserve, "large", {.code = QuotaCode::kTierExceeded, .tier = Tier::kUserModel});
  metrics_.OnDecision(Call::kTake, "other", {.code = QuotaCode::kRpmExceeded});
  EXPECT_TRUE(
      Has(R"(weir_quota_decisions_total{call="decide",outcome="allowed",code="ok",tier="none",class="large"} 1)"))
      << Text();
  EXPECT_TRUE(Has(
      R"(weir_quota_decisions_total{call="reserve",outcome="refused",code="tier_exceeded",tier="user_model",class="large"} 2)"));
  EXPECT_TRUE(Has(
      R"(weir_quota_decisions_total{call="take",outcome="refused",code="rpm_exceeded",tier="none",class="other"} 1)"));
}

TEST_F(QuotaMetricsTest, CountsRequestsThatPassedAllTheSame) {
  metrics_.OnDecision(Call::kTake, "other", {.allowed = true, .code = QuotaCode::kTpmExceeded, .shadowed = true});
  metrics_.OnDecision(Call::kTake, "other", {.allowed = true, .code = QuotaCode::kStoreUnavailable});
  metrics_.OnDecision(Call::kTake, "other", {.allowed = false, .code = QuotaCode::kStoreUnavailable});
  metrics_.OnDecision(Call::kRecord, "other", {.allowed = true, .code = QuotaCode::kTpmExceeded});
  EXPECT_TRUE(Has(R"(weir_quota_shadowed_total{code="tpm_exceeded"} 1)")) << Text();
  const auto counted = [this](const std::string& labels) {
    return Has("weir_quota_decisions_total{" + labels + R"(,tier="none",class="other"} 1)");
  };
  EXPECT_TRUE(counted(R"(call="take",outcome="shadowed",code="tpm_exceeded")"));
  EXPECT_TRUE(counted(R"(call="take",outcome="allowed",code="store_unavailable")"));
  EXPECT_TRUE(counted(R"(call="take",outcome="refused",code="store_unavailable")"));
  EXPECT_TRUE(counted(R"(call="record",outcome="allowed",code="tpm_exceeded")")) << "what was used is no refusal";
  EXPECT_TRUE(Has("weir_quota_unchecked_total 1"));
}

TEST_F(QuotaMetricsTest, CountsHowReservationsEnded) {
  metrics_.OnSettled({.reserved_tokens = 1000, .actual_tokens = 700}, false);
  metrics_.OnSettled({.reserved_tokens = 100, .actual_tokens = 150}, false);
  metrics_.OnSettled({.reserved_tokens = 500, .actual_tokens = 0}, true);
  metrics_.OnSettled({.code = Settled::Code::kUnknownReservation, .reserved_tokens = 9}, false);
  EXPECT_TRUE(Has(R"(weir_quota_settled_tokens_difference_total{direction="less"} 300)")) << Text();
  EXPECT_TRUE(Has(R"(weir_quota_settled_tokens_difference_total{direction="more"} 50)"));
  EXPECT_TRUE(Has(R"(weir_quota_settlements_total{call="commit",result="settled"} 2)"));
  EXPECT_TRUE(Has(R"(weir_quota_settlements_total{call="refund",result="settled"} 1)"));
  EXPECT_TRUE(Has(R"(weir_quota_settlements_total{call="commit",result="unknown_reservation"} 1)"));
}

TEST_F(QuotaMetricsTest, CountsLateAndRepeatedCommitsApart) {
  metrics_.OnDecision(Call::kReserve, "other", {.allowed = true, .reservation = "id", .reservation_ttl = seconds(60)});
  metrics_.OnSettled({.actual_tokens = 700, .late = true}, false);
  metrics_.OnSettled({.actual_tokens = 700, .again = true}, false);
  EXPECT_TRUE(Has("weir_quota_late_settlements_total 1")) << Text();
  EXPECT_TRUE(Has("weir_quota_repeated_settlements_total 1"));
  EXPECT_TRUE(Has("weir_quota_reservations_open 1"));
}

TEST_F(QuotaMetricsTest, AnExtendedReservationIsOpenForLonger) {
  metrics_.OnDecision(Call::kReserve, "other", {.allowed = true, .reservation = "id", .reservation_ttl = seconds(60)});
  metrics_.OnExtended({.time_left = seconds(60), .extended_to = seconds(600)});
  clock_.Advance(seconds(100));
  EXPECT_TRUE(Has("weir_quota_reservations_open 1")) << Text();
  EXPECT_TRUE(Has(R"(weir_quota_settlements_total{call="extend",result="settled"} 1)"));
}

TEST_F(QuotaMetricsTest, ShowsHowTheStoreIs) {
  metrics_.OnStoreAnswer(microseconds(300), true);
  metrics_.OnStoreAnswer(microseconds(1), false);
  const StoreHealth health{.breaker = StoreHealth::Breaker::kOpen,
                           .problem = "away",
                           .failures = 5,
                           .reconnects = 4,
                           .expired_reservations = 2,
                           .dropped_entries = 1};
  for (const char* line :
       {"weir_quota_store_breaker 2", "weir_quota_store_failures_total 5", "weir_quota_store_reconnects_total 4",
        "weir_quota_reservations_expired_total 2", "weir_quota_dropped_entries_total 1", "weir_quota_store_problem 1",
        "weir_quota_store_warning 0", R"(weir_quota_store_seconds_count{result="answered"} 1)",
        R"(weir_quota_store_seconds_bucket{result="answered",le="0.0005"} 1)",
        R"(weir_quota_store_seconds_bucket{result="answered",le="0.00025"} 0)",
        R"(weir_quota_store_seconds_count{result="failed"} 1)"}) {
    EXPECT_TRUE(Has(line, health)) << line << "\n" << Text(health);
  }
}

TEST_F(QuotaMetricsTest, AReservationIsOpenUntilItIsSettledOrItsTimeIsOver) {
  for (const int ttl : {60, 60, 120})
    metrics_.OnDecision(Call::kReserve, "other",
                        {.allowed = true, .reservation = "id", .reservation_ttl = seconds(ttl)});
  metrics_.OnDecision(Call::kReserve, "other", {.code = QuotaCode::kRpmExceeded});
  EXPECT_TRUE(Has("weir_quota_reservations_open 3")) << Text();
  clock_.Advance(seconds(10));
  metrics_.OnSettled({.time_left = seconds(50)}, false);
  metrics_.OnSettled({.code = Settled::Code::kUnknownReservation}, true);
  metrics_.OnSettled({.code = Settled::Code::kStoreUnavailable}, true);
  EXPECT_TRUE(Has("weir_quota_reservations_open 2")) << Text();
  clock_.Advance(seconds(51));  // even if the store has forgotten it meanwhile
  EXPECT_TRUE(Has("weir_quota_reservations_open 1")) << Text();
  clock_.Advance(seconds(60));
  EXPECT_TRUE(Has("weir_quota_reservations_open 0")) << Text();
}

// A client repeats a request with its idempotency key if it did not get the answer.
TEST_F(QuotaMetricsTest, ARepeatedRequestMakesNoOtherReservation) {
  const Decision made{.allowed = true, .reservation = "id", .reservation_ttl = seconds(60)};
  Decision repeated = made;
  repeated.again = true;
  metrics_.OnDecision(Call::kReserve, "other", made);
  metrics_.OnDecision(Call::kReserve, "other", repeated);
  EXPECT_TRUE(Has("weir_quota_reservations_open 1")) << Text();
  metrics_.OnSettled({.time_left = seconds(60)}, false);
  metrics_.OnDecision(Call::kReserve, "other", repeated);
  EXPECT_TRUE(Has("weir_quota_reservations_open 0")) << Text();
}

TEST_F(QuotaMetricsTest, TheSumIsRightIfAnotherProcessSettles) {
  QuotaMetrics another(clock_);
  metrics_.OnDecision(Call::kReserve, "other", {.allowed = true, .reservation = "id", .reservation_ttl = seconds(60)});
  clock_.Advance(seconds(20));
  another.OnSettled({.time_left = seconds(40)}, true);
  EXPECT_TRUE(Has("weir_quota_reservations_open 1"));
  EXPECT_TRUE(HasLine(TextOf(another), "weir_quota_reservations_open -1"));
  clock_.Advance(seconds(41));
  EXPECT_TRUE(Has("weir_quota_reservations_open 0"));
  EXPECT_TRUE(HasLine(TextOf(another), "weir_quota_reservations_open 0"));
}

TEST_F(QuotaMetricsTest, AReadingOfTheConfigurationIsGoodOrNot) {
  EXPECT_TRUE(Has("weir_quota_config_good 1"));
  metrics_.OnConfigRead(false);
  EXPECT_TRUE(Has("weir_quota_config_good 0"));
  EXPECT_TRUE(Has(R"(weir_quota_config_reads_total{result="error"} 1)"));
  metrics_.OnConfigRead(true);
  EXPECT_TRUE(Has("weir_quota_config_good 1"));
}

TEST_F(QuotaMetricsTest, LabelsAreBoundedWhateverTheConfigurationsWere) {
  for (int n = 0; n < 1000; ++n) metrics_.OnDecision(Call::kTake, "class " + std::to_string(n), {.allowed = true});
  const std::string text = Text();
  EXPECT_LT(std::ranges::count(text, '\n'), 200);
  EXPECT_TRUE(
      Has(R"(weir_quota_decisions_total{call="take",outcome="allowed",code="ok",tier="none",class="class 0"} 1)"));
  EXPECT_TRUE(Has(R"(weir_quota_decisions_total{call="take",outcome="allowed",code="ok",tier="none",class="other"} )" +
                  std::to_string(1000 - QuotaMetrics::kMaxClasses)));
}

TEST_F(QuotaMetricsTest, ManyThreadsCountAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int n = 0; n < 1000; ++n)
        metrics_.OnDecision(Call::kTake, "class " + std::to_string((n + t) % 8), {.allowed = true});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int n = 0; n < 8; ++n) {
    EXPECT_TRUE(Has(R"(weir_quota_decisions_total{call="take",outcome="allowed",code="ok",tier="none",class="class )" +
                    std::to_string(n) + R"("} 500)"))
        << Text();
  }
}

}  // namespace
}  // namespace weir
