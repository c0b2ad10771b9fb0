// The rules of retention: what they keep and remove, what they say about an event, and which files are refused.
#include "relay/rules/retention_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/rules/describe_rules.h"
#include "relay/rules/rules_reader.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/plain_event.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;
constexpr uint64_t kDay = 86'400;

class RetentionRulesTest : public testing::Test {
 protected:
  Result<RulesRead> Read(const std::string& retention) {
    return ReadRules(directory_.Write("weir.yaml", "relay:\n  retention:\n" + retention), &files_);
  }
  RetentionRules MustRead(const std::string& retention) {
    const Result<RulesRead> read = Read(retention);
    EXPECT_TRUE(read.ok()) << read.status().message();
    return read.ok() ? read.value().rules->set().retention : RetentionRules();
  }
  std::string ErrorOf(const std::string& retention) {
    const Result<RulesRead> read = Read(retention);
    return read.ok() ? "no error" : read.status().message();
  }

  const TempDirectory directory_;
  std::vector<std::string> files_;
};

constexpr const char* kExample = R"(
    keep:
      - {from: trusted}
      - {kinds: [0, 3, 10002], from: newcomer}
      - {authors: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]}
    remove:
      - {kinds: [7], older_than: 30d}
      - {kinds: [1, 1111], below: regular, older_than: 90d}
      - {older_than: 730d, all: true}
)";

TEST_F(RetentionRulesTest, SaysWhatIsRemovedKeptAndWhy) {
  const RetentionRules rules = MustRead(kExample);
  struct Case {
    uint16_t kind;
    uint64_t days;
    Rung rung;
    std::optional<size_t> removed_by;
    std::string sentence;
  };
  const std::string a = std::string(64, 'a');
  for (const Case& c : std::vector<Case>{
           {7, 29, Rung::kStranger, {}, "remove[0]: removed when it is 30 days old, in 24 h"},
           {7, 30, Rung::kStranger, 0, "remove[0]: removed, because it is older than 30 days"},
           {7, 30, Rung::kRegular, 0, "remove[0]: removed"},
           {7, 900, Rung::kTrusted, {}, "keep[0]: kept"},
           {1, 100, Rung::kNewcomer, 1, "remove[1]: removed"},
           {1, 100, Rung::kRegular, {}, "remove[2]: removed when it is 730 days old"},
           {1, 731, Rung::kRegular, 2, "remove[2]: removed"},
           {0, 900, Rung::kStranger, 2, "remove[2]: removed"},
           {0, 900, Rung::kNewcomer, {}, "keep[1]: kept"},
       }) {
    const Event event = ToEvent(Plain(Author(1), kNow - c.days * kDay, c.kind));
    EXPECT_EQ(rules.RemovedBy(event.view(), c.rung, kNow), c.removed_by) << c.kind << ", " << c.days;
    EXPECT_TRUE(Has(rules.Explain(event.view(), c.rung, kNow), "relay.retention." + c.sentence))
        << rules.Explain(event.view(), c.rung, kNow);
  }
  const Event kept = ToEvent(Plain(a, 0, 7));
  EXPECT_EQ(rules.RemovedBy(kept.view(), Rung::kReported, kNow), std::nullopt);
  EXPECT_EQ(rules.KeptBy(kept.view(), Rung::kReported), 2U);
  const Event future = ToEvent(Plain(Author(1), kNow + 10, 7));
  EXPECT_EQ(rules.RemovedBy(future.view(), Rung::kStranger, kNow), std::nullopt);
  EXPECT_TRUE(rules.AsksForStanding());
  EXPECT_EQ(MustRead("    remove: [{kinds: [7], older_than: 1h}]")
                .Explain(ToEvent(Plain(a, kNow, 1)).view(), Rung::kStranger, kNow),
            "relay.retention: no rule removes it");
}

TEST_F(RetentionRulesTest, DescribesEachRule) {
  const Result<RulesRead> read = Read(kExample);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const std::vector<std::string> lines = DescribeRules(read.value().rules->set());
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0],
            "relay.retention.keep[0]: events of all kinds by authors who stand at trusted or above are never removed");
  EXPECT_EQ(lines[4],
            "relay.retention.remove[1]: events of kinds 1, 1111 by authors who stand below regular are removed when "
            "they are 90 days old");
  EXPECT_EQ(read.value().summary, "6 rules");
}

TEST_F(RetentionRulesTest, CandidatesHaveEveryEventThatARuleRemoves) {
  const RetentionRules rules = MustRead(
      "    remove: [{kinds: [7, 30000-39999], older_than: 1d}, {kinds: [1, 5-8], "
      "authors: [" +
      Author(1) + "], older_than: 2d}]");
  const Filter wide = rules.remove[0].Candidates(kNow);
  EXPECT_EQ(wide.until, kNow - kDay);
  EXPECT_FALSE(wide.kinds) << "ten thousand kinds are no filter";
  const Filter narrow = rules.remove[1].Candidates(kNow);
  EXPECT_EQ(narrow.kinds, (std::vector<uint16_t>{1, 5, 6, 7, 8}));
  EXPECT_EQ(narrow.authors, (std::vector<PublicKey>{ToBytes(Author(1))}));
}

TEST_F(RetentionRulesTest, TermsForClientsLeaveOutWhatHoldsForSomeAuthors) {
  const std::vector<RetentionTerm> terms = TermsOf(MustRead(R"(
    keep: [{kinds: [0, 3]}, {kinds: [10002], from: newcomer}]
    remove: [{kinds: [0-7], older_than: 30d}, {kinds: [1], below: regular, older_than: 1d}, {kinds: [9], authors: [)" +
                                                            Author(1) + "], older_than: 1h}]"));
  ASSERT_EQ(terms.size(), 3U);
  EXPECT_EQ(terms[0].kinds.InWords(), "0, 3");
  EXPECT_EQ(terms[0].seconds, std::nullopt);
  EXPECT_EQ(terms[1].kinds.InWords(), "1-2, 4-7");
  EXPECT_EQ(terms[1].seconds, 30 * kDay);
  EXPECT_EQ(terms[2].kinds.InWords(), "1");
}

TEST_F(RetentionRulesTest, RefusesWhatCannotBeMeant) {
  struct Case {
    const char* retention;
    const char* error;
  };
  for (const Case& c : std::vector<Case>{
           {"    remove: [{older_than: 30d}]", "weir.yaml:3:27: relay.retention.remove[0].older_than: is the only"},
           {"    remove: [{older_than: 30d}]", "say `all: true`"},
           {"    remove: [{kinds: [0-65535], older_than: 30d}]", "say `all: true`"},
           {"    remove: [{older_than: 30d, all: false}]", "expected true"},
           {"    remove: [{kinds: [7], older_than: 30d, all: true}]", "has no effect"},
           {"    remove: [{kinds: [7]}]", "older_than"},
           {"    remove: [{kinds: [7], older_than: 30s}]", "less than a minute"},
           {"    remove: [{kinds: [7], older_than: 0d}]", "less than a minute"},
           {"    remove: [{kinds: [7], older_than: soon}]", "expected a time such as 30d"},
           {"    remove: [{kinds: [7], older_than: 30d, from: regular}]", "from"},
           {"    remove: [{kinds: [7], older_than: 30d, below: reported}]", "reported"},
           {"    remove: []", "empty list"},
           {"    keep: [{}]", "keeps every event"},
           {"    keep: [{kinds: [0-65535]}]", "keeps every event"},
           {"    keep: [{kinds: [7]}]\n    remove: [{kinds: [7], older_than: 30d}]", "keep[0] keeps all its events"},
           {"    remove: [{kinds: [1-7], older_than: 1d}, {kinds: [7], older_than: 30d}]",
            "remove[0] removes all its events earlier"},
           {"    remove: [{kinds: [7], older_than: 1d}, {kinds: [7], older_than: 1d}]", "remove[1]: removes nothing"},
           {"    removed: []", "removed"},
       })
    EXPECT_TRUE(Has(ErrorOf(c.retention), c.error)) << c.retention << "\n" << ErrorOf(c.retention);
}

TEST_F(RetentionRulesTest, HasAnEndOfRules) {
  std::string many = "    remove:\n";
  for (int i = 0; i < 65; ++i) many += "      - {kinds: [" + std::to_string(i) + "], older_than: 1d}\n";
  EXPECT_TRUE(Has(ErrorOf(many), "weir.yaml:68:9: ")) << ErrorOf(many);
  EXPECT_TRUE(Has(ErrorOf(many), "more than 64 rules"));
}

}  // namespace
}  // namespace weir
