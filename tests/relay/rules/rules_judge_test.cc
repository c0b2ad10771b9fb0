// The decisions of Rules about events and requests.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/rules/rules.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

class RulesJudgeTest : public testing::Test {
 protected:
  Event EventOf(const Signer& author, uint16_t kind, const std::string& content = "", const std::string& tags = "[]",
                uint64_t created_at = kNow) {
    return EventParser().Parse(author.SignedEvent(created_at, kind, tags, content)).value();
  }
  std::string Judge(const Event& event, const RuleClient& sender = {}) {
    const Rules rules(set_);
    Ruling ruling = rules.JudgeEvent(event.view(), sender, kNow);
    const std::unique_ptr<WordSearch> search = rules.SearchWords(event.view(), sender);
    while (search && search->Step()) continue;
    if (search && !ruling.refused()) ruling = Rules::JudgeWords(*search);
    EXPECT_EQ(ruling.refused(), !ruling.reason.empty());
    // The explanation of each rule leads to the same decision.
    std::string first;
    for (const RuleOutcome& rule : rules.Explain(event.view(), sender, kNow))
      if (rule.refused && first.empty()) first = rule.outcome;
    EXPECT_EQ(first, ruling.reason);
    return ruling.reason;
  }
  std::string JudgeRead(const std::vector<std::string>& filters, const RuleClient& reader = {}) {
    std::vector<Filter> parsed;
    for (const std::string& filter : filters) parsed.push_back(ParseFilter(filter).value());
    return Rules(set_).JudgeRead(parsed, reader).reason;
  }
  bool MayHide(const std::string& filter) { return Rules(set_).MayHide(std::vector{ParseFilter(filter).value()}); }
  static RuleClient From(const char* address) { return {.proved = {}, .address = ParseAddressBytes(address)}; }

  RuleSet set_;
  const Signer alice_{1};
  const Signer bob_{2};
};

TEST_F(RulesJudgeTest, WithoutRulesAllIsTaken) {
  EXPECT_EQ(Judge(EventOf(alice_, 1)), "");
  EXPECT_EQ(JudgeRead({"{}"}), "");
  EXPECT_FALSE(MayHide("{}"));
}

TEST_F(RulesJudgeTest, EveryListOfAllowMustMatch) {
  set_.allow_write.authors = KeySet({alice_.pubkey()});
  set_.allow_write.kinds.Add(1, 1);
  set_.allow_write.addresses = AddressSet({ParseNetwork("10.0.0.0/8").value()});
  EXPECT_EQ(Judge(EventOf(alice_, 1), From("10.1.1.1")), "");
  EXPECT_EQ(Judge(EventOf(bob_, 1), From("10.1.1.1")),
            "restricted: only events of listed authors are taken (relay.write.allow.authors)");
  EXPECT_EQ(Judge(EventOf(alice_, 2), From("10.1.1.1")),
            "restricted: only events of listed kinds are taken (relay.write.allow.kinds)");
  EXPECT_EQ(Judge(EventOf(alice_, 1), From("11.1.1.1")),
            "restricted: only events from listed addresses are taken (relay.write.allow.addresses)");
  EXPECT_TRUE(Has(Judge(EventOf(alice_, 1)), "allow.addresses")) << "an unknown address is no listed one";
}

TEST_F(RulesJudgeTest, OpenKindsMayBeWrittenByAllAuthors) {
  set_.allow_write.authors = KeySet({alice_.pubkey()});
  set_.allow_write.open_kinds.Add(24133, 24133);
  EXPECT_EQ(Judge(EventOf(bob_, 24133)), "") << "the request of an application to a remote signer";
  EXPECT_NE(Judge(EventOf(bob_, 24134)), "");
  set_.deny_write.authors = KeySet({bob_.pubkey()});
  EXPECT_TRUE(Has(Judge(EventOf(bob_, 24133)), "deny.authors"));
  set_.allow_write.addresses = AddressSet({ParseNetwork("10.0.0.0/8").value()});
  EXPECT_TRUE(Has(Judge(EventOf(Signer(3), 24133)), "allow.addresses"));
}

TEST_F(RulesJudgeTest, DenyBeatsAllow) {
  set_.allow_write.authors = set_.deny_write.authors = KeySet({alice_.pubkey()});
  EXPECT_EQ(Judge(EventOf(alice_, 1)), "blocked: events of this author are not taken (relay.write.deny.authors)");
}

TEST_F(RulesJudgeTest, ADeniedAuthorCannotSendByAnotherKey) {
  set_.deny_write.authors = KeySet({alice_.pubkey()});
  const std::vector<PublicKey> proved = {alice_.pubkey()};
  EXPECT_EQ(Judge(EventOf(bob_, 1)), "");
  EXPECT_TRUE(Has(Judge(EventOf(bob_, 1), {.proved = proved}), "deny.authors"));
}

TEST_F(RulesJudgeTest, GiftWrapsAreJudgedByTheKeysOfTheirSender) {
  set_.allow_write.authors = KeySet({alice_.pubkey()});
  const std::vector<PublicKey> of_alice = {alice_.pubkey()};
  const std::vector<PublicKey> of_bob = {bob_.pubkey()};
  const Event wrap = EventOf(Signer(9), 1059);
  EXPECT_TRUE(Judge(wrap).starts_with("auth-required: only clients that have proved a listed key"));
  EXPECT_EQ(Judge(wrap, {.proved = of_alice}), "");
  EXPECT_TRUE(Judge(wrap, {.proved = of_bob}).starts_with("restricted: "));
  EXPECT_TRUE(Judge(EventOf(bob_, 1), {.proved = of_alice}).starts_with("restricted: ")) << "a note is its author's";
}

TEST_F(RulesJudgeTest, RulesAgainstSpamNameThemselves) {
  set_.deny_write.tags.Add('t', "casino");
  set_.deny_write.words = std::make_shared<WordSet>(std::vector<std::string>{"win", "(?i)free \"bitcoin\""});
  set_.ages.push_back({.oldest_s = 3600, .newest_s = 60});
  EXPECT_EQ(Judge(EventOf(alice_, 1, "hello")), "");
  EXPECT_EQ(Judge(EventOf(alice_, 1, "", R"([["t","casino"]])")),
            "blocked: events with a tag of this event are not taken (relay.write.deny.tags)");
  EXPECT_EQ(Judge(EventOf(alice_, 1, R"(Free "bitcoin")")),
            "blocked: the content has words that are not taken (relay.write.deny.words[1])");
  EXPECT_EQ(Judge(EventOf(alice_, 1, "", "[]", kNow - 3601)),
            "invalid: created_at is 1 h 1 min ago; 1 h are allowed (relay.write.age[0])");
  EXPECT_EQ(Judge(EventOf(alice_, 1, "", "[]", kNow - 3600)), "");
  EXPECT_EQ(Judge(EventOf(alice_, 1, "", "[]", kNow + 60)), "");
  EXPECT_EQ(Judge(EventOf(alice_, 1, "", "[]", kNow + 61)),
            "invalid: created_at is 1 min 1 s in the future; 1 min are allowed (relay.write.age[0])");
}

TEST_F(RulesJudgeTest, ProofOfWorkIsAskedOfItsKinds) {
  WorkRule rule{.bits = 256, .kinds = {}};
  rule.kinds.Add(1, 1);
  set_.work.push_back(rule);
  const std::string refusal = Judge(EventOf(alice_, 1));
  EXPECT_TRUE(refusal.starts_with("pow: difficulty ")) << refusal;
  EXPECT_TRUE(refusal.ends_with(" (relay.write.proof_of_work[0])")) << refusal;
  EXPECT_EQ(Judge(EventOf(alice_, 7)), "");
}

TEST_F(RulesJudgeTest, ExemptEventsPassTheRulesAgainstSpamOnly) {
  set_.deny_write.words = std::make_shared<WordSet>(std::vector<std::string>{"spam"});
  set_.deny_write.kinds.Add(20'001, 20'001);
  set_.work.push_back({.bits = 256});
  set_.rates.push_back({.rate = {.events = 1}});
  const Event signer_request = EventOf(alice_, 24133, "spam");
  EXPECT_EQ(Judge(signer_request), "");
  EXPECT_TRUE(Has(Judge(EventOf(alice_, 20'001)), "deny.kinds"));
  EXPECT_NE(Judge(EventOf(bob_, 1, "spam")), "");
  set_.exempt.authors = KeySet({bob_.pubkey()});
  EXPECT_EQ(Judge(EventOf(bob_, 1, "spam")), "");
  const Rules rules(set_);
  for (int n = 0; n < 3; ++n) EXPECT_FALSE(rules.TakeRates(signer_request.view(), {}, TimePoint()).refused());
  const std::vector<PublicKey> of_bob = {bob_.pubkey()};
  const Event wrap = EventOf(Signer(9), 1059, "spam");
  EXPECT_NE(Judge(wrap), "");
  EXPECT_EQ(Judge(wrap, {.proved = of_bob}), "") << "a gift wrap is exempt by the keys of its sender";
  EXPECT_NE(Judge(EventOf(alice_, 1, "spam"), {.proved = of_bob}), "");
}

TEST_F(RulesJudgeTest, RatesCountByAuthorAddressAndKind) {
  const struct {
    RateBy by;
    bool same_author, same_address, same_kind;  // whether an event that differs in this alone is counted with the first
  } cases[] = {
      {RateBy::kAuthor, false, true, true}, {RateBy::kAddress, true, false, true}, {RateBy::kKind, true, true, false}};
  for (const auto& c : cases) {
    set_.rates = {{.by = c.by, .rate = {.events = 1, .per = std::chrono::minutes(1)}}};
    const auto refused_after_first = [&](const Event& event, const char* address) {
      const Rules rules(set_);
      EXPECT_FALSE(rules.TakeRates(EventOf(alice_, 1).view(), From("2001:db8::1"), TimePoint()).refused());
      return rules.TakeRates(event.view(), From(address), TimePoint()).refused();
    };
    EXPECT_TRUE(refused_after_first(EventOf(alice_, 1), "2001:db8::1"));
    EXPECT_TRUE(refused_after_first(EventOf(alice_, 1), "2001:db8::2")) << "a /64 is one address";
    EXPECT_EQ(refused_after_first(EventOf(bob_, 1), "2001:db8::1"), c.same_author);
    EXPECT_EQ(refused_after_first(EventOf(alice_, 1), "192.0.2.1"), c.same_address);
    EXPECT_EQ(refused_after_first(EventOf(alice_, 7), "2001:db8::1"), c.same_kind);
  }
}

TEST_F(RulesJudgeTest, ARateForLowRungsLeavesTheOthersAlone) {
  set_.rates.push_back({.rate = {.events = 1}, .below = Rung::kRegular});
  const Rules rules(set_);
  for (size_t i = 0; i < kRungs; ++i) {
    const auto rung = static_cast<Rung>(i);
    const Event event = EventOf(Signer(1000 + i), 1);
    const RuleClient sender{.proved = {}, .rung = rung};
    EXPECT_FALSE(rules.TakeRates(event.view(), sender, TimePoint()).refused());
    const std::string second = rules.TakeRates(event.view(), sender, TimePoint()).reason;
    EXPECT_EQ(Has(second, "of authors who stand below regular"), rung < Rung::kRegular) << NameOf(rung) << second;
  }
}

TEST_F(RulesJudgeTest, ARefusedEventCountsAgainstNoRate) {
  set_.rates = {{.by = RateBy::kKind, .rate = {.events = 2}}, {.by = RateBy::kAuthor, .rate = {.events = 1}}};
  const Rules rules(set_);
  const auto take = [&](const Signer& author) {
    return rules.TakeRates(EventOf(author, 1).view(), {}, TimePoint()).reason;
  };
  EXPECT_EQ(take(alice_), "");
  for (int n = 0; n < 5; ++n)
    EXPECT_EQ(
        take(alice_),
        "rate-limited: at most 1 event of one author a minute, all kinds (relay.write.rates[1]); try again in 60 s");
  EXPECT_EQ(take(bob_), "") << "the rate by kind has room for a second event";
  EXPECT_TRUE(Has(take(Signer(3)), "rates[0]"));
}

TEST_F(RulesJudgeTest, CountsOutlastAChangeOfOtherRules) {
  const RateRule rate{.by = RateBy::kAuthor, .rate = {.events = 1}};
  const auto refuses = [&](const Rules& rules) {
    return rules.TakeRates(EventOf(alice_, 1).view(), {}, TimePoint()).refused();
  };
  set_.rates = {rate};
  const Rules first(set_);
  EXPECT_FALSE(refuses(first));
  set_.rates = {{.by = RateBy::kKind, .rate = {.events = 100}}, rate};
  const Rules second(set_, &first);
  EXPECT_TRUE(refuses(second));
  set_.rates[1].rate.events = 2;
  EXPECT_FALSE(refuses(Rules(set_, &second))) << "a rate that changes begins anew";
}

// Each of very many authors uses up its event of the day. Their buckets are full later than that of the address.
TEST_F(RulesJudgeTest, AFloodAgainstOneRateFreesNoBucketOfAnother) {
  set_.rates = {{.by = RateBy::kAuthor, .rate = {.events = 1, .per = std::chrono::hours(24)}},
                {.by = RateBy::kAddress, .rate = {.events = 1}, .kinds = {}}};
  set_.rates[1].kinds.Add(1, 1);
  const Rules rules(set_);
  const RuleClient sender = From("192.0.2.1");
  EXPECT_FALSE(rules.TakeRates(EventOf(alice_, 1).view(), sender, TimePoint()).refused());
  std::string record = *EventOf(alice_, 2).record();
  for (uint32_t n = 1; n <= 400'000; ++n) {
    std::memcpy(record.data() + RecordLayout::kPubkey, &n, sizeof n);
    ASSERT_FALSE(rules.TakeRates(EventView(record), sender, TimePoint()).refused());
  }
  EXPECT_TRUE(Has(rules.TakeRates(EventOf(bob_, 1).view(), sender, TimePoint()).reason, "rates[1]"));
}

TEST_F(RulesJudgeTest, ReadersAreJudgedByKeyAndAddress) {
  const std::vector<PublicKey> of_alice = {alice_.pubkey()};
  const std::vector<PublicKey> of_bob = {bob_.pubkey()};
  set_.allow_read.readers = KeySet({alice_.pubkey()});
  EXPECT_EQ(JudgeRead({"{}"}),
            "auth-required: only clients that have proved a listed key may read (relay.read.allow.readers)");
  EXPECT_TRUE(JudgeRead({"{}"}, {.proved = of_bob}).starts_with("restricted: "));
  EXPECT_EQ(JudgeRead({"{}"}, {.proved = of_alice}), "");
  set_.deny_read.addresses = AddressSet({ParseNetwork("192.0.2.7").value()});
  EXPECT_EQ(JudgeRead({"{}"}, {.proved = of_alice, .address = ParseAddressBytes("192.0.2.7")}),
            "blocked: clients at your address may not read (relay.read.deny.addresses)");
  set_.deny_read.readers = KeySet({alice_.pubkey()});
  EXPECT_TRUE(Has(JudgeRead({"{}"}, {.proved = of_alice}), "deny.readers"));
}

TEST_F(RulesJudgeTest, ARequestForHiddenEventsAloneIsRefused) {
  const std::string bob = "\"" + ToHex(bob_.pubkey()) + "\"";
  set_.deny_read.kinds.Add(4, 4);
  set_.deny_read.authors = KeySet({bob_.pubkey()});
  EXPECT_EQ(JudgeRead({R"({"kinds":[4]})"}), "blocked: events of these kinds are not shown (relay.read.deny.kinds)");
  EXPECT_EQ(JudgeRead({R"({"authors":[)" + bob + "]}"}),
            "blocked: events of these authors are not shown (relay.read.deny.authors)");
  EXPECT_EQ(JudgeRead({R"({"kinds":[4]})", "{}"}), "");
  EXPECT_EQ(JudgeRead({R"({"kinds":[1,4]})"}), "");
  EXPECT_EQ(JudgeRead({R"({"kinds":[]})"}), "");
  set_ = {};
  set_.allow_read.kinds.Add(1, 1);
  EXPECT_TRUE(Has(JudgeRead({R"({"kinds":[7]})"}), "relay.read.allow.kinds"));
}

TEST_F(RulesJudgeTest, HiddenEventsAreThoseOfKindsAuthorsAndTags) {
  const auto sees = [&](const Event& event) { return Rules(set_).MaySee(event.view()); };
  set_.deny_read.kinds.Add(4, 4);
  EXPECT_FALSE(sees(EventOf(alice_, 4)));
  EXPECT_TRUE(sees(EventOf(alice_, 1)));
  EXPECT_TRUE(MayHide("{}"));
  EXPECT_TRUE(MayHide(R"({"kinds":[1,4]})"));
  EXPECT_FALSE(MayHide(R"({"kinds":[1]})"));
  set_.allow_read.authors = KeySet({alice_.pubkey()});
  EXPECT_FALSE(sees(EventOf(bob_, 1)));
  EXPECT_TRUE(MayHide(R"({"kinds":[1]})"));
  EXPECT_FALSE(MayHide(R"({"kinds":[1],"authors":[")" + ToHex(alice_.pubkey()) + "\"]}"));
  set_.deny_read.tags.Add('t', "nsfw");
  EXPECT_FALSE(sees(EventOf(alice_, 1, "", R"([["t","nsfw"]])")));
  EXPECT_TRUE(MayHide(R"({"kinds":[1],"authors":[")" + ToHex(alice_.pubkey()) + "\"]}"));
}

TEST_F(RulesJudgeTest, LimitsAreThoseOfRulesForAllKinds) {
  WorkRule some{.bits = 20, .kinds = {}};
  some.kinds.Add(1, 1);
  set_.work = {some};
  EXPECT_EQ(Rules(set_).limits().least_work_bits, 0U);
  EXPECT_FALSE(Rules(set_).limits().restricts_writes);
  set_.work.push_back({.bits = 8});
  set_.ages = {{.oldest_s = 100, .newest_s = {}}, {.oldest_s = 50, .newest_s = 7}};
  set_.allow_read.readers = KeySet({alice_.pubkey()});
  const RuleLimits limits = Rules(set_).limits();
  EXPECT_EQ(limits.least_work_bits, 8U);
  EXPECT_TRUE(limits.restricts_writes);
  EXPECT_TRUE(limits.readers_need_auth);
  EXPECT_EQ(limits.oldest_s, 50U);
  EXPECT_EQ(limits.newest_s, 7U);
}

}  // namespace
}  // namespace weir
