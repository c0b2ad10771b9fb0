// A whole relay whose spans travel to a collector.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/observe/trace/collector.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

using Names = std::vector<std::string>;

class TracedRelayTest : public RelayServerTest {
 protected:
  ~TracedRelayTest() override { relay_.reset(); }

  Collector collector_;
};

TEST_F(TracedRelayTest, AnEventAndARequestArriveWithWhatTheyWaitedFor) {
  configuration_.trace = {.endpoint = collector_.url(), .ratio = 1, .service_name = "relay-1"};
  Open();
  WebClient client(relay_->port());
  const uint64_t before = WallClock::System().NowSeconds();
  const std::string note = Signer(7).SignedEvent(before, 1, "[]", "a secret of mine");
  client.Send("[\"EVENT\"," + note + "]");
  EXPECT_TRUE(client.Read()->starts_with("[\"OK\""));
  client.Send(R"(["REQ","all",{"kinds":[1]}])");
  EXPECT_TRUE(client.Read()->starts_with("[\"EVENT\""));
  EXPECT_TRUE(client.Read()->starts_with("[\"EOSE\""));

  const auto event = collector_.Await("EVENT");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->service, "relay-1");
  EXPECT_EQ(event->kind, 2);
  EXPECT_EQ(event->status, 0);
  EXPECT_EQ(event->trace.size(), 32U);
  EXPECT_EQ(event->id.size(), 16U);
  EXPECT_EQ(event->parent, "");
  EXPECT_GE(event->begin_ns / 1'000'000'000, before);
  EXPECT_EQ(event->attributes,
            (std::map<std::string, std::string>{
                {"weir.kind", "1"}, {"weir.bytes", std::to_string(note.size())}, {"weir.outcome", "ok"}}));
  const std::vector<CollectedSpan> parts = collector_.ChildrenOf(*event);
  ASSERT_EQ(NamesOf(parts), (Names{"write gate", "commit"}));
  for (const CollectedSpan& part : parts) {
    EXPECT_EQ(part.kind, 1);
    EXPECT_LE(event->begin_ns, part.begin_ns);
    EXPECT_LE(part.begin_ns, part.end_ns);
    EXPECT_LE(part.end_ns, event->end_ns);
  }
  EXPECT_LE(parts[0].begin_ns, parts[1].begin_ns);

  const auto request = collector_.Await("REQ");
  ASSERT_TRUE(request);
  EXPECT_NE(request->trace, event->trace);
  EXPECT_EQ(request->attributes.at("weir.events"), "1");
  EXPECT_EQ(NamesOf(collector_.ChildrenOf(*request)), (Names{"read gate", "scan"}));

  EXPECT_TRUE(Has(HttpGet(relay_->port(), "/metrics").second, "weir_trace_spans_total{result=\"sent\"}"));
}

TEST_F(TracedRelayTest, TheEndOfTheRelaySendsWhatItHas) {
  configuration_.trace = {.endpoint = collector_.url(), .ratio = 1};
  Open();
  WebClient client(relay_->port());
  for (int n = 0; n < 5; ++n) {
    client.Send("[\"EVENT\"," + Signer(7).SignedEvent(WallClock::System().NowSeconds(), 1, "[]", std::to_string(n)) +
                "]");
    EXPECT_TRUE(client.Read()->starts_with("[\"OK\""));
  }
  relay_.reset();
  EXPECT_EQ(collector_.spans().size(), 5U * 3);
}

TEST_F(TracedRelayTest, WithoutAnEndpointNothingIsTracedOrShown) {
  Open();
  EXPECT_FALSE(Has(HttpGet(relay_->port(), "/metrics").second, "weir_trace"));
}

}  // namespace
}  // namespace weir
