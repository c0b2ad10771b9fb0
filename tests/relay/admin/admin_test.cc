// Clients that count as the administrator.
#include "relay/admin/admin.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "relay/account/turn_meter.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/admin/admin_fixture.h"

namespace weir {
namespace {

TEST_F(AdminTest, TheTokenIsEnoughFromAnywhere) {
  token_.assign(60, 'a').append("0123");
  HttpRequest proxied = FromHere();
  proxied.headers.emplace_back("x-forwarded-for", "203.0.113.9");
  proxied.headers.emplace_back("authorization", "bearer " + token_);
  EXPECT_EQ(Status(proxied), 0);
  const struct {
    std::string authorization;
    int status;
  } cases[] = {
      {"Bearer " + token_, 0},
      {"Bearer " + std::string(60, 'a') + "0124", 401},
      {"Bearer " + std::string(60, 'A') + "0123", 401},
      {"Bearer " + token_ + "0", 401},
      {"Bearer " + token_.substr(1), 401},
      {"Bearer  " + token_, 401},
      {"Bearer ", 401},
      {"Bearer", 401},
      {token_, 401},
      {"Basic " + token_, 401},
      {"Nostr " + token_, 401},
  };
  for (const auto& c : cases) EXPECT_EQ(Status(FromElsewhere(c.authorization)), c.status) << c.authorization;
  EXPECT_FALSE(Has(Why(FromElsewhere("Bearer x")), token_));
}

TEST_F(AdminTest, RefusesEveryTokenIfNoneIsSet) {
  for (const char* authorization : {"Bearer", "Bearer ", "Bearer 0"})
    EXPECT_EQ(Status(FromElsewhere(authorization)), 403) << authorization;
}

TEST_F(AdminTest, ARequestFromThisMachineIsNotEnough) {
  EXPECT_EQ(Status(FromHere()), 401);
  HttpRequest proven = FromHere();
  proven.headers.emplace_back("authorization", Proof());
  EXPECT_EQ(Status(proven), 0);
}

TEST_F(AdminTest, ASignatureByTheKeyIsEnough) {
  EXPECT_EQ(Status(FromElsewhere(Proof())), 0);
  EXPECT_EQ(Status(FromElsewhere("nostr" + Proof().substr(5))), 0);
  EXPECT_EQ(Status(FromElsewhere(Proof(Tags(), kAdminNow + 5))), 0);
  EXPECT_EQ(Status(FromElsewhere(Proof(Tags("wss://relay.example/api/import")))), 0);
  EXPECT_EQ(Status(FromElsewhere(Proof(Tags("HTTPS://Relay.Example:443/api/import")))), 0);
  std::string unpadded = Proof();
  while (unpadded.ends_with('=')) unpadded.pop_back();
  EXPECT_EQ(Status(FromElsewhere(unpadded)), 0);
}

TEST_F(AdminTest, ProofsThatDoNotFitAreRefusedAndSaidWhy) {
  const struct {
    std::string authorization;
    int status;
    std::string part_of_why;
  } cases[] = {
      {"", 401, "NIP-98"},
      {"Basic dXNlcjpwYXNz", 401, "NIP-98"},
      {"Nostr", 401, "no event in base64"},
      {"Nostr ", 401, "no event in base64"},
      {"Nostr !!!!", 401, "no event in base64"},
      {"Nostr " + Base64("{}"), 401, "no event in base64"},
      {"Nostr " + std::string(100'000, 'A'), 401, "no event in base64"},
      {"Nostr " + Base64(Signer(4).SignedEvent(kAdminNow, 27235, Tags(), "")), 403, "not an administrator's"},
      {Proof(Tags(), kAdminNow, 22242), 401, "kind 27235, not 22242"},
      {Proof(Tags(), kAdminNow - 61), 401, "61 s ago"},
      {Proof(Tags(), kAdminNow - 5), 401, "more than 5 s after the start of this relay"},
      {Proof(Tags(), kAdminNow + 6), 401, "6 s ahead"},
      {Proof(Tags("https://relay.example/api/import", "GET")), 401, "method tag must be POST"},
      {Proof(R"([["u","https://relay.example/api/import"]])"), 401, "method tag must be POST"},
      {Proof(R"([["u"],["method","POST"]])"), 401, "u tag must be https://relay.example/api/import"},
      {Proof(Tags("https://relay.example/api/export")), 401, "u tag must be"},
      {Proof(Tags("https://relay.example/api/import?verify=false")), 401, "u tag must be"},
      {Proof(Tags("https://relay.example")), 401, "u tag must be"},
      {Proof(Tags("http://relay.example/api/import")), 401, "u tag must be"},
      {Proof(Tags("https://evil.example/api/import")), 401, "u tag must be"},
      {Proof(Tags("https://relay.example@evil.example/api/import")), 401, "u tag must be"},
      {Proof(Tags("relay.example/api/import")), 401, "u tag must be"},
      {Forged(), 401, "wrong signature"},
  };
  for (const auto& c : cases) {
    const HttpRequest request = FromElsewhere(c.authorization);
    EXPECT_EQ(Status(request), c.status) << c.authorization << Why(request);
    EXPECT_TRUE(Has(Why(request), c.part_of_why)) << Why(request);
  }
}

TEST_F(AdminTest, TheQueryIsPartOfWhatIsProven) {
  HttpRequest request = FromElsewhere(Proof(Tags("https://relay.example/api/import?verify=false")));
  request.query = "verify=false";
  EXPECT_EQ(Status(request), 0);
  request.query = "verify=true";
  EXPECT_EQ(Status(request), 401);
}

TEST_F(AdminTest, WithoutItsAddressOnlyANearHostCounts) {
  url_ = "";
  HttpRequest request = FromElsewhere(Proof(Tags("http://192.168.1.2:3334/api/import")));
  request.headers[0].second = "192.168.1.2:3334";
  EXPECT_EQ(Status(request), 0);
  request = FromElsewhere(Proof());
  EXPECT_EQ(Status(request), 401);
  EXPECT_TRUE(Has(Why(request), "WEIR_RELAY_URL")) << Why(request);
}

TEST_F(AdminTest, WithoutKeyAndTokenOnlyThisMachineCounts) {
  key_ = url_ = "";
  EXPECT_EQ(Status(FromHere()), 403);
  trust_ = AdminFromLoopback::kTrue;
  EXPECT_EQ(Status(FromHere()), 0);
  EXPECT_EQ(Status(FromElsewhere()), 403);
  EXPECT_EQ(Status(FromElsewhere(Proof())), 403);
}

TEST_F(AdminTest, AProofIsGoodOnce) {
  const Admin admin = MakeAdmin();
  const HttpRequest ahead = FromElsewhere(Proof(Tags(), kAdminNow + 5));
  EXPECT_EQ(StatusOf(admin, ahead), 0);
  EXPECT_EQ(StatusOf(admin, ahead), 401);
  clock_.Advance(65);
  EXPECT_EQ(StatusOf(admin, ahead), 401) << "it is not too old yet";
  EXPECT_TRUE(Has(admin.Refusal(ahead, AdminRight::kAll)->body, "used already"));
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof(Tags(), kAdminNow + 65))), 0);
  clock_.Advance(1);
  EXPECT_TRUE(Has(admin.Refusal(ahead, AdminRight::kAll)->body, "61 s ago"));
}

// Proofs that a relay took just before its end are not taken by the one that starts in that very second.
TEST_F(AdminTest, AProofThatWasGoodBeforeARestartIsNotGoodAfterIt) {
  const Admin first = MakeAdmin();
  std::vector<HttpRequest> used;
  for (uint64_t at = kAdminNow - 4; at <= kAdminNow + 5; ++at) {
    used.push_back(FromElsewhere(Proof(Tags(), at)));
    EXPECT_EQ(StatusOf(first, used.back()), 0) << at;
  }
  const Admin second = AdminOf();
  for (int second_later = 0; second_later < 8; ++second_later) {
    for (const HttpRequest& request : used) EXPECT_EQ(StatusOf(second, request), 401);
    clock_.Advance(1);
  }
  EXPECT_EQ(StatusOf(second, FromElsewhere(Proof(Tags(), kAdminNow + 6))), 0);
}

// A forgotten proof could be used again.
TEST_F(AdminTest, TakesNoMoreProofsThanItRemembers) {
  const Admin admin = MakeAdmin();
  constexpr int kRemembered = 4096;
  std::vector<std::string> proofs;
  for (int i = 0; i <= kRemembered; ++i)
    proofs.push_back("Nostr " + Base64(signer_.SignedEvent(kAdminNow, 27235, Tags(), std::to_string(i))));
  for (int i = 0; i < kRemembered; ++i) ASSERT_EQ(StatusOf(admin, FromElsewhere(proofs[i])), 0) << i;
  const HttpRequest one_more = FromElsewhere(proofs.back());
  EXPECT_EQ(StatusOf(admin, one_more), 401);
  EXPECT_TRUE(Has(admin.Refusal(one_more, AdminRight::kAll)->body, "too many proofs were used"));
  EXPECT_TRUE(Has(admin.Refusal(FromElsewhere(proofs.front()), AdminRight::kAll)->body, "used already"));
  clock_.Advance(66);
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof(Tags(), kAdminNow + 66))), 0);
}

TEST_F(AdminTest, AnAddressWithManyWrongSignaturesHasToWaitAndOthersDoNot) {
  const Admin admin = MakeAdmin();
  HttpRequest wrong = FromElsewhere(Forged());
  for (int i = 0; i < SignInLimit::kAtOnce; ++i) EXPECT_EQ(StatusOf(admin, wrong), 401);
  const auto late = admin.Refusal(wrong, AdminRight::kAll);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->status, 429);
  EXPECT_EQ(late->headers.back().first, "Retry-After");
  HttpRequest right = FromElsewhere(Proof());
  EXPECT_EQ(StatusOf(admin, right), 429) << "to know that it is right costs as much";
  right.address = wrong.address = "203.0.113.10";
  EXPECT_EQ(StatusOf(admin, wrong), 401);
  EXPECT_EQ(StatusOf(admin, right), 0);
}

TEST_F(AdminTest, ChargesTheClientForVerifyingASignature) {
  const Admin admin = MakeAdmin();
  Work spent = 0;
  {
    const TurnMeter meter(spent);
    EXPECT_EQ(StatusOf(admin, FromElsewhere(Forged())), 401);
    EXPECT_EQ(spent, kSignatureWork);
    EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof())), 0);
    EXPECT_EQ(spent, 2 * kSignatureWork);
    EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof(Tags("https://evil.example/")))), 401);
  }
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Forged())), 401);
  EXPECT_EQ(spent, 2 * kSignatureWork) << "what is refused without it, and what is outside of a turn, costs none";
}

TEST_F(AdminTest, AProofIsGoodForAMinute) {
  const Admin admin = MakeAdmin();
  clock_.Advance(60);
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof())), 0);
  clock_.Advance(1);
  EXPECT_EQ(StatusOf(admin, FromElsewhere(Proof(Tags("https://relay.example/api/import"), kAdminNow))), 401);
}

TEST_F(AdminTest, TheRefusalNamesTheWays) {
  token_ = "t";
  const auto refusal = MakeAdmin().Refusal(FromElsewhere(), AdminRight::kAll);
  ASSERT_TRUE(refusal.has_value());
  const std::vector<std::pair<std::string, std::string>> expected = {{"WWW-Authenticate", "Bearer"},
                                                                     {"WWW-Authenticate", "Nostr"}};
  EXPECT_EQ(refusal->headers, expected);
  for (const char* way : {"Bearer <the content of admin.token", "loopback", "NIP-98"})
    EXPECT_TRUE(Has(refusal->body, way)) << way;
}

}  // namespace
}  // namespace weir
