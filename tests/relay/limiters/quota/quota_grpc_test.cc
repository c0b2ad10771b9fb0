// weir.v1.Quota on a gate's port, by frames; python_peer calls it with grpcio.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/net/grpc/grpc_fixture.h"
#include "weir/v1/quota.pb.h"

namespace weir {
namespace {

class QuotaGrpcTest : public GateServerTest {
 protected:
  RawAnswer Call(const std::string& method, const google::protobuf::MessageLite& message,
                 const Http2Fields& more = {}) const {
    Http2Peer peer(RawClient(server_->port()));
    return CallGrpc(peer, "/weir.v1.Quota/" + method, message, more);
  }
  // These take a request in the text format of Protocol Buffers.
  RawAnswer Decide(const std::string& request, const Http2Fields& more = {}) const {
    return Call("Decide", Written<v1::DecideRequest>(request), more);
  }
  v1::Decision Decided(const std::string& request) const { return MessageIn<v1::Decision>(Decide(request)); }
  RawAnswer Reserve(const std::string& request) const { return Call("Reserve", Written<v1::ReserveRequest>(request)); }
  v1::Decision Reserved(const std::string& request) const { return MessageIn<v1::Decision>(Reserve(request)); }
  v1::Settlement Committed(const std::string& request) const {
    return MessageIn<v1::Settlement>(Call("Commit", Written<v1::CommitRequest>(request)));
  }
  RawAnswer Refund(const std::string& reservation) const {
    return Call("Refund", Written<v1::RefundRequest>("reservation: '" + reservation + "'"));
  }
  v1::Decision Explained(const std::string& request) const {
    return MessageIn<v1::Decision>(Call("Explain", Written<v1::ExplainRequest>(request)));
  }
  void UseQuotas(const std::string& yaml) {
    configuration_.limiters.quota.config_file = directory_.Write("weir.yaml", yaml);
  }
};

constexpr const char* kTwoRequests = "quota:\n  models:\n    small: {max_rpm: 2, max_tpm: 1000, max_rpd: 0}\n";

TEST_F(QuotaGrpcTest, CountsWithTheCallsOfHttp) {
  UseQuotas(kTwoRequests);
  Open();
  const v1::Decision first = Decided("model: 'small' tokens: 100 charge: true");
  EXPECT_TRUE(first.allowed());
  EXPECT_EQ(first.code(), "ok");
  EXPECT_EQ(first.quota().max_rpm(), 2);
  EXPECT_EQ(first.usage().tpm(), 100);
  EXPECT_EQ(Take("small", 100).status, 200);
  const v1::Decision third = Decided("model: 'small' tokens: 100 charge: true");
  EXPECT_FALSE(third.allowed());
  EXPECT_EQ(third.code(), "rpm_exceeded");
  EXPECT_NE(third.reason(), "");
  EXPECT_TRUE(third.has_retry_after_seconds());
}

TEST_F(QuotaGrpcTest, AReservationIsExtendedAndSettledOnce) {
  UseQuotas(kTwoRequests);
  Open();
  const std::string id = Reserved("model: 'small' tokens: 400").reservation();
  ASSERT_NE(id, "");
  const auto extend = Written<v1::ExtendRequest>("reservation: '" + id + "' ttl_seconds: 3600");
  EXPECT_GT(MessageIn<v1::Extension>(Call("Extend", extend)).ttl_seconds(), 3590.0);
  const v1::Settlement settled = Committed("reservation: '" + id + "' prompt_tokens: 100 output_tokens: 20");
  EXPECT_EQ(settled.reserved_tokens(), 400);
  EXPECT_EQ(settled.actual_tokens(), 120);
  const RawAnswer otherwise = Refund(id);
  EXPECT_EQ(GrpcCodeOf(otherwise), GrpcCode::kFailedPrecondition);
  EXPECT_TRUE(MessageOf(otherwise).starts_with("already_settled: ")) << MessageOf(otherwise);
  EXPECT_EQ(GrpcCodeOf(Refund("nothing")), GrpcCode::kNotFound);
  const RawAnswer refunded = Refund(Reserved("model: 'small' tokens: 300").reservation());
  EXPECT_EQ(MessageIn<v1::Settlement>(refunded).reserved_tokens(), 300);
}

TEST_F(QuotaGrpcTest, AStreamTellsWhatItHasUsedAndWhatItCosts) {
  UseQuotas(std::string(kTwoRequests) +
            "  prices: {small: {input: 2.5, output: 10}}\n  tiers: {users: {\"*\": [{money: 0.01, per: month}, "
            "{in_flight: 1}]}}\n");
  Open();
  const std::string ask = "model: 'small' user: 'alice' prompt_tokens: 300 ";
  const v1::Decision held = Reserved(ask + "output_tokens: 600 idempotency_key: 'k'");
  EXPECT_EQ(held.cost_millionths(), 6750);
  EXPECT_FALSE(held.again());
  EXPECT_TRUE(Reserved(ask + "output_tokens: 600 idempotency_key: 'k'").again());
  const v1::Settlement so_far =
      Committed("reservation: '" + held.reservation() + "' prompt_tokens: 300 output_tokens: 100 partial: true");
  EXPECT_EQ(so_far.actual_tokens(), 400);
  EXPECT_EQ(so_far.cost_millionths(), 1750);
  EXPECT_GT(so_far.ttl_seconds(), 590);
  const v1::Decision second = Reserved(ask + "output_tokens: 600 idempotency_key: 'k2'");
  EXPECT_EQ(second.code(), "tier_exceeded");
  ASSERT_EQ(second.tiers_size(), 2);
  EXPECT_EQ(second.tiers(0).unit(), "money");
  EXPECT_EQ(second.tiers(0).used(), 6750);
  EXPECT_EQ(second.tiers(1).unit(), "calls");
  EXPECT_EQ(second.tiers(1).remaining(), 0);
  EXPECT_TRUE(MessageOf(Reserve(ask + "output_tokens: 1 idempotency_key: 'k'")).starts_with("key_reused: "));
}

TEST_F(QuotaGrpcTest, RecordAndExplain) {
  UseQuotas(kTwoRequests);
  Open();
  const auto record = Written<v1::RecordRequest>("model: 'small' prompt_tokens: 3000");
  EXPECT_TRUE(MessageIn<v1::Decision>(Call("Record", record)).allowed());
  const v1::Decision why = Explained("model: 'small' tokens: 1");
  EXPECT_EQ(why.code(), "tpm_exceeded");
  EXPECT_EQ(why.usage().tpm(), 3000);
}

TEST_F(QuotaGrpcTest, ALimitOfTheCalendarTellsItsEnd) {
  UseQuotas(std::string(kTwoRequests) + "  tiers:\n    default:\n      user_model: [{requests: 5, per: month}]\n");
  Open();
  const v1::Decision why = Explained("model: 'small' user: 'alice'");
  ASSERT_EQ(why.tiers_size(), 1);
  EXPECT_EQ(why.tiers(0).per(), "month");
  EXPECT_EQ(why.tiers(0).ends_ms() % (int64_t{24} * 3600 * 1000), 0) << "midnight, in UTC";
  EXPECT_EQ(why.tiers(0).per_seconds(), 0);
}

TEST_F(QuotaGrpcTest, MalformedCallsAreTheCallersFault) {
  Open();
  const auto commit = [this](const char* request) { return Call("Commit", Written<v1::CommitRequest>(request)); };
  const struct {
    const char* name;
    RawAnswer answer;
    const char* error;
  } cases[] = {
      {"no model", Decide(""), "invalid_request: model: missing, expected the model's name"},
      {"negative tokens", Decide("model: 'm' tokens: -1"),
       "invalid_tokens: tokens: found -1, expected a whole number within 0..1000000000000000"},
      {"no reservation", commit(""), "invalid_request: reservation: missing, expected what reserve answered"},
      {"no tokens", commit("reservation: 'r'"),
       "invalid_request: tokens: missing, expected tokens, or prompt_tokens and output_tokens"},
      {"tokens and output_tokens", commit("reservation: 'r' tokens: 1 output_tokens: 1"),
       "invalid_request: tokens: found with prompt_tokens or output_tokens, expected one or the other"},
      {"no time to live", Call("Extend", Written<v1::ExtendRequest>("reservation: 'r' ttl_seconds: 0")),
       "invalid_request: ttl_seconds: found 0, expected a whole number within 1..86400"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(GrpcCodeOf(c.answer), GrpcCode::kInvalidArgument) << c.name;
    EXPECT_EQ(MessageOf(c.answer), c.error) << c.name;
  }
  const RawAnswer two_lines = Decide("model: 'a\\nb' tokens: 1");
  EXPECT_EQ(GrpcCodeOf(two_lines), GrpcCode::kInvalidArgument);
  EXPECT_TRUE(MessageOf(two_lines).starts_with("invalid_name: ")) << MessageOf(two_lines);
  EXPECT_EQ(GrpcCodeOf(Call("Watch", v1::WatchRequest())), GrpcCode::kInvalidArgument);
}

TEST_F(QuotaGrpcTest, AStoreThatIsAwayIsUnavailable) {
  configuration_.limiters.quota.store.store = "redis://127.0.0.1:1";
  Open();
  const RawAnswer answer = Decide("model: 'small' tokens: 1");
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kUnavailable);
  EXPECT_TRUE(MessageOf(answer).starts_with("store_unavailable: ")) << MessageOf(answer);
}

TEST_F(QuotaGrpcTest, AStoreThatBlocksIsAskedElsewhere) {
  configuration_.limiters.quota.store.store = "sqlite:" + (directory_ / "quota.db");
  UseQuotas(kTwoRequests);
  Open();
  for (const bool allowed : {true, true, false})
    EXPECT_EQ(Decided("model: 'small' tokens: 1 charge: true").allowed(), allowed);
}

TEST_F(QuotaGrpcTest, RefusesCallersThatHttpRefusesToo) {
  configuration_.limiters.quota.api = ServedQuotaApi::kAdmins;
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  configuration_.admin.admin_token = "sixteen letters or more";
  Open();
  const std::string ask = "model: 'small' tokens: 1";
  const RawAnswer refused = Decide(ask);
  EXPECT_TRUE(GrpcCodeOf(refused) == GrpcCode::kUnauthenticated || GrpcCodeOf(refused) == GrpcCode::kPermissionDenied)
      << MessageOf(refused);
  EXPECT_TRUE(MessageIn<v1::Decision>(Decide(ask, {{"authorization", "Bearer sixteen letters or more"}})).allowed());
  EXPECT_EQ(GrpcCodeOf(Decide(ask, {{"origin", "https://elsewhere.example"}})), GrpcCode::kPermissionDenied);
}

TEST_F(QuotaGrpcTest, AWatchTellsOfEachChangeUntilItIsReset) {
  UseQuotas(kTwoRequests);
  Open();
  Http2Peer peer(RawClient(server_->port()));
  const std::string request = Written<v1::WatchRequest>("model: 'small'").SerializeAsString();
  const int32_t id = peer.Ask("POST", "/weir.v1.Quota/Watch", GrpcFrame(request), kGrpcFields);
  const auto await = [&](size_t count) {
    std::vector<v1::Decision> decisions = MessagesIn<v1::Decision>(peer.SoFar(id).body);
    while (decisions.size() < count && peer.Take()) decisions = MessagesIn<v1::Decision>(peer.SoFar(id).body);
    EXPECT_EQ(decisions.size(), count);
    return decisions.empty() ? v1::Decision() : decisions.back();
  };
  EXPECT_EQ(await(1).usage().rpm(), 0);
  Take("small", 10);
  EXPECT_EQ(await(2).usage().tpm(), 10);
  Take("small", 10);
  EXPECT_FALSE(await(3).allowed());
}

}  // namespace
}  // namespace weir
