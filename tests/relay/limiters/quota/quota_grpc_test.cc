// weir.v1.Quota on a gate's port, by frames; python_peer calls it with grpcio.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "relay/net/grpc/grpc_message.h"
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
  v1::Decision Reserve(const std::string& model, int64_t tokens) const {
    v1::ReserveRequest request;
    request.set_model(model);
    request.set_tokens(tokens);
    return MessageIn<v1::Decision>(Call("Reserve", request));
  }
  static v1::DecideRequest Asking(const std::string& model, int64_t tokens, bool charge = false) {
    v1::DecideRequest request;
    request.set_model(model);
    request.set_tokens(tokens);
    request.set_charge(charge);
    return request;
  }
  void UseQuotas(const std::string& yaml) {
    configuration_.limiters.quota.config_file = directory_.Write("weir.yaml", yaml);
  }
};

constexpr const char* kTwoRequests = "quota:\n  models:\n    small: {max_rpm: 2, max_tpm: 1000, max_rpd: 0}\n";

TEST_F(QuotaGrpcTest, CountsWithTheCallsOfHttp) {
  UseQuotas(kTwoRequests);
  Open();
  const auto first = MessageIn<v1::Decision>(Call("Decide", Asking("small", 100, true)));
  EXPECT_TRUE(first.allowed());
  EXPECT_EQ(first.code(), "ok");
  EXPECT_EQ(first.quota().max_rpm(), 2);
  EXPECT_EQ(first.usage().tpm(), 100);
  EXPECT_EQ(Take("small", 100).status, 200);
  const auto third = MessageIn<v1::Decision>(Call("Decide", Asking("small", 100, true)));
  EXPECT_FALSE(third.allowed());
  EXPECT_EQ(third.code(), "rpm_exceeded");
  EXPECT_NE(third.reason(), "");
  EXPECT_TRUE(third.has_retry_after_seconds());
}

TEST_F(QuotaGrpcTest, AReservationIsExtendedAndSettledOnce) {
  UseQuotas(kTwoRequests);
  Open();
  const std::string id = Reserve("small", 400).reservation();
  ASSERT_NE(id, "");
  v1::ExtendRequest extend;
  extend.set_reservation(id);
  extend.set_ttl_seconds(3600);
  EXPECT_GT(MessageIn<v1::Extension>(Call("Extend", extend)).ttl_seconds(), 3590.0);
  v1::CommitRequest commit;
  commit.set_reservation(id);
  commit.set_prompt_tokens(100);
  commit.set_output_tokens(20);
  const auto settled = MessageIn<v1::Settlement>(Call("Commit", commit));
  EXPECT_EQ(settled.reserved_tokens(), 400);
  EXPECT_EQ(settled.actual_tokens(), 120);
  v1::RefundRequest refund;
  refund.set_reservation(id);
  const RawAnswer otherwise = Call("Refund", refund);
  EXPECT_EQ(GrpcCodeOf(otherwise), GrpcCode::kFailedPrecondition);
  EXPECT_TRUE(MessageOf(otherwise).starts_with("already_settled: ")) << MessageOf(otherwise);
  refund.set_reservation("nothing");
  EXPECT_EQ(GrpcCodeOf(Call("Refund", refund)), GrpcCode::kNotFound);
  refund.set_reservation(Reserve("small", 300).reservation());
  EXPECT_EQ(MessageIn<v1::Settlement>(Call("Refund", refund)).reserved_tokens(), 300);
}

TEST_F(QuotaGrpcTest, AStreamTellsWhatItHasUsedAndWhatItCosts) {
  UseQuotas(std::string(kTwoRequests) +
            "  prices: {small: {input: 2.5, output: 10}}\n  tiers: {users: {\"*\": [{money: 0.01, per: month}, "
            "{in_flight: 1}]}}\n");
  Open();
  v1::ReserveRequest reserve;
  reserve.set_model("small");
  reserve.set_user("alice");
  reserve.set_prompt_tokens(300);
  reserve.set_output_tokens(600);
  reserve.set_idempotency_key("k");
  const auto held = MessageIn<v1::Decision>(Call("Reserve", reserve));
  EXPECT_EQ(held.cost_millionths(), 6750);
  EXPECT_FALSE(held.again());
  EXPECT_TRUE(MessageIn<v1::Decision>(Call("Reserve", reserve)).again());
  v1::CommitRequest commit;
  commit.set_reservation(held.reservation());
  commit.set_prompt_tokens(300);
  commit.set_output_tokens(100);
  commit.set_partial(true);
  const auto so_far = MessageIn<v1::Settlement>(Call("Commit", commit));
  EXPECT_EQ(so_far.actual_tokens(), 400);
  EXPECT_EQ(so_far.cost_millionths(), 1750);
  EXPECT_GT(so_far.ttl_seconds(), 590);
  reserve.set_idempotency_key("k2");
  const auto second = MessageIn<v1::Decision>(Call("Reserve", reserve));
  EXPECT_EQ(second.code(), "tier_exceeded");
  ASSERT_EQ(second.tiers_size(), 2);
  EXPECT_EQ(second.tiers(0).unit(), "money");
  EXPECT_EQ(second.tiers(0).used(), 6750);
  EXPECT_EQ(second.tiers(1).unit(), "calls");
  EXPECT_EQ(second.tiers(1).remaining(), 0);
  reserve.set_idempotency_key("k");
  reserve.set_output_tokens(1);
  EXPECT_TRUE(MessageOf(Call("Reserve", reserve)).starts_with("key_reused: "));
}

TEST_F(QuotaGrpcTest, RecordAndExplain) {
  UseQuotas(kTwoRequests);
  Open();
  v1::RecordRequest record;
  record.set_model("small");
  record.set_prompt_tokens(3000);
  EXPECT_TRUE(MessageIn<v1::Decision>(Call("Record", record)).allowed());
  v1::ExplainRequest explain;
  explain.set_model("small");
  explain.set_tokens(1);
  const auto why = MessageIn<v1::Decision>(Call("Explain", explain));
  EXPECT_EQ(why.code(), "tpm_exceeded");
  EXPECT_EQ(why.usage().tpm(), 3000);
}

TEST_F(QuotaGrpcTest, ALimitOfTheCalendarTellsItsEnd) {
  UseQuotas(std::string(kTwoRequests) + "  tiers:\n    default:\n      user_model: [{requests: 5, per: month}]\n");
  Open();
  v1::ExplainRequest explain;
  explain.set_model("small");
  explain.set_user("alice");
  const auto why = MessageIn<v1::Decision>(Call("Explain", explain));
  ASSERT_EQ(why.tiers_size(), 1);
  EXPECT_EQ(why.tiers(0).per(), "month");
  EXPECT_EQ(why.tiers(0).ends_ms() % (int64_t{24} * 3600 * 1000), 0) << "midnight, in UTC";
  EXPECT_EQ(why.tiers(0).per_seconds(), 0);
}

TEST_F(QuotaGrpcTest, MalformedCallsAreTheCallersFault) {
  Open();
  const auto error = [this](const std::string& method, const google::protobuf::MessageLite& message) {
    const RawAnswer answer = Call(method, message);
    EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kInvalidArgument);
    return MessageOf(answer);
  };
  EXPECT_EQ(error("Decide", v1::DecideRequest()), "invalid_request: model: missing, expected the model's name");
  EXPECT_EQ(error("Decide", Asking("m", -1)),
            "invalid_tokens: tokens: found -1, expected a whole number within 0..1000000000000000");
  EXPECT_TRUE(error("Decide", Asking("a\nb", 1)).starts_with("invalid_name: "));
  EXPECT_EQ(error("Commit", v1::CommitRequest()),
            "invalid_request: reservation: missing, expected what reserve answered");
  v1::CommitRequest both;
  both.set_reservation("r");
  EXPECT_TRUE(error("Commit", both).starts_with("invalid_request: tokens: missing"));
  both.set_tokens(1);
  both.set_output_tokens(1);
  EXPECT_TRUE(error("Commit", both).starts_with("invalid_request: tokens: found with"));
  v1::ExtendRequest extend;
  extend.set_reservation("r");
  extend.set_ttl_seconds(0);
  EXPECT_EQ(error("Extend", extend), "invalid_request: ttl_seconds: found 0, expected a whole number within 1..86400");
}

TEST_F(QuotaGrpcTest, AStoreThatIsAwayIsUnavailable) {
  configuration_.limiters.quota.store.store = "redis://127.0.0.1:1";
  Open();
  const RawAnswer answer = Call("Decide", Asking("small", 1));
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kUnavailable);
  EXPECT_TRUE(MessageOf(answer).starts_with("store_unavailable: ")) << MessageOf(answer);
}

TEST_F(QuotaGrpcTest, AStoreThatBlocksIsAskedElsewhere) {
  configuration_.limiters.quota.store.store = "sqlite:" + (directory_ / "quota.db");
  UseQuotas(kTwoRequests);
  Open();
  EXPECT_TRUE(MessageIn<v1::Decision>(Call("Decide", Asking("small", 1, true))).allowed());
  EXPECT_TRUE(MessageIn<v1::Decision>(Call("Decide", Asking("small", 1, true))).allowed());
  EXPECT_FALSE(MessageIn<v1::Decision>(Call("Decide", Asking("small", 1, true))).allowed());
}

TEST_F(QuotaGrpcTest, RefusesCallersThatHttpRefusesToo) {
  configuration_.limiters.quota.api = ServedQuotaApi::kAdmins;
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  configuration_.admin.admin_token = "sixteen letters or more";
  Open();
  const RawAnswer refused = Call("Decide", Asking("small", 1));
  EXPECT_TRUE(GrpcCodeOf(refused) == GrpcCode::kUnauthenticated || GrpcCodeOf(refused) == GrpcCode::kPermissionDenied)
      << MessageOf(refused);
  const Http2Fields token = {{"authorization", "Bearer sixteen letters or more"}};
  EXPECT_TRUE(MessageIn<v1::Decision>(Call("Decide", Asking("small", 1), token)).allowed());
  EXPECT_EQ(GrpcCodeOf(Call("Decide", Asking("small", 1), {{"origin", "https://elsewhere.example"}})),
            GrpcCode::kPermissionDenied);
}

TEST_F(QuotaGrpcTest, AWatchTellsOfEachChangeUntilItIsReset) {
  UseQuotas(kTwoRequests);
  Open();
  Http2Peer peer(RawClient(server_->port()));
  v1::WatchRequest request;
  request.set_model("small");
  const int32_t id = peer.Ask("POST", "/weir.v1.Quota/Watch", GrpcFrame(request.SerializeAsString()), kGrpcFields);
  const auto await = [&](size_t count) {
    std::vector<v1::Decision> decisions;
    while (decisions.size() < count) {
      decisions.clear();
      std::string_view rest = peer.SoFar(id).body;
      for (size_t bytes = 0; FindGrpcMessage(rest, SIZE_MAX, &bytes).ok() && bytes > 0; rest.remove_prefix(bytes))
        EXPECT_TRUE(ReadGrpcMessage(rest.substr(0, bytes), &decisions.emplace_back()).ok());
      if (decisions.size() < count && !peer.Take()) break;
    }
    EXPECT_EQ(decisions.size(), count);
    return decisions.empty() ? v1::Decision() : decisions.back();
  };
  EXPECT_EQ(await(1).usage().rpm(), 0);
  Take("small", 10);
  EXPECT_EQ(await(2).usage().tpm(), 10);
  Take("small", 10);
  EXPECT_FALSE(await(3).allowed());
}

TEST_F(QuotaGrpcTest, AWatchOfNothingIsTheCallersFault) {
  Open();
  EXPECT_EQ(GrpcCodeOf(Call("Watch", v1::WatchRequest())), GrpcCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
