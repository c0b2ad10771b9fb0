// The lists of administrators, and what they do to events, requests and filters.
#include "relay/rules/decided_lists.h"

#include <gtest/gtest.h>

#include <functional>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/rules/rules_in_force.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

Event EventOf(uint64_t author, uint16_t kind = 1) {
  return EventParser().Parse(Signer(author).SignedEvent(kNow, kind, "[]", "")).value();
}

Bytes32 KeyOf(uint32_t number) {
  Bytes32 key{};
  std::memcpy(key.data() + 12, &number, sizeof number);
  return key;
}

TEST(DecidedListsTest, EachListRefusesWithItsReason) {
  RulesInForce rules;
  DecidedLists& decided = rules.decided();
  const Event event = EventOf(1);
  const PublicKey key = event.view().pubkey();
  const RuleClient sender{.proved = {}, .address = ParseAddressBytes("192.0.2.7")};
  const auto reason = [&](const RuleClient& client) { return rules.JudgeEvent(event.view(), client, kNow).reason; };
  EXPECT_EQ(reason(sender), "");
  DecidedLists::Short lists;
  lists.allowed_kinds.Add(0, 0);
  decided.Use(lists);
  EXPECT_TRUE(rules.limits().restricts_writes);
  EXPECT_EQ(reason(sender), "restricted: this relay's administrators allow only events of other kinds");
  lists.allowed_kinds.Add(1, 1);
  decided.Use(lists);
  EXPECT_EQ(reason(sender), "");
  lists = {};
  lists.disallowed_kinds.Add(1, 1);
  decided.Use(lists);
  EXPECT_EQ(reason(sender), "blocked: this relay's administrators have disallowed events of this kind");
  lists.blocked_addresses = AddressSet({ParseNetwork("192.0.2.0/24").value()});
  decided.Use(lists);
  EXPECT_EQ(reason(sender), "blocked: this relay's administrators have blocked your address");
  EXPECT_EQ(rules.JudgeRead({}, sender).reason, "blocked: this relay's administrators have blocked your address");
  EXPECT_FALSE(rules.JudgeRead({}, {}).refused()) << "an unknown address";
  decided.Use({});
  const PublicKey other = Signer(2).pubkey();
  decided.banned_authors.Add(other);
  EXPECT_EQ(reason({.proved = {&other, 1}}), "blocked: this author was banned by this relay's administrators");
  EXPECT_EQ(reason(sender), "");
  decided.banned_events.Add(event.view().id());
  EXPECT_EQ(reason(sender), "blocked: this event was banned by this relay's administrators");
  decided.banned_authors.Add(key);
  EXPECT_EQ(reason(sender), "blocked: this author was banned by this relay's administrators");
  EXPECT_EQ(rules.RefusalsBy(RuleKind::kEvents).events, 1U);
  EXPECT_EQ(rules.RefusalsBy(RuleKind::kAddresses).requests, 1U);
}

TEST(DecidedListsTest, AnAllowedAuthorPassesListsAndRatesButNoBan) {
  RulesInForce rules;
  RuleSet set;
  set.allow_write.authors = KeySet({Signer(3).pubkey()});
  set.rates.push_back({.rate = {.events = 1, .per = std::chrono::hours(1)}});
  set.deny_write.kinds.Add(7, 7);
  rules.Use(std::make_shared<Rules>(set));
  const PublicKey key = Signer(1).pubkey();
  rules.decided().allowed_authors.Add(key);
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(rules.JudgeEvent(EventOf(1).view(), {}, kNow).reason, "");
    EXPECT_EQ(rules.TakeRates(EventOf(1).view(), {}, TimePoint()).reason, "");
  }
  EXPECT_TRUE(rules.JudgeEvent(EventOf(2).view(), {}, kNow).refused());
  EXPECT_TRUE(rules.JudgeEvent(EventOf(1, 7).view(), {}, kNow).refused()) << "other rules hold";
  EXPECT_FALSE(rules.JudgeEvent(EventOf(2, 1059).view(), {.proved = {&key, 1}}, kNow).refused()) << "a gift wrap";
  rules.decided().banned_authors.Add(key);
  EXPECT_TRUE(rules.JudgeEvent(EventOf(1).view(), {}, kNow).refused());
}

// Subscriptions and scans that go on compare the generation (relay/protocol/request_room.h).
TEST(DecidedListsTest, EachChangeThatReadersNoticeChangesTheGeneration) {
  RulesInForce rules;
  DecidedLists& lists = rules.decided();
  const std::function<void()> changes[] = {[&] { lists.banned_authors.Add(KeyOf(1)); },
                                           [&] { lists.banned_authors.Remove(KeyOf(1)); },
                                           [&] { lists.banned_events.Add(KeyOf(2)); }, [&] { lists.Use({}); },
                                           [&] { rules.Use(std::make_shared<Rules>()); }};
  for (const auto& change : changes) {
    const uint64_t before = rules.generation();
    change();
    EXPECT_NE(rules.generation(), before) << "change " << &change - changes;
  }
}

TEST(DecidedListsTest, BansHideEventsAndAreSeenInFilters) {
  RulesInForce rules;
  const Event event = EventOf(1);
  const PublicKey key = event.view().pubkey();
  const auto may_hide = [&](const std::string& filter) {
    const Filter parsed = ParseFilter(filter).value();
    return rules.MayHide({&parsed, 1});
  };
  const std::string by_author = R"({"authors":[")" + ToHex(key) + "\"]}";
  const std::string by_other = R"({"authors":[")" + ToHex(Signer(2).pubkey()) + "\"]}";
  const std::string by_id = R"({"ids":[")" + ToHex(event.view().id()) + "\"]}";
  EXPECT_FALSE(may_hide("{}"));
  rules.decided().banned_authors.Add(key);
  EXPECT_FALSE(rules.MaySee(event.view()));
  EXPECT_TRUE(rules.MaySee(EventOf(2).view()));
  EXPECT_TRUE(may_hide("{}") && may_hide(by_author) && may_hide(by_id));
  EXPECT_FALSE(may_hide(by_other));
  rules.decided().banned_authors.Remove(key);
  rules.decided().banned_events.Add(event.view().id());
  EXPECT_FALSE(rules.MaySee(event.view()));
  EXPECT_TRUE(may_hide("{}") && may_hide(by_id) && may_hide(by_other));
  rules.decided().banned_events.Remove(event.view().id());
  EXPECT_TRUE(rules.MaySee(event.view()));
  EXPECT_FALSE(may_hide("{}"));
}

}  // namespace
}  // namespace weir
