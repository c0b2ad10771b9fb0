// The calls of the API that make reservations, extend and end them.
#include <gtest/gtest.h>

#include <string>

#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/quota/quota_api_fixture.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;
using namespace std::chrono_literals;

constexpr const char* kAsk = R"({"model":"gpt-4o","tokens":900})";

std::string BodyFor(const std::string& reservation, const std::string& more = "") {
  return R"({"reservation":")" + reservation + R"(")" + more + "}";
}

TEST(QuotaApi, ReservesAndCommitsWhatItCost) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const HttpResponse reserved = world.Ask(Call::kReserve, kAsk);
  ASSERT_EQ(reserved.status, 200) << reserved.body;
  EXPECT_EQ(Whole(reserved, "/usage/open_reservations"), 1);
  const std::string id = Text(reserved, "/reservation");
  const std::string commit = BodyFor(id, R"(,"prompt_tokens":610,"output_tokens":120)");
  const HttpResponse settled = world.Ask(Call::kCommit, commit);
  EXPECT_EQ(settled.status, 200);
  EXPECT_EQ(settled.body, R"({"settled":true,"model":"gpt-4o","reserved_tokens":900,"actual_tokens":730})"
                          "\n");
  const HttpResponse again = world.Ask(Call::kCommit, commit);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, settled.body);
  const HttpResponse refund = world.Ask(Call::kRefund, BodyFor(id));
  EXPECT_EQ(refund.status, 409);
  EXPECT_EQ(Text(refund, "/error/code"), "already_settled");
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/tpm"), 730);
}

TEST(QuotaApi, ALateCommitIsCountedAndSaysSo) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const std::string reserve = R"({"model":"gpt-4o","tokens":900,"ttl_seconds":1})";
  const std::string id = Text(world.Ask(Call::kReserve, reserve), "/reservation");
  world.clock.Advance(std::chrono::seconds(1));
  const HttpResponse extended = world.Ask(Call::kExtend, BodyFor(id));
  EXPECT_EQ(extended.status, 409);
  EXPECT_EQ(Text(extended, "/error/code"), "reservation_expired");
  const HttpResponse late = world.Ask(Call::kCommit, BodyFor(id, R"(,"tokens":730)"));
  EXPECT_EQ(late.status, 200);
  EXPECT_EQ(late.body, R"({"settled":true,"model":"gpt-4o","reserved_tokens":900,"actual_tokens":730,"late":true})"
                       "\n");
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/tpm"), 730);
}

TEST(QuotaApi, AReservationIsExtended) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const std::string id = Text(world.Ask(Call::kReserve, kAsk), "/reservation");
  const HttpResponse extended = world.Ask(Call::kExtend, BodyFor(id, R"(,"ttl_seconds":3600)"));
  EXPECT_EQ(extended.status, 200);
  EXPECT_EQ(extended.body, R"({"extended":true,"model":"gpt-4o","reserved_tokens":900,"ttl_seconds":3600})"
                           "\n");
  world.clock.Advance(std::chrono::minutes(59));
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/open_reservations"), 1);
}

TEST(QuotaApi, AStreamCommitsWhatItHasUsedSoFar) {
  QuotaConfig config{.providers = {Provider::kOpenAi}};
  config.prices = {{"gpt-4o", {.input = 2'500'000, .output = 10'000'000}}};
  ApiWorld world(config);
  const HttpResponse reserved =
      world.Ask(Call::kReserve, R"({"model":"gpt-4o","prompt_tokens":300,"output_tokens":600})");
  EXPECT_EQ(Whole(reserved, "/tokens"), 900);
  EXPECT_TRUE(Has(reserved.body, R"("cost":0.00675,)")) << reserved.body;
  const std::string id = Text(reserved, "/reservation");
  const HttpResponse so_far = world.Ask(
      Call::kCommit, BodyFor(id, R"(,"prompt_tokens":300,"output_tokens":100,"partial":true,"ttl_seconds":3600)"));
  EXPECT_EQ(so_far.status, 200);
  EXPECT_EQ(so_far.body,
            R"({"settled":false,"model":"gpt-4o","reserved_tokens":900,"actual_tokens":400,"cost":0.00175,)"
            R"("ttl_seconds":3600})"
            "\n");
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/open_reservations"), 1);
  world.clock.Advance(1h);
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/rpd"), 1) << "the call was made";
  const HttpResponse wrong = world.Ask(Call::kCommit, BodyFor(id, R"(,"tokens":5,"ttl_seconds":60)"));
  EXPECT_EQ(Text(wrong, "/error/message"),
            "ttl_seconds: found in a commit that ends the reservation, expected it with partial: true");
}

TEST(QuotaApi, ARequestThatIsSentAgainCountsOnce) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const std::string ask = R"({"model":"gpt-4o","tokens":900,"idempotency_key":"k"})";
  const HttpResponse first = world.Ask(Call::kReserve, ask);
  const HttpResponse again = world.Ask(Call::kReserve, ask);
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(Has(again.body, R"("again":true)")) << again.body;
  EXPECT_EQ(Text(again, "/reservation"), Text(first, "/reservation"));
  const HttpResponse other = world.Ask(Call::kReserve, R"({"model":"gpt-4o","tokens":1,"idempotency_key":"k"})");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(Text(other, "/code"), "key_reused");
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/tpm"), 900);
}

TEST(QuotaApi, TheHeaderIsAKeyTooAndTheBodyComesFirst) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const auto take = [&](const std::string& more) {
    HttpRequest request;
    request.body = R"({"model":"gpt-4o","tokens":900,"charge":true)" + more + "}";
    request.headers = {{"idempotency-key", "from the header"}};
    HttpResponse response;
    world.api.Answer({Call::kDecide, request}, [&](HttpResponse answer) { response = std::move(answer); });
    return response;
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(take("").status, 200);
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/rpm"), 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(take(R"(,"idempotency_key":"from the body")").status, 200);
  EXPECT_EQ(world.Figure("gpt-4o", "/usage/rpm"), 2);
}

TEST(QuotaApi, ARefundGivesTheRequestBackToo) {
  ApiWorld world({.providers = {Provider::kOpenAi}});
  const std::string id = Text(world.Ask(Call::kReserve, kAsk), "/reservation");
  const HttpResponse settled = world.Ask(Call::kRefund, BodyFor(id));
  EXPECT_EQ(settled.status, 200) << settled.body;
  EXPECT_EQ(Whole(settled, "/actual_tokens"), 0);
  const HttpResponse stats = world.Ask(Call::kModel, "", "gpt-4o");
  EXPECT_EQ(Whole(stats, "/usage/rpm"), 0);
  EXPECT_EQ(Whole(stats, "/usage/rpd"), 0);
}

TEST(QuotaApi, AReservationLivesAsLongAsTheCallSays) {
  ScriptedStore store;
  QuotaLimiter limiter(store);
  QuotaApi api(limiter, RateLimitDialect::kIetf);
  Ask(api, Call::kReserve, R"({"model":"m","ttl_seconds":90})");
  EXPECT_EQ(store.last_mode, Charge::Mode::kHold);
  EXPECT_EQ(store.last_hold_for, 90s);
  Ask(api, Call::kReserve, R"({"model":"m"})");
  EXPECT_EQ(store.last_hold_for, 600s);
}

}  // namespace
}  // namespace weir
