// Spans of events and requests: which parts they have, and how they ended.
#include <memory>
#include <string>
#include <vector>

#include "relay/observe/trace/tracer.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/observe/trace/span_fixture.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class ClientTraceTest : public ClientTest {
 protected:
  void BuildTraced(const LimiterSettings& limiter = {}, Ledger::Bounds bounds = {}) {
    Build(32 << 20, limiter, bounds);
    context_->tracer = tracer_.get();
  }
  // Returns the spans when all is at rest.
  std::vector<SpanData> Spans() {
    RunUntilIdle();
    return tracer_->TakeEnded();
  }
  // Returns the outcome of the only root.
  std::string Outcome() {
    const std::vector<SpanData> spans = Spans();
    EXPECT_FALSE(Has(Trees(spans), ") ")) << Trees(spans);
    return spans.empty() ? "" : Get(spans.back(), "weir.outcome");
  }

  std::shared_ptr<Tracer> tracer_ = std::make_shared<Tracer>(1, clock_);
};

TEST_F(ClientTraceTest, AnEventHasItsGateAndItsCommit) {
  BuildTraced();
  Seat& writer = Connect();
  const std::string note = Note("hello");
  Ask(writer, Publish(note));
  const std::vector<SpanData> spans = Spans();
  EXPECT_EQ(Trees(spans), "EVENT(write gate, commit)");
  const SpanData& event = *Find(spans, "EVENT");
  EXPECT_EQ(Get(event, "weir.kind"), "1");
  EXPECT_EQ(Get(event, "weir.bytes"), std::to_string(note.size()));
  EXPECT_EQ(Get(event, "weir.outcome"), "ok");
  EXPECT_FALSE(event.failed);
  EXPECT_GT(std::stoll(Get(*Find(spans, "write gate"), "weir.cost")), 0);
}

TEST_F(ClientTraceTest, AnEventThatIsNotStoredHasNoCommit) {
  BuildTraced();
  Seat& writer = Connect();
  Ask(writer, R"(["EVENT",{"kind":1}])");
  EXPECT_EQ(Outcome(), "invalid");
  std::string forged = Note("forged");
  forged.replace(forged.find("\"sig\":\"") + 10, 4, "0000");
  Ask(writer, Publish(forged));
  EXPECT_EQ(Outcome(), "invalid");
  Ask(writer, Publish(signer_.SignedEvent(kNow, 20001, "[]", "typing")));
  std::vector<SpanData> spans = Spans();
  EXPECT_EQ(Trees(spans), "EVENT(write gate)");
  EXPECT_EQ(Get(*Find(spans, "EVENT"), "weir.outcome"), "ok");
  const std::string note = Note("twice");
  Ask(writer, Publish(note));
  Spans();
  Ask(writer, Publish(note));
  EXPECT_EQ(Outcome(), "duplicate");
}

TEST_F(ClientTraceTest, AWriteThatFailsIsAFault) {
  BuildTraced();
  Seat& writer = Connect();
  store_.FailSaves("no space left on the disk");
  Ask(writer, Publish(Note("lost")));
  const std::vector<SpanData> spans = Spans();
  EXPECT_EQ(Trees(spans), "EVENT(write gate, commit)");
  EXPECT_TRUE(Find(spans, "EVENT")->failed);
  EXPECT_TRUE(Find(spans, "commit")->failed);
  EXPECT_EQ(Get(*Find(spans, "EVENT"), "weir.outcome"), "error");
  for (const SpanData& span : spans)
    for (const auto& [key, value] : span.attributes)
      EXPECT_FALSE(Has(Get(span, key), "disk")) << "words of the machine stay here";
}

TEST_F(ClientTraceTest, AWaitAtTheWriteGateIsAsLongAsItWasAndNamesWhatLimits) {
  settings_.max_events_in_flight = 200;
  BuildTraced();
  Engine(3.0);
  Seat& writer = Connect();
  writer.Say(Publish(Notes(100)));
  PumpUntilSaid(writer, 100);
  size_t waited = 0;
  size_t refused = 0;
  for (const SpanData& span : Spans()) {
    if (span.name != "write gate") continue;
    if (Get(span, "weir.reason") == "l0" && span.end > span.begin) ++waited;
    if (Get(span, "weir.outcome") == "l0") ++refused;
  }
  EXPECT_GT(waited, 2U);
  EXPECT_GT(refused, 2U);
}

TEST_F(ClientTraceTest, ARequestHasItsGateAndItsSlices) {
  BuildTraced();
  Store(Notes(30));
  Seat& reader = Connect();
  reader.Say(R"(["REQ","q",{"kinds":[1]}])");
  Hear(reader, 31);
  std::vector<SpanData> spans = Spans();
  EXPECT_EQ(Trees(spans), "REQ(read gate, scan)");
  EXPECT_EQ(Get(*Find(spans, "REQ"), "weir.events"), "30");
  EXPECT_EQ(Get(*Find(spans, "scan"), "weir.events"), "30");
  EXPECT_EQ(Get(*Find(spans, "REQ"), "weir.outcome"), "ok");
  Ask(reader, R"(["COUNT","c",{"kinds":[1]}])");
  spans = Spans();
  EXPECT_EQ(Trees(spans), "COUNT(read gate, scan)");
  EXPECT_EQ(Get(*Find(spans, "COUNT"), "weir.events"), "30");
  Ask(reader, R"(["REQ","live",{"kinds":[1],"limit":0}])");
  EXPECT_EQ(Trees(Spans()), "REQ") << "nothing is looked for";
}

TEST_F(ClientTraceTest, ARequestThatIsNotAnsweredSaysWhy) {
  settings_.max_subscriptions = 1;
  BuildTraced();
  Store(Notes(3));
  Engine(0.1, 1.5);
  Seat& client = Connect();
  Ask(client, R"(["REQ","heavy",{"kinds":[1]}])");
  const std::vector<SpanData> spans = Spans();
  EXPECT_EQ(Get(*Find(spans, "REQ"), "weir.outcome"), "rate-limited");
  EXPECT_EQ(Get(*Find(spans, "read gate"), "weir.outcome"), "emergency");
  Ask(client, R"(["REQ","live",{"kinds":[1],"limit":0}])");
  Spans();
  Ask(client, R"(["REQ","one too many",{"kinds":[1],"limit":0}])");
  const std::vector<SpanData> refused = Spans();
  EXPECT_EQ(Get(refused.at(0), "weir.outcome"), "error");
  EXPECT_FALSE(refused.at(0).failed) << "that is its client's fault";
  EXPECT_TRUE(tracer_->TakeEnded().empty()) << "a subscription that lives has no span";
}

TEST_F(ClientTraceTest, AStoreThatCannotBeReadIsAFault) {
  BuildTraced();
  Seat& client = Connect();
  store_.ThrowInQuery();
  Ask(client, R"(["REQ","q",{"kinds":[1]}])");
  const std::vector<SpanData> spans = Spans();
  EXPECT_TRUE(Find(spans, "REQ")->failed);
  EXPECT_EQ(Get(*Find(spans, "REQ"), "weir.outcome"), "error");
}

TEST_F(ClientTraceTest, ARequestThatItsClientClosesEndsThere) {
  BuildTraced(LimiterSettings{.read_max_scans = 1});
  Store(Notes(400, std::string(10'000, 'x')));
  Seat& slow = Connect();
  SayWithoutReading(slow, R"(["REQ","slow",{"kinds":[1]}])");
  slow.Say(R"(["CLOSE","slow"])");
  const std::vector<SpanData> spans = Spans();
  EXPECT_EQ(Get(*Find(spans, "REQ"), "weir.outcome"), "closed");
}

}  // namespace
}  // namespace weir
