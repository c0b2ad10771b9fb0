// Decisions hold at once, survive a restart, and are all or nothing.
#include "relay/moderation/moderation.h"

#include "tests/fixtures/has_text.h"
#include "tests/relay/moderation/moderation_suite.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, ModerationSuite, EachStore(), NameOfStore);

struct Example {
  DecisionList list;
  std::string subject;
  std::string detail;
};

std::vector<Example> OneOfEach() {
  return {{DecisionList::kBannedAuthors, Author(1), ""},
          {DecisionList::kAllowedAuthors, Author(2), ""},
          {DecisionList::kBannedEvents, Author(3), ""},
          {DecisionList::kAllowedEvents, Author(4), ""},
          {DecisionList::kAllowedKinds, "1", ""},
          {DecisionList::kDisallowedKinds, "7", ""},
          {DecisionList::kBlockedAddresses, "10.0.0.0/8", ""},
          {DecisionList::kRoles, "writers", R"({"label":"Writers"})"},
          {DecisionList::kMembers, Author(5) + " writers", ""},
          {DecisionList::kRelayTexts, "name", "Ä relay"}};
}

TEST_P(ModerationSuite, DecisionsOfEveryListSurviveARestart) {
  for (const Example& e : OneOfEach()) EXPECT_EQ(relay().Put(e.list, e.subject, e.detail), "") << NameOf(e.list);
  for (int restarts = 0; restarts < 2; ++restarts) {
    for (const Example& e : OneOfEach()) {
      const auto found = relay()->Find(e.list, e.subject);
      ASSERT_TRUE(found.has_value()) << NameOf(e.list);
      EXPECT_EQ(found->detail, e.detail);
      EXPECT_EQ(found->reason + found->by, "whyme");
      EXPECT_EQ(found->at_seconds, ModeratedRelay::kStart);
      EXPECT_EQ(relay()->size(e.list), 1U);
    }
    EXPECT_EQ(relay()->Text("name"), "Ä relay");
    EXPECT_EQ(relay()->Text("icon"), std::nullopt);
    const Event event = ToEvent(Plain(Author(1), 1000, 1));
    EXPECT_EQ(relay().RefusalOf(event), "blocked: this author was banned by this relay's administrators");
    EXPECT_FALSE(relay().rules.MaySee(event.view()));
    Restart();
  }
}

TEST_P(ModerationSuite, WhatIsRevokedIsGoneAfterARestartToo) {
  for (const Example& e : OneOfEach()) {
    EXPECT_EQ(relay().Put(e.list, e.subject, e.detail), "");
    EXPECT_TRUE(relay()->Revoke(e.list, e.subject, "me").value());
    EXPECT_FALSE(relay()->Revoke(e.list, e.subject, "me").value()) << "it is not there any more";
    if (e.list == DecisionList::kRoles) relay().Put(e.list, e.subject, e.detail);
  }
  Restart();
  for (size_t list = 0; list < kDecisionLists; ++list)
    EXPECT_EQ(relay()->size(static_cast<DecisionList>(list)), list == size_t{7} ? 1U : 0U) << kDecisionListNames[list];
  EXPECT_TRUE(relay().rules.MaySee(ToEvent(Plain(Author(1), 1000, 1)).view()));
}

TEST_P(ModerationSuite, TheOppositeListLosesTheSubject) {
  const std::pair<DecisionList, DecisionList> opposites[] = {
      {DecisionList::kBannedAuthors, DecisionList::kAllowedAuthors},
      {DecisionList::kBannedEvents, DecisionList::kAllowedEvents},
      {DecisionList::kAllowedKinds, DecisionList::kDisallowedKinds}};
  for (const auto& [one, other] : opposites) {
    const std::string subject = one == DecisionList::kAllowedKinds ? "5" : Author(1);
    for (const auto& [into, out_of] : {std::pair(one, other), std::pair(other, one), std::pair(one, other)}) {
      EXPECT_EQ(relay().Put(into, subject), "");
      EXPECT_TRUE(relay()->Find(into, subject));
      EXPECT_FALSE(relay()->Find(out_of, subject)) << NameOf(out_of);
    }
  }
}

TEST_P(ModerationSuite, AnAdministratorCannotBeBanned) {
  EXPECT_TRUE(Has(relay().Put(DecisionList::kBannedAuthors, Author(99)), "is an administrator of this relay"));
  EXPECT_EQ(relay()->size(DecisionList::kBannedAuthors), 0U);
  const auto imported =
      relay()->Import(R"({"weir_moderation":1,"decisions":[{"list":"banned_authors","subject":")" + Author(1) +
                          R"("},{"list":"banned_authors","subject":")" + Author(99) + R"("}]})",
                      "me");
  EXPECT_TRUE(Has(imported.status().message(), "decisions[1]: npub1")) << imported.status().message();
  EXPECT_EQ(relay()->size(DecisionList::kBannedAuthors), 0U) << "all or none";
  EXPECT_EQ(relay().Put(DecisionList::kAllowedAuthors, Author(99)), "");
}

TEST_P(ModerationSuite, ADocumentIsExportedAndImportedElsewhere) {
  for (const Example& e : OneOfEach()) EXPECT_EQ(relay().Put(e.list, e.subject, e.detail), "");
  const std::string document = relay()->Export();
  const auto elsewhere = GetParam().make();
  const auto store = elsewhere->Open();
  ModeratedRelay other(*store, Author(99));
  EXPECT_EQ(other.Put(DecisionList::kAllowedAuthors, Author(1)), "") << "the document bans the author";
  EXPECT_EQ(other->Import(document, "somebody").value(), OneOfEach().size());
  EXPECT_EQ(other->Export(), document);
  EXPECT_EQ(other->Import(document, "somebody").value(), OneOfEach().size()) << "a second time";
  EXPECT_EQ(other->Export(), document);
}

TEST_P(ModerationSuite, MembersOfARoleMayWriteUntilTheyLoseTheLastOne) {
  RuleSet set;
  set.allow_write.authors = KeySet({ToBytes(Author(50))});
  relay().rules.Use(std::make_shared<Rules>(set));
  const Event event = ToEvent(Plain(Author(1), 1000, 1));
  EXPECT_TRUE(Has(relay().Put(DecisionList::kMembers, Author(1) + " a"), "there is no role \"a\""));
  for (const char* role : {"a", "b"}) {
    EXPECT_EQ(relay().Put(DecisionList::kRoles, role), "");
    EXPECT_EQ(relay().Put(DecisionList::kMembers, Author(1) + " " + role), "");
  }
  EXPECT_EQ(relay().RefusalOf(event), "");
  EXPECT_TRUE(relay()->Revoke(DecisionList::kMembers, Author(1) + " a", "me").value());
  EXPECT_EQ(relay().RefusalOf(event), "") << "the role b is left";
  EXPECT_TRUE(relay()->Revoke(DecisionList::kRoles, "b", "me").value());
  EXPECT_EQ(relay()->size(DecisionList::kMembers), 0U) << "a role takes its members with it";
  EXPECT_TRUE(Has(relay().RefusalOf(event), "restricted:"));
}

TEST_P(ModerationSuite, AFullListTakesNoMore) {
  std::string roles;
  for (size_t n = 0; n <= MostDecisionsOf(DecisionList::kRoles); ++n)
    roles += std::string(n == 0 ? "" : ",") + R"({"list":"roles","subject":")" + std::to_string(n) + "\"}";
  const auto imported = relay()->Import(R"({"weir_moderation":1,"decisions":[)" + roles + "]}", "me");
  EXPECT_TRUE(Has(imported.status().message(), "roles can have at most 1000 decisions")) << imported.status().message();
  EXPECT_EQ(relay()->size(DecisionList::kRoles), 0U);
}

TEST_P(ModerationSuite, ListsAreReadPageByPage) {
  for (uint64_t n = 1; n <= 5; ++n) EXPECT_EQ(relay().Put(DecisionList::kBannedEvents, Author(n)), "");
  std::vector<std::string> subjects;
  for (std::vector<ModerationDecision> page = relay()->List(DecisionList::kBannedEvents, "", 2); !page.empty();
       page = relay()->List(DecisionList::kBannedEvents, subjects.back(), 2)) {
    EXPECT_LE(page.size(), 2U);
    for (const ModerationDecision& decision : page) subjects.push_back(decision.subject);
  }
  std::vector<std::string> all;
  for (uint64_t n = 1; n <= 5; ++n) all.push_back(Author(n));
  std::ranges::sort(all);
  EXPECT_EQ(subjects, all);
}

}  // namespace
}  // namespace weir
