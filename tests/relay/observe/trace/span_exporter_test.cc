#include "relay/observe/trace/span_exporter.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

HttpAnswer Answers(int status, std::string body = "{}") { return {.status = status, .body = std::move(body)}; }
HttpAnswer AnswersLater(int status, const std::string& retry_after) {
  return {.status = status, .headers = {{"Retry-After", retry_after}}};
}
HttpAnswer Away() {
  return {.problem = "cannot connect to 127.0.0.1:4318: Connection refused", .nobody_listens = true};
}

// A collector that says what the test tells it to, and a clock that the test moves.
class SpanExporterTest : public testing::Test {
 protected:
  void End(int spans, const std::string& name = "EVENT") {
    for (int n = 0; n < spans; ++n) tracer_->Begin("EVENT", SpanKind::kServer).Set("weir.name", name);
  }
  // Runs ticks of a tenth of a second. Returns how many calls there were.
  size_t RunFor(Duration time) {
    const size_t before = calls_.size();
    for (const TimePoint end = clock_.Now() + time; clock_.Now() < end; clock_.Advance(milliseconds(100)))
      exporter_.Step();
    return calls_.size() - before;
  }
  static size_t SpansIn(const HttpCall& call) {
    size_t spans = 0;
    for (size_t at = 0; (at = call.body.find("\"spanId\"", at)) != std::string::npos; ++at) ++spans;
    return spans;
  }

  ManualClock clock_{TimePoint(minutes(1))};
  ManualWallClock wall_clock_{1'700'000'000};
  std::shared_ptr<Tracer> tracer_ = std::make_shared<Tracer>(1, clock_);
  std::deque<HttpAnswer> script_;  // then 200
  std::vector<HttpCall> calls_;
  TraceTarget target_{.url = ParseServerUrl("http://127.0.0.1:4318").value(),
                      .headers = {{"x-tenant", "one"}},
                      .resource = {{"service.name", "weir"}}};
  SpanExporter exporter_{tracer_, target_,
                         [this](const HttpCall& call) {
                           calls_.push_back(call);
                           if (script_.empty()) return Answers(200);
                           HttpAnswer answer = script_.front();
                           script_.pop_front();
                           return answer;
                         },
                         clock_, wall_clock_};
};

TEST_F(SpanExporterTest, PostsWhatHasEndedAsJson) {
  End(2);
  exporter_.Step();
  ASSERT_EQ(calls_.size(), 1U);
  const HttpCall& call = calls_[0];
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.path, "/v1/traces");
  EXPECT_EQ(call.headers, (std::vector<std::pair<std::string, std::string>>{{"Content-Type", "application/json"},
                                                                            {"x-tenant", "one"}}));
  EXPECT_EQ(SpansIn(call), 2U);
  EXPECT_TRUE(Has(call.body, R"("startTimeUnixNano":"1700000000000000000")")) << call.body;
  EXPECT_EQ(exporter_.Stats().sent, 2U);
}

TEST_F(SpanExporterTest, SendsABatchASecondAtMostAndNoEmptyOne) {
  EXPECT_EQ(RunFor(seconds(5)), 0U);
  size_t calls = 0;
  for (int tenth = 0; tenth < 100; ++tenth) {
    End(1);
    calls += RunFor(milliseconds(100));
  }
  EXPECT_GE(calls, 9U);
  EXPECT_LE(calls, 10U);
  RunFor(seconds(1));
  EXPECT_EQ(exporter_.Stats().sent, 100U);
}

TEST_F(SpanExporterTest, StepSaysWhenItIsToBeCalledAgain) {
  const TimePoint due = exporter_.Step();
  EXPECT_EQ(due, clock_.Now() + SpanExporter::kEvery);
  clock_.Advance(milliseconds(300));
  EXPECT_EQ(exporter_.Step(), due);
}

TEST_F(SpanExporterTest, SendsTheSameAgainWhereTheCollectorCannotForNow) {
  uint64_t sent = 0;
  for (const int status : {429, 502, 503, 504}) {
    End(3, std::to_string(status));
    script_ = {Answers(status), Away()};
    EXPECT_EQ(RunFor(seconds(10)), 3U) << status;
    const size_t last = calls_.size() - 1;
    EXPECT_EQ(calls_[last].body, calls_[last - 2].body);
    EXPECT_EQ(exporter_.Stats().sent, sent += 3);
    EXPECT_EQ(exporter_.Stats().failed, 0U);
  }
}

TEST_F(SpanExporterTest, WaitsAsLongAsRetryAfterSays) {
  End(1);
  script_ = {AnswersLater(429, "20")};
  EXPECT_EQ(RunFor(seconds(20)), 1U);
  EXPECT_EQ(RunFor(seconds(1)), 1U);
  EXPECT_EQ(exporter_.Stats().sent, 1U);
}

TEST_F(SpanExporterTest, ARetryAfterHasABound) {
  End(1);
  script_ = {AnswersLater(503, "86400"), AnswersLater(503, "a week"), AnswersLater(503, "-1")};
  EXPECT_EQ(RunFor(SpanExporter::kLongestRetryAfter), 1U);
  EXPECT_EQ(RunFor(minutes(1)), 3U) << "what is no number of seconds is none";
  EXPECT_EQ(exporter_.Stats().sent, 1U);
}

TEST_F(SpanExporterTest, WaitsLongerEachTimeAndGivesABatchUp) {
  script_ = std::deque<HttpAnswer>(100, Away());
  std::vector<TimePoint> at;
  for (int n = 0; n < 3000; ++n) {
    End(n % 10 == 0 ? 1 : 0);
    if (RunFor(milliseconds(100)) == 1) at.push_back(clock_.Now());
  }
  ASSERT_GT(at.size(), 11U);
  for (size_t n = 1; n + 1 < at.size(); ++n) {
    const Duration pause = at[n] - at[n - 1];
    const Duration whole =
        std::min<Duration>(SpanExporter::kEvery * (1 << std::min<size_t>(n - 1, 10)), SpanExporter::kLongestPause);
    EXPECT_GE(pause, whole / 2) << n;
    EXPECT_LE(pause, std::max(whole, SpanExporter::kEvery) + milliseconds(100)) << n;
  }
  EXPECT_EQ(calls_[0].body, calls_[SpanExporter::kTries - 1].body);
  EXPECT_NE(calls_[0].body, calls_[SpanExporter::kTries].body);
  EXPECT_EQ(exporter_.Stats().sent, 0U);
  EXPECT_GE(exporter_.Stats().failed, 1U);
  script_.clear();
  RunFor(minutes(1));
  EXPECT_EQ(exporter_.Stats().sent + exporter_.Stats().failed, 300U);
}

// Threads that do the work are never held up, and what is held is bounded.
TEST_F(SpanExporterTest, WhileTheCollectorIsAwaySpansAreDroppedAndCounted) {
  script_ = std::deque<HttpAnswer>(100, Away());
  constexpr uint64_t kMany = 20'000;
  for (uint64_t n = 0; n < kMany; ++n) {
    End(1);
    if (n % 100 == 0) RunFor(milliseconds(100));
  }
  EXPECT_GT(tracer_->dropped(), kMany / 4);
  EXPECT_LE(tracer_->waiting(), SpanBounds().spans);
  script_.clear();
  RunFor(minutes(2));
  EXPECT_GT(exporter_.Stats().sent, 0U);
  EXPECT_EQ(tracer_->dropped() + exporter_.Stats().sent + exporter_.Stats().failed, kMany);
}

TEST_F(SpanExporterTest, DoesNotSendARefusedBatchAgain) {
  uint64_t batches = 0;
  for (const int status : {400, 401, 404, 413, 500, 301}) {
    ++batches;
    End(2);
    script_ = {Answers(status)};
    EXPECT_EQ(RunFor(seconds(10)), 1U) << status;
    EXPECT_EQ(exporter_.Stats().failed, 2 * batches);
    End(1);
    EXPECT_EQ(RunFor(seconds(2)), 1U) << "the next one goes";
    EXPECT_EQ(exporter_.Stats().sent, batches);
  }
}

TEST_F(SpanExporterTest, CountsTheSpansThatTheCollectorRejects) {
  End(5);
  script_ = {Answers(200, R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}})"),
             Answers(200, R"({"partialSuccess":{"rejectedSpans":"900"}})")};
  EXPECT_EQ(RunFor(seconds(5)), 1U) << "what was rejected is not sent again";
  EXPECT_EQ(exporter_.Stats().sent, 3U);
  EXPECT_EQ(exporter_.Stats().rejected, 2U);
  End(1);
  RunFor(seconds(2));
  EXPECT_EQ(exporter_.Stats().rejected, 3U) << "no more than there were";
}

TEST_F(SpanExporterTest, AFlushSendsOnceWhatThereIs) {
  End(1);
  script_ = {Away(), Away()};
  exporter_.Step();
  End(1);
  exporter_.Flush(milliseconds(700));
  EXPECT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_[1].timeout, milliseconds(700));
  EXPECT_EQ(exporter_.Stats().failed, 1U);
}

TEST_F(SpanExporterTest, AFlushSendsWhatWasNotTakenAndThenTheRest) {
  End(2);
  script_ = {Away()};
  exporter_.Step();
  End(1);
  exporter_.Flush(milliseconds(700));
  EXPECT_EQ(calls_.size(), 3U);
  EXPECT_EQ(exporter_.Stats().sent, 3U);
  exporter_.Flush(milliseconds(700));
  EXPECT_EQ(calls_.size(), 3U) << "there is nothing";
}

}  // namespace
}  // namespace weir
