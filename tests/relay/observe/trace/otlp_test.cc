#include "relay/observe/trace/otlp.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/process/version.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

template <typename Id>
Id Counting(uint8_t from) {
  Id id;
  for (uint8_t& byte : id) byte = from++;
  return id;
}

// Compares with the specification's own example to the letter.
TEST(OtlpTest, WritesSpansAsTheSpecificationSays) {
  const SpanData root{.trace = Counting<TraceId>(0x5b),
                      .id = Counting<SpanId>(0xee),
                      .kind = SpanKind::kServer,
                      .name = "EVENT",
                      .begin = TimePoint(seconds(10)),
                      .end = TimePoint(seconds(10) + nanoseconds(123456789)),
                      .attributes = {{"weir.kind", int64_t{1}}, {"weir.outcome", std::string("ok")}}};
  const SpanData wait{.trace = root.trace,
                      .id = Counting<SpanId>(1),
                      .parent = root.id,
                      .failed = true,
                      .name = "commit",
                      .begin = TimePoint(seconds(11)),
                      .end = TimePoint(seconds(11))};
  const WallTime at_zero(seconds(1'700'000'000));
  EXPECT_EQ(WriteOtlp(std::vector{root, wait}, {{"service.name", "weir \"1\""}}, at_zero),
            R"({"resourceSpans":[{"resource":{"attributes":[)"
            R"({"key":"service.name","value":{"stringValue":"weir \"1\""}}]},)"
            R"("scopeSpans":[{"scope":{"name":"weir","version":")" +
                std::string(Version()) +
                R"("},"spans":[)"
                R"({"traceId":"5b5c5d5e5f606162636465666768696a","spanId":"eeeff0f1f2f3f4f5","flags":257,)"
                R"("name":"EVENT","kind":2,)"
                R"("startTimeUnixNano":"1700000010000000000","endTimeUnixNano":"1700000010123456789","attributes":[)"
                R"({"key":"weir.kind","value":{"intValue":"1"}},{"key":"weir.outcome","value":{"stringValue":"ok"}}],)"
                R"("status":{}},)"
                R"({"traceId":"5b5c5d5e5f606162636465666768696a","spanId":"0102030405060708",)"
                R"("parentSpanId":"eeeff0f1f2f3f4f5","flags":257,"name":"commit","kind":1,)"
                R"("startTimeUnixNano":"1700000011000000000","endTimeUnixNano":"1700000011000000000","attributes":[],)"
                R"("status":{"code":2}}]}]}]})"
                "\n");
}

TEST(OtlpTest, TheNumberOfTheProcessIsANumber) {
  const std::string text = WriteOtlp({}, {{"process.pid", "4711"}, {"service.version", "4711"}}, WallTime());
  EXPECT_TRUE(Has(text, R"({"key":"process.pid","value":{"intValue":"4711"}})")) << text;
  EXPECT_TRUE(Has(text, R"({"key":"service.version","value":{"stringValue":"4711"}})")) << text;
}

TEST(OtlpTest, AParentElsewhereIsTold) {
  const SpanData span{.parent = Counting<SpanId>(1), .parent_is_remote = true, .name = "quota decide"};
  EXPECT_TRUE(Has(WriteOtlp(std::vector{span}, {}, WallTime()), R"("flags":769)"));
}

TEST(OtlpTest, ReadsWhatWasRejected) {
  const PartialSuccess as_text = ReadPartialSuccess(R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"old"}})");
  EXPECT_EQ(as_text.rejected, 3U);
  EXPECT_EQ(as_text.message, "old");
  EXPECT_EQ(ReadPartialSuccess(R"({"partialSuccess":{"rejectedSpans":3}})").rejected, 3U);
  EXPECT_EQ(ReadPartialSuccess(R"({"partialSuccess":{"errorMessage":"a warning"}})").message, "a warning");
}

TEST(OtlpTest, AnAnswerWithoutACountRejectsNoSpan) {
  for (const std::string body :
       {"", "{}", "null", "ok", "[1]", R"({"partialSuccess":null})", R"({"partialSuccess":{}})",
        R"({"partialSuccess":7})", R"({"partialSuccess":{"rejectedSpans":"-1"}})",
        R"({"partialSuccess":{"rejectedSpans":-1}})", R"({"partialSuccess":{"rejectedSpans":"many"}})",
        R"({"partialSuccess":{"rejectedSpans":1.5}})", "{\"partialS"})
    EXPECT_EQ(ReadPartialSuccess(body).rejected, 0U) << body;
}

}  // namespace
}  // namespace weir
