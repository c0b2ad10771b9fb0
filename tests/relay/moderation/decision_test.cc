// The subjects and texts of decisions, and their JSON.
#include "relay/moderation/decision.h"

#include <gtest/gtest.h>

#include "config/text/json_writer.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

const std::string kHex = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

TEST(DecisionTest, EachSubjectHasOneForm) {
  const struct {
    DecisionList list;
    std::string given;
    std::string kept;
  } cases[] = {
      {DecisionList::kBannedAuthors, "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff", kHex},
      {DecisionList::kAllowedEvents, kHex, kHex},
      {DecisionList::kAllowedKinds, "0001", "1"},
      {DecisionList::kDisallowedKinds, "65535", "65535"},
      {DecisionList::kBlockedAddresses, "2001:0db8:0:0::1", "2001:db8::1"},
      {DecisionList::kBlockedAddresses, "::ffff:192.0.2.7", "192.0.2.7"},
      {DecisionList::kBlockedAddresses, "192.0.2.7/32", "192.0.2.7"},
      {DecisionList::kBlockedAddresses, "10.0.0.0/08", "10.0.0.0/8"},
      {DecisionList::kBlockedAddresses, "2001:db8::/32", "2001:db8::/32"},
      {DecisionList::kRoles, "writers-2", "writers-2"},
      {DecisionList::kMembers, kHex + " writers", kHex + " writers"},
      {DecisionList::kRelayTexts, "icon", "icon"},
  };
  for (const auto& c : cases) {
    const Result<std::string> subject = SubjectFor(c.list, c.given);
    ASSERT_TRUE(subject.ok()) << subject.status().message();
    EXPECT_EQ(subject.value(), c.kept);
    EXPECT_EQ(SubjectFor(c.list, c.kept).value(), c.kept);
  }
}

TEST(DecisionTest, AWrongSubjectIsNamed) {
  const struct {
    DecisionList list;
    std::string given;
    std::string error;
  } cases[] = {
      {DecisionList::kBannedAuthors, "", "\"\" is not a public key of 64 hex digits"},
      {DecisionList::kBannedAuthors, kHex + "0", "is not a public key of 64 hex digits"},
      {DecisionList::kBannedEvents, kHex.substr(1) + "g", "is not an event's id of 64 hex digits"},
      {DecisionList::kAllowedKinds, "65536", "the kind \"65536\" is "},
      {DecisionList::kAllowedKinds, "-1", "the kind \"-1\" is "},
      {DecisionList::kBlockedAddresses, "10.0.0.1/8", "has bits beyond its prefix; the network is 10.0.0.0/8"},
      {DecisionList::kBlockedAddresses, "example.com", "is not an address or network"},
      {DecisionList::kRoles, "two words", "is not the id of a role"},
      {DecisionList::kRoles, std::string(65, 'r'), "is not the id of a role"},
      {DecisionList::kMembers, kHex, "\"\" is not the id of a role"},
      {DecisionList::kMembers, "writers", "\"writers\" is not a public key"},
      {DecisionList::kRelayTexts, "banner", "\"banner\" is not a text of the relay"},
  };
  for (const auto& c : cases) {
    const Result<std::string> subject = SubjectFor(c.list, c.given);
    ASSERT_FALSE(subject.ok()) << c.given;
    EXPECT_TRUE(Has(subject.status().message(), c.error)) << subject.status().message();
  }
  EXPECT_FALSE(Has(SubjectFor(DecisionList::kBannedAuthors, "nsec1secret").status().message(), "secret"));
}

TEST(DecisionTest, TextsAreBounded) {
  ModerationDecision decision{.list = DecisionList::kBannedAuthors, .subject = kHex};
  decision.reason = std::string(ModerationDecision::kMostReasonBytes, 'r');
  EXPECT_TRUE(Normalize(&decision).ok());
  decision.reason += "r";
  EXPECT_EQ(Normalize(&decision).message(), "the reason has 1025 bytes, which is more than 1024");
  decision.reason = "\xff";
  EXPECT_EQ(Normalize(&decision).message(), "the reason is not UTF-8");
  decision = {.list = DecisionList::kRoles, .subject = "r", .detail = "[1]"};
  EXPECT_EQ(Normalize(&decision).message(), "the detail of a role is not a JSON object");
  decision.detail = R"({"label":"L","order":1})";
  EXPECT_TRUE(Normalize(&decision).ok());
}

TEST(DecisionTest, JsonComesBack) {
  ModerationDecision decision{DecisionList::kRelayTexts, "description", "because \"x\"\n", "Ä \\ text", "npub1x", 12};
  JsonWriter json(JsonWriter::Layout::kCompact);
  AppendDecision(decision, json);
  const std::string text = std::move(json).Text();
  const Result<ModerationDecision> read = ReadDecision(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().list, decision.list);
  EXPECT_EQ(read.value().subject, decision.subject);
  EXPECT_EQ(read.value().reason, decision.reason);
  EXPECT_EQ(read.value().detail, decision.detail);
  EXPECT_EQ(read.value().by, decision.by);
  EXPECT_EQ(read.value().at_seconds, decision.at_seconds);
}

TEST(DecisionTest, WrongJsonIsNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"[]", "JSON must have {"},
      {R"({"list":"banned","subject":"x"})", "there is no list \"banned\""},
      {R"({"subject":"x"})", "there is no list \"\""},
      {R"({"list":"roles","list":"roles","subject":"x"})", "\"list\" must be one string"},
      {R"({"list":1})", "\"list\" must be one string"},
      {R"({"list":"roles","subject":"x","at":"now"})", "\"at\" must be a whole number of seconds, not \"now\""},
      {R"({"list":"roles","subject":"x","who":"me"})", "unknown field \"who\""},
      {R"({"list":"roles","subject":"x"} {})", "there is text behind the object"},
      {R"({"list":"roles","subject":"x")", "JSON must have"},
  };
  for (const auto& [json, error] : cases) {
    const Result<ModerationDecision> read = ReadDecision(json);
    ASSERT_FALSE(read.ok()) << json;
    EXPECT_TRUE(Has(read.status().message(), error)) << read.status().message();
  }
}

TEST(DecisionTest, EachListHasAName) {
  for (size_t i = 0; i < kDecisionLists; ++i) {
    const auto list = static_cast<DecisionList>(i);
    EXPECT_EQ(DecisionListOf(NameOf(list)), list);
    const std::optional<DecisionList> opposite = OppositeOf(list);
    EXPECT_TRUE(!opposite || OppositeOf(*opposite) == list);
  }
  EXPECT_EQ(DecisionListOf("friends"), std::nullopt);
}

}  // namespace
}  // namespace weir
