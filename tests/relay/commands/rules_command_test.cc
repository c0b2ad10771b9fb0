// weir rules: what it prints and how it ends.
#include "relay/commands/rules_command.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/nostr/npub.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class RulesCommandTest : public testing::Test {
 protected:
  Ran Rules(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "weir rules");
    return CallCommand(RulesCommand, std::move(arguments));
  }
  std::string EventText(const std::string& content, uint16_t kind = 1) const {
    return alice_.SignedEvent(WallClock::System().NowSeconds(), kind, "[]", content);
  }

  const TempDirectory directory_;
  const Signer alice_{1};
  const std::string file_ = directory_.Write("weir.yaml", R"(
relay:
  write:
    deny: {words: ["(?i)free bitcoin"], addresses: [192.0.2.0/24]}
    rates: [{by: author, limit: 30/minute}]
)");
};

TEST_F(RulesCommandTest, CheckPrintsTheRules) {
  const Ran ran = Rules({"check", file_});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(HasLine(ran.out, "relay.write.rates[0]: at most 30 events of one author a minute, all kinds")) << ran.out;
  EXPECT_TRUE(HasLine(ran.out, file_ + ": 4 rules")) << ran.out;
}

TEST_F(RulesCommandTest, CheckNamesTheLineOfAMistake) {
  const std::string wrong = directory_.Write("wrong.yaml", "relay:\n  write:\n    dny: {}\n");
  const Ran ran = Rules({"check", wrong});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, wrong + ":3:5: relay.write: found the key \"dny\"")) << ran.err;
  EXPECT_TRUE(Has(ran.err, "did you mean \"deny\"?")) << ran.err;
  EXPECT_EQ(Rules({"check", directory_ / "none.yaml"}).code, 2);
}

TEST_F(RulesCommandTest, TestSaysWhatEachRuleDoes) {
  const std::string good = EventText("hello");
  const Ran taken = Rules({"test", good, "--config", file_, "--address", "198.51.100.1"});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_TRUE(Has(taken.out, "kind 1, by " + ToNpub(alice_.pubkey()) + "\n  settings: passes\n")) << taken.out;
  EXPECT_TRUE(HasLine(taken.out, "  relay.write.deny.words: passes")) << taken.out;
  EXPECT_TRUE(HasLine(taken.out, "accepted, if its rates are not used up")) << taken.out;
  const Ran refused = Rules({"test", EventText("FREE bitcoin"), "--config", file_});
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_TRUE(
      HasLine(refused.out, "refused: blocked: the content has words that are not taken (relay.write.deny.words[0])"))
      << refused.out;
  const Ran from = Rules({"test", good, "--config", file_, "--address", "192.0.2.9"});
  EXPECT_EQ(from.code, 1);
  EXPECT_TRUE(Has(from.out, "refused: blocked: events from your address are not taken")) << from.out;
}

TEST_F(RulesCommandTest, TestTakesAFileAndAProvedKey) {
  const std::string friends =
      directory_.Write("friends.yaml", "relay: {write: {allow: {authors: [" + ToNpub(alice_.pubkey()) + "]}}}\n");
  const std::string wrap = Signer(7).SignedEvent(WallClock::System().NowSeconds(), 1059, "[]", "");
  const std::string events = directory_.Write("events.jsonl", EventText("a") + "\n\n" + wrap + "\n");
  const Ran without = Rules({"test", events, "--config", friends});
  EXPECT_EQ(without.code, 1) << without.err;
  EXPECT_TRUE(Has(without.out, "refused: auth-required: ")) << without.out;
  EXPECT_EQ(Rules({"test", events, "--config", friends, "--authed", ToNpub(alice_.pubkey())}).code, 0);
}

TEST_F(RulesCommandTest, WrongArgumentsAreNamed) {
  const std::string good = EventText("hello");
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"test", "{}", "--config", file_}, "the event is wrong: "},
      {{"test", "nothing.json", "--config", file_}, "nothing.json is no event and cannot be read as a file"},
      {{"test", good, "--config", file_, "--address", "here"}, "--address here is no address"},
      {{"test", good, "--config", file_, "--authed", "npub1"}, "--authed npub1 is not a public key"},
      {{"test", good}, "name a file, or set WEIR_CONFIG"},
      {{"check"}, "name a file, or set WEIR_CONFIG"},
  };
  for (const auto& [arguments, part] : cases) {
    const Ran ran = Rules(arguments);
    EXPECT_EQ(ran.code, 2) << part;
    EXPECT_TRUE(Has(ran.err, part)) << ran.err;
  }
}

}  // namespace
}  // namespace weir
