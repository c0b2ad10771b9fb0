// The rules without a connection: policy, identity, what a request costs, the budget of bytes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/net/host_names.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/protocol/identity.h"
#include "relay/protocol/policy.h"
#include "relay/protocol/request_cost.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

class PolicyTest : public testing::Test {
 protected:
  std::string Refusal(const std::string& json) {
    event_ = EventParser().Parse(json).value();
    return RefusalOfEvent(event_.view(), settings_, *identity_, kNow);
  }
  std::string Signed(uint64_t created_at, uint16_t kind = 1, const std::string& tags = "[]",
                     const std::string& content = "") const {
    return signer_.SignedEvent(created_at, kind, tags, content);
  }

  RelaySettings settings_;
  std::shared_ptr<const Identity> identity_ = Identity::Nobody();
  Signer signer_{1};
  Event event_{""};
};

TEST_F(PolicyTest, DatesAreLimitedOnBothSides) {
  settings_.created_at_future_s = 900;
  EXPECT_EQ(Refusal(Signed(kNow + 900)), "");
  EXPECT_EQ(Refusal(Signed(kNow + 901)), "invalid: created_at is 901 s in the future; 900 s are allowed");
  EXPECT_EQ(PrefixOf(Refusal(Signed(kNow * 2))), "invalid");
  EXPECT_EQ(Refusal(Signed(0)), "") << "any age, where no limit is set";
  settings_.created_at_past_s = 100;
  EXPECT_EQ(Refusal(Signed(kNow - 100)), "");
  EXPECT_EQ(Refusal(Signed(kNow - 101)), "invalid: created_at is 101 s ago; 100 s are allowed");
}

TEST_F(PolicyTest, ExpiredEventsAndAuthEventsAreRefused) {
  EXPECT_EQ(Refusal(Signed(kNow, 1, R"([["expiration","1699999999"]])")), "invalid: the event has expired");
  EXPECT_EQ(Refusal(Signed(kNow, 1, R"([["expiration","1700000001"]])")), "");
  EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, 22242))), "invalid");
}

TEST(RateLimited, TellsAClientTheReasonAndWhenToTryAgain) {
  const auto told = [](std::string_view reason, Duration after) {
    return RateLimited(Admission({.state = Admission::State::kRefused, .reason = reason, .retry_after = after}));
  };
  EXPECT_EQ(told("l0", std::chrono::milliseconds(1100)), "rate-limited: l0; try again in 2 s");
  EXPECT_EQ(told("a write of at least 1 MiB takes too long: split it", Duration()),
            "rate-limited: a write of at least 1 MiB takes too long; try again in 1 s")
      << "without the advice for programs";
}

TEST_F(PolicyTest, WorkMustBeDoneAndCommittedTo) {
  settings_.min_pow_difficulty = 6;
  const auto mined = [&](const std::string& commitment) {
    for (int nonce = 0;; ++nonce) {
      std::string json = Signed(kNow, 1, "[[\"nonce\",\"" + std::to_string(nonce) + "\"" + commitment + "]]");
      if (FindId(json).starts_with("00")) return json;
    }
  };
  EXPECT_EQ(Refusal(mined(R"(,"8")")), "");
  EXPECT_EQ(Refusal(mined(R"(,"4")")), "pow: the nonce tag must commit to a difficulty of at least 6, not 4");
  EXPECT_EQ(Refusal(mined("")), "") << "what names no target is as much work as it is";
  EXPECT_EQ(Refusal(mined(R"(,"")")), "");
  EXPECT_EQ(PrefixOf(Refusal(mined(R"(,"much")"))), "pow");
  std::string lazy;
  for (uint64_t age = 0; lazy.empty(); ++age)
    if (const std::string json = Signed(kNow - age); FindId(json).starts_with("8")) lazy = json;
  EXPECT_EQ(Refusal(lazy), "pow: difficulty 0 is less than 6");
}

TEST_F(PolicyTest, ProtectedEventsAndRepostsOfThem) {
  EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, 1, R"([["-"]])"))), "auth-required");
  identity_ = Identity::With(*identity_, Signer(2).pubkey());
  EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, 1, R"([["-"]])"))), "restricted");
  identity_ = Identity::With(*identity_, signer_.pubkey());
  EXPECT_EQ(Refusal(Signed(kNow, 1, R"([["-"]])")), "");

  const std::string kept = Signed(kNow, 1, R"([["e","x"],["-"]])", "mine");
  const std::string open = Signed(kNow, 1, R"([["e","-"]])", "all \"quoted\"");
  for (const uint16_t kind : {6, 16}) {
    EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, kind, "[]", kept))), "blocked");
    EXPECT_EQ(Refusal(Signed(kNow, kind, "[]", open)), "");
    EXPECT_EQ(Refusal(Signed(kNow, kind, "[]", "")), "");
    EXPECT_EQ(Refusal(Signed(kNow, kind, "[]", "as {\"tags\":[[")), "");
    EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, kind, "[]", "{\"tags\":[["))), "invalid");
    EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, kind, "[]", "{\"x\":" + std::string(40, '[')))), "invalid");
    EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, kind, "[]", R"({"tags":[],"tags":[["-"]]})"))), "blocked");
  }
  // The content that gives it away need not be a good event.
  EXPECT_EQ(PrefixOf(Refusal(Signed(kNow, 6, "[]", R"( { "x": [{}], "\u0074ags" : [ [], [ "\u002d" , "x"] ] })"))),
            "blocked");
  EXPECT_EQ(Refusal(Signed(kNow, 1, "[]", kept)), "") << "a note may say what it likes";
}

TEST_F(PolicyTest, RequestsToVanishMustNameThisRelay) {
  const std::string all = Signed(kNow, 62, R"([["relay","ALL_RELAYS"]])");
  const std::string here = Signed(kNow, 62, R"([["relay","wss://x.example"],["relay","wss://relay.example/"]])");
  const std::string there = Signed(kNow, 62, R"([["relay"],["relay","wss://x.example"]])");
  EXPECT_EQ(Refusal(all), "");
  EXPECT_EQ(Refusal(here), "error: this relay does not know its own address (WEIR_RELAY_URL)");
  settings_.url = "wss://relay.example";
  EXPECT_EQ(Refusal(all), "");
  EXPECT_EQ(Refusal(here), "");
  EXPECT_EQ(Refusal(there), "invalid: the request names another relay");
}

TEST_F(PolicyTest, KnowsTheParties) {
  const PublicKey friend_key = Signer(2).pubkey();
  const Event message = EventParser().Parse(Signed(kNow, 4, R"([["p",")" + ToHex(friend_key) + R"("]])")).value();
  EXPECT_FALSE(IsPartyTo(message.view(), *Identity::Nobody()));
  EXPECT_TRUE(IsPartyTo(message.view(), *Identity::With(*Identity::Nobody(), friend_key)));
  EXPECT_TRUE(IsPartyTo(message.view(), *Identity::With(*Identity::Nobody(), signer_.pubkey())));
  EXPECT_FALSE(IsPartyTo(message.view(), *Identity::With(*Identity::Nobody(), Signer(3).pubkey())));
}

TEST(Identity, HostsAreComparedWithoutTheRest) {
  for (const char* url : {"wss://relay.example", "ws://Relay.Example:7777/", "relay.example:80", "relay.example.",
                          "wss://user@relay.example/path?x#y"}) {
    EXPECT_EQ(HostOf(url), "relay.example") << url;
  }
  EXPECT_EQ(HostOf("ws://[::1]:3334/"), "[::1]");
  EXPECT_NE(HostOf("wss://relay.example.evil"), "relay.example");
  for (const char* host :
       {"localhost:7777", "127.0.0.1", "10.1.2.3:80", "172.31.0.1", "192.168.0.9", "[::1]:7777", "[fd00::1]"})
    EXPECT_TRUE(IsNearby(host)) << host;
  for (const char* host : {"", "relay.example", "172.32.0.1", "8.8.8.8", "[2001:db8::1]", "10.evil.example", "0.0.0.0"})
    EXPECT_FALSE(IsNearby(host)) << host;
  EXPECT_NE(MakeChallenge(), MakeChallenge());
  EXPECT_EQ(MakeChallenge().size(), 32U);
}

uint64_t CostOf(const std::string& filter) {
  const std::vector<Filter> filters = {ParseFilter(filter).value()};
  return CostOfRequest(filters, 500, 5000).bytes;
}

TEST(Policy, FiltersDecideWhetherToWantAuthAndToWithholdEvents) {
  const std::string own = "\"" + ToHex(Signer(1).pubkey()) + "\"";
  const std::string other = "\"" + ToHex(Signer(2).pubkey()) + "\"";
  const struct {
    std::string filter;
    bool may_want_auth;
    bool may_withhold;      // from an unknown client
    bool may_withhold_own;  // from `first`
  } cases[] = {
      {R"({"kinds":[1]})", false, false, false},
      {R"({"kinds":[1,4]})", true, true, true},
      {R"({"kinds":[1,1059],"#p":[)" + own + "]}", true, true, false},
      {R"({"kinds":[1,21059]})", true, true, true},
      {R"({"kinds":[1],"#p":[)" + own + "]}", false, false, false},
      {R"({"#p":[)" + own + "]}", false, true, false},
      {R"({"#p":[)" + own + "," + other + "]}", false, true, true},
      {R"({"authors":[)" + own + "]}", false, true, false},
      {R"({"authors":[)" + other + R"(],"#p":[)" + own + "]}", false, true, false},
      {R"({"ids":[)" + own + "]}", false, true, true},
      {R"({"#e":[)" + own + "]}", false, true, true},
      {"{}", false, true, true},
      {R"({"kinds":[]})", false, false, false},
      {R"({"#p":[]})", false, false, false},
  };
  const auto first = Identity::With(*Identity::Nobody(), Signer(1).pubkey());
  for (const auto& c : cases) {
    const std::vector<Filter> filters = {ParseFilter(R"({"kinds":[7]})").value(), ParseFilter(c.filter).value()};
    EXPECT_EQ(MayWantAuth(filters), c.may_want_auth) << c.filter;
    EXPECT_EQ(MayWithhold(filters, *Identity::Nobody()), c.may_withhold) << c.filter;
    EXPECT_EQ(MayWithhold(filters, *first), c.may_withhold_own) << c.filter;
  }
}

TEST(RequestCost, IndexedRequestsAreCheapAndWalksAreScans) {
  constexpr uint64_t kScan = 64 << 10;  // the limiter has the same
  const std::string key = "\"" + std::string(64, 'a') + "\"";
  EXPECT_LT(CostOf("{\"ids\":[" + key + "]}"), kScan);
  EXPECT_LT(CostOf("{\"authors\":[" + key + "],\"kinds\":[1],\"limit\":20}"), kScan);
  EXPECT_LT(CostOf("{\"authors\":[" + key + "],\"kinds\":[0,3,10002]}"), kScan);
  EXPECT_LT(CostOf("{\"#e\":[" + key + "]}"), kScan);
  EXPECT_LT(CostOf(R"({"kinds":[1],"limit":20})"), kScan);
  EXPECT_GE(CostOf(R"({"kinds":[1]})"), kScan);
  EXPECT_GE(CostOf("{}"), kScan);
  EXPECT_EQ(CostOf(R"({"ids":[]})"), 0U);
  EXPECT_EQ(CostOf(R"({"limit":0})"), 0U);
  const std::vector<Filter> all = {Filter()};
  EXPECT_GT(CostOfCount(all).bytes, CostOf("{}")) << "a COUNT has no limit";
}

}  // namespace
}  // namespace weir
