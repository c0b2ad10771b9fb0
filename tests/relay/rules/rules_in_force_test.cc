#include "relay/rules/rules_in_force.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

TEST(RulesInForceTest, FollowsTheFilesThatTheRulesName) {
  const TempDirectory directory;
  const std::string first(64, 'a');
  const std::string second(64, 'b');
  directory.Write("keys.txt", first + "\n");
  RulesInForce rules;
  const std::string path = directory.Write("weir.yaml", "relay: {write: {deny: {authors_file: keys.txt}}}\n");
  ASSERT_TRUE(rules.Open(path, std::chrono::milliseconds(5)).ok());
  EXPECT_EQ(rules.Now()->set().deny_write.authors.size(), 1U);
  directory.Write("keys.txt", first + "\n" + second + "\n");
  EXPECT_TRUE(Eventually([&] { return rules.Now()->set().deny_write.authors.size() == 2; }));
  directory.Write("keys.txt", "oops\n");
  rules.ReadSoon();
  directory.Write("weir.yaml", "relay: {write: {deny: {kinds: [4]}}}\n");
  EXPECT_TRUE(Eventually([&] { return rules.Now()->set().deny_write.kinds.Has(4); })) << "it goes on after an error";
  rules.Stop();
}

TEST(RulesInForceTest, JudgesWhileRulesAreExchanged) {
  RulesInForce rules;
  const Event event = EventParser().Parse(Signer(1).SignedEvent(1'700'000'000, 1, "[]", "")).value();
  RuleSet set;
  set.deny_write.kinds.Add(1, 1);
  std::jthread changer([&](const std::stop_token& stop) {
    for (bool deny = true; !stop.stop_requested(); deny = !deny)
      rules.Use(std::make_shared<Rules>(deny ? set : RuleSet()));
  });
  for (int n = 0; n < 10'000; ++n) {
    const Ruling ruling = rules.JudgeEvent(event.view(), {}, 1'700'000'000);
    EXPECT_EQ(ruling.refused(), ruling.reason == "blocked: events of this kind are not taken (relay.write.deny.kinds)");
  }
}

TEST(RulesInForceTest, CountsRefusalsByTheKindOfTheirRule) {
  RulesInForce rules;
  RuleSet set;
  set.deny_write.kinds.Add(1, 1);
  set.allow_read.readers = KeySet({Signer(1).pubkey()});
  rules.Use(std::make_shared<Rules>(set));
  const Event event = EventParser().Parse(Signer(1).SignedEvent(1'700'000'000, 1, "[]", "")).value();
  EXPECT_TRUE(rules.JudgeEvent(event.view(), {}, 1'700'000'000).refused());
  EXPECT_TRUE(rules.JudgeRead({}, {}).refused());
  EXPECT_EQ(rules.RefusalsBy(RuleKind::kKinds).events, 1U);
  EXPECT_EQ(rules.RefusalsBy(RuleKind::kKinds).requests, 0U);
  EXPECT_EQ(rules.RefusalsBy(RuleKind::kReaders).requests, 1U);
}

}  // namespace
}  // namespace weir
