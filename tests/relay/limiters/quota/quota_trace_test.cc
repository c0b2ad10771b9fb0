// Spans in which a gate tells a collector of its decisions.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/net/grpc/grpc_fixture.h"
#include "tests/relay/observe/trace/collector.h"
#include "weir/v1/quota.pb.h"

namespace weir {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kTrace = "0af7651916cd43dd8448eb211c80319c";
constexpr const char* kParent = "b7ad6b7169203331";

class QuotaTraceTest : public GateServerTest {
 protected:
  QuotaTraceTest() { configuration_.trace = {.endpoint = collector_.url(), .ratio = 1}; }

  static std::string TraceParent(const std::string& flags) {
    return "00-" + std::string(kTrace) + "-" + kParent + "-" + flags;
  }

  Collector collector_;
};

TEST_F(QuotaTraceTest, ADecisionIsAPartOfItsCallersTrace) {
  configuration_.limiters.quota.config_file =
      directory_.Write("weir.yaml", "quota:\n  models:\n    small: {max_rpm: 1, max_tpm: 0, max_rpd: 0}\n");
  Open();
  const std::string body = R"({"model":"small","tokens":900,"user":"alice","charge":true})";
  EXPECT_EQ(Ask("POST", "/v1/decide", body, "traceparent: " + TraceParent("01") + "\r\n").status, 200);
  const auto decided = collector_.Await("quota decide");
  ASSERT_TRUE(decided);
  EXPECT_EQ(decided->trace, kTrace);
  EXPECT_EQ(decided->parent, kParent);
  EXPECT_EQ(decided->attributes, (std::map<std::string, std::string>{{"weir.tokens", "900"}, {"weir.outcome", "ok"}}));
  EXPECT_EQ(Ask("POST", "/v1/reserve", body.substr(0, body.find(",\"charge\"")) + "}").status, 429);
  const auto reserved = collector_.Await("quota reserve");
  ASSERT_TRUE(reserved);
  EXPECT_EQ(reserved->parent, "");
  EXPECT_EQ(reserved->attributes.at("weir.outcome"), "rpm_exceeded");
  EXPECT_EQ(reserved->status, 0) << "a refusal is no fault";
}

TEST_F(QuotaTraceTest, TracesNoCallThatItsCallerDidNotSample) {
  Open();
  const std::string body = R"({"model":"gpt-4o","tokens":900})";
  EXPECT_EQ(Ask("POST", "/v1/decide", body, "traceparent: " + TraceParent("00") + "\r\n").status, 200);
  EXPECT_EQ(Ask("POST", "/v1/explain", body).status, 200);
  EXPECT_EQ(Ask("GET", "/v1/models").status, 200);
  server_.reset();
  EXPECT_EQ(NamesOf(collector_.spans()), (Names{"quota explain"}));
}

TEST_F(QuotaTraceTest, CallsOfGrpcAreTracedTheSame) {
  Open();
  Http2Peer peer(RawClient(server_->port()));
  CallGrpc(peer, "/weir.v1.Quota/Decide", Written<v1::DecideRequest>("model: 'gpt-4o' tokens: 7"),
           {{"traceparent", TraceParent("01")}});
  const auto decided = collector_.Await("quota decide");
  ASSERT_TRUE(decided);
  EXPECT_EQ(decided->parent, kParent);
  EXPECT_EQ(decided->attributes.at("weir.tokens"), "7");
}

TEST_F(QuotaTraceTest, AStoreThatBlocksIsWaitedForInSight) {
  configuration_.limiters.quota.store.store = "sqlite:" + (directory_ / "quota.db");
  Open();
  EXPECT_EQ(Take("gpt-4o", 1).status, 200);
  const auto decided = collector_.Await("quota decide");
  ASSERT_TRUE(decided);
  EXPECT_EQ(NamesOf(collector_.ChildrenOf(*decided)), (Names{"wait"}));
  Http2Peer peer(RawClient(server_->port()));
  CallGrpc(peer, "/weir.v1.Quota/Decide", Written<v1::DecideRequest>("model: 'gpt-4o'"));
  server_.reset();
  EXPECT_EQ(collector_.spans().size(), 4U);
}

TEST_F(QuotaTraceTest, ABadEndpointIsAnErrorAtTheStart) {
  configuration_.trace.endpoint = "collector:4317";
  EXPECT_TRUE(OpenError().starts_with("WEIR_TRACE_ENDPOINT=collector:4317 ("));
}

}  // namespace
}  // namespace weir
