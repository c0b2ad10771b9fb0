#include "relay/observe/trace/tracer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/manual_clock.h"
#include "config/text/hex.h"
#include "tests/fixtures/failing_memory.h"
#include "tests/relay/observe/trace/span_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

const std::string kSampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const std::string kNotSampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

class TracerTest : public testing::Test {
 protected:
  std::shared_ptr<Tracer> Make(double ratio, SpanBounds bounds = {}) const {
    return std::make_shared<Tracer>(ratio, clock_, bounds);
  }
  ManualClock clock_{TimePoint(milliseconds(1000))};
};

TEST_F(TracerTest, ASpanLastsFromItsBeginningToItsEndOrDeath) {
  const auto tracer = Make(1);
  {
    const Span root = tracer->Begin("EVENT", SpanKind::kServer, clock_.Now() - milliseconds(3));
    Span wait = root.Child("write gate");
    clock_.Advance(milliseconds(5));
    wait.Set("weir.cost", 700);
    wait.End();
    EXPECT_FALSE(wait);
    wait.End();
    const Span copy = root;  // NOLINT: what is tested
    clock_.Advance(milliseconds(2));
  }
  const std::vector<SpanData> spans = tracer->TakeEnded();
  ASSERT_EQ(spans.size(), 2U);
  const SpanData& wait = spans[0];
  const SpanData& root = spans[1];
  EXPECT_EQ(root.end - root.begin, milliseconds(10));
  EXPECT_EQ(wait.end - wait.begin, milliseconds(5));
  EXPECT_EQ(root.parent, SpanId{});
  EXPECT_EQ(wait.parent, root.id);
  EXPECT_EQ(wait.trace, root.trace);
  EXPECT_NE(wait.id, root.id);
  EXPECT_EQ(Get(wait, "weir.cost"), "700");
  EXPECT_TRUE(tracer->TakeEnded().empty());
}

TEST_F(TracerTest, AnEndedSpanSaysNoMoreByAnyCopy) {
  const auto tracer = Make(1);
  Span span = tracer->Begin("EVENT", SpanKind::kServer);
  const Span copy = span;  // NOLINT
  span.End();
  copy.Set("weir.outcome", "late");
  EXPECT_FALSE(copy.Child("late"));
  const std::vector<SpanData> spans = tracer->TakeEnded();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(Get(spans[0], "weir.outcome"), "");
}

TEST_F(TracerTest, AnEmptySpanDoesNothing) {
  Span span;
  span.Set("weir.kind", 1);
  span.Set("weir.outcome", "ok");
  span.Fail();
  EXPECT_FALSE(span.Child("gate"));
  span.End();
  EXPECT_FALSE(span);
  EXPECT_FALSE(BeginSpan(nullptr, "EVENT", SpanKind::kServer));
}

TEST_F(TracerTest, TextsAreShortAndPlain) {
  const auto tracer = Make(1);
  tracer->Begin("EVENT", SpanKind::kServer).Set("weir.reason", std::string(1000, 'x') + "\n");
  tracer->Begin("EVENT", SpanKind::kServer).Set("weir.reason", "a\"\\\n\xff\x01z");
  const std::vector<SpanData> spans = tracer->TakeEnded();
  EXPECT_EQ(Get(spans.at(0), "weir.reason"), std::string(Span::kMostText, 'x'));
  EXPECT_EQ(Get(spans.at(1), "weir.reason"), "a\"\\???z");
}

TEST_F(TracerTest, ASpanHasSoManyChildrenAtMost) {
  const auto tracer = Make(1);
  const Span root = tracer->Begin("REQ", SpanKind::kServer);
  for (size_t n = 0; n < Span::kMostChildren; ++n) EXPECT_TRUE(root.Child("scan"));
  EXPECT_FALSE(root.Child("scan"));
}

TEST_F(TracerTest, AMemberOutlivesItsTracersOwner) {
  Span span;
  {
    const auto tracer = Make(1);
    span = tracer->Begin("REQ", SpanKind::kServer);
    tracer->Close();
  }
  EXPECT_TRUE(span.Child("scan"));
  span.End();
}

// The bound is 5 sigma, so that one run in two million fails by chance.
RC_GTEST_PROP(TracerPropertyTest, SamplesTheRatio, ()) {
  const double ratio = *rc::gen::map(rc::gen::inRange(0, 101), [](int percent) { return percent / 100.0; });
  constexpr int kMany = 2000;
  const auto tracer = std::make_shared<Tracer>(ratio);
  int sampled = 0;
  for (int n = 0; n < kMany; ++n) sampled += tracer->Begin("EVENT", SpanKind::kServer) ? 1 : 0;
  const double expected = ratio * kMany;
  RC_ASSERT(std::abs(sampled - expected) <= 5 * std::sqrt(expected * (1 - ratio)));
  RC_ASSERT(tracer->TakeEnded().size() == static_cast<size_t>(sampled));
}

TEST_F(TracerTest, ACallersTraceGoesOn) {
  const auto tracer = Make(1);
  tracer->BeginServed("quota decide", kSampled).Child("wait");
  EXPECT_FALSE(tracer->BeginServed("quota decide", kNotSampled)) << "a part without the rest";
  const std::vector<SpanData> spans = tracer->TakeEnded();
  ASSERT_EQ(spans.size(), 2U);
  const SpanData& served = *Find(spans, "quota decide");
  EXPECT_EQ(ToHex(served.trace.data(), 16), kSampled.substr(3, 32));
  EXPECT_EQ(ToHex(served.parent.data(), 8), kSampled.substr(36, 16));
  EXPECT_TRUE(served.parent_is_remote);
  EXPECT_EQ(served.kind, SpanKind::kServer);
  const SpanData& wait = *Find(spans, "wait");
  EXPECT_FALSE(wait.parent_is_remote);
  EXPECT_EQ(wait.parent, served.id);
}

// Strangers ask for everything, and get the ratio of all requests, and ten more.
RC_GTEST_PROP(TracerPropertyTest, NoClientHasMoreSampledThanTheRatio, ()) {
  const double ratio = *rc::gen::element(0.0, 0.001, 0.01, 0.1, 0.5);
  const auto asks = *rc::gen::container<std::vector<bool>>(1000, rc::gen::arbitrary<bool>());
  const auto tracer = std::make_shared<Tracer>(ratio);
  size_t requests = 0;
  size_t sampled = 0;
  for (const bool ask : asks) {
    ++requests;
    const bool began = static_cast<bool>(tracer->BeginServed("quota decide", ask ? kSampled : kNotSampled));
    RC_ASSERT(ask || !began);
    sampled += began ? 1 : 0;
    RC_ASSERT(static_cast<double>(sampled) <= (ratio > 0 ? Tracer::kMostSaved : 0) + ratio * requests + 1e-9);
  }
}

// A caller that samples the same ratio has all of its traces whole.
TEST_F(TracerTest, ACallerWithinTheRatioHasAllOfItsTraces) {
  const auto tracer = Make(0.1);
  size_t sampled = 0;
  for (int n = 0; n < 1000; ++n)
    sampled += tracer->BeginServed("quota decide", n % 10 == 0 ? kSampled : kNotSampled) ? 1 : 0;
  EXPECT_EQ(sampled, 100U);
}

TEST_F(TracerTest, OpenAndEndedSpansAreBoundedTogether) {
  const auto tracer = Make(1, {.spans = 4});
  std::vector<Span> open;
  for (int n = 0; n < 3; ++n) open.push_back(tracer->Begin("REQ", SpanKind::kServer));
  open.pop_back();
  EXPECT_TRUE(open.back().Child("scan"));
  EXPECT_FALSE(open.back().Child("scan")) << "two open, two ended";
  EXPECT_FALSE(tracer->Begin("REQ", SpanKind::kServer));
  EXPECT_EQ(tracer->dropped(), 2U);
  EXPECT_EQ(tracer->waiting(), 2U);
  EXPECT_EQ(tracer->TakeEnded().size(), 2U);
  EXPECT_TRUE(tracer->Begin("REQ", SpanKind::kServer)) << "there is room again";
  EXPECT_EQ(tracer->dropped(), 2U);
}

TEST_F(TracerTest, EndedSpansAreBoundedInBytes) {
  const auto tracer = Make(1, {.bytes = 10'000});
  for (int n = 0; n < 100; ++n) tracer->Begin("REQ", SpanKind::kServer).Set("weir.reason", std::string(64, 'x'));
  const uint64_t kept = tracer->waiting();
  EXPECT_GT(kept, 10U);
  EXPECT_LT(kept, 50U);
  EXPECT_EQ(tracer->dropped(), 100 - kept);
  EXPECT_EQ(tracer->TakeEnded().size(), kept);
  tracer->Begin("REQ", SpanKind::kServer);
  EXPECT_EQ(tracer->waiting(), 1U) << "what was taken counts no more";
}

TEST_F(TracerTest, DropsASpanThatEndsAfterTheClose) {
  const auto tracer = Make(1);
  Span span = tracer->Begin("REQ", SpanKind::kServer);
  tracer->Close();
  span.End();
  EXPECT_EQ(tracer->waiting(), 0U);
  EXPECT_EQ(tracer->dropped(), 1U);
}

TEST_F(TracerTest, WhereThereIsNoMemorySpansAreMissingAndNothingElse) {
  const auto tracer = Make(1);
  size_t failures = 0;
  for (size_t n = 1; n == failures + 1; ++n) {
    FailAllocation(n);
    {
      const Span root = tracer->Begin("EVENT", SpanKind::kServer);
      root.Set("weir.reason", std::string_view("a reason that is longer than a string holds in itself"));
      const Span wait = root.Child("write gate");
    }
    if (EndFailing()) ++failures;
  }
  EXPECT_GT(failures, 2U);
  const uint64_t waiting = tracer->waiting();
  EXPECT_EQ(tracer->TakeEnded().size(), waiting);
  std::vector<Span> all;
  while (Span span = tracer->Begin("EVENT", SpanKind::kServer)) all.push_back(span);
  EXPECT_EQ(all.size(), SpanBounds().spans) << "no room was lost";
}

TEST_F(TracerTest, ManyThreadsAtOnceLoseNothing) {
  const auto tracer = std::make_shared<Tracer>(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&tracer] {
      for (int n = 0; n < 500; ++n) tracer->BeginServed("quota decide", kSampled).Child("wait");
    });
  }
  size_t taken = 0;
  for (int n = 0; n < 100; ++n) taken += tracer->TakeEnded().size();
  for (std::thread& thread : threads) thread.join();
  taken += tracer->TakeEnded().size();
  EXPECT_EQ(taken + tracer->dropped(), 4U * 500 * 2);
}

}  // namespace
}  // namespace weir
