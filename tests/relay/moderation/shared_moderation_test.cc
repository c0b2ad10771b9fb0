// Moderation of relays that share a PostgreSQL database.
#include "tests/fixtures/has_text.h"
#include "tests/relay/moderation/moderation_suite.h"

namespace weir {
namespace {

class PostgresModerationTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
    database_ = std::make_unique<PostgresDatabase>();
    store_ = MustOpen(database_->Options("one"));
    one_ = std::make_unique<ModeratedRelay>(*store_, Author(99));
  }

  std::unique_ptr<PostgresDatabase> database_;
  std::unique_ptr<PostgresStore> store_;
  std::unique_ptr<ModeratedRelay> one_;
};

TEST_F(PostgresModerationTest, WhatOneRelayDecidesHoldsAtTheOthers) {
  const auto store = MustOpen(database_->Options("two"));
  ModeratedRelay two(*store, Author(99));
  const Event event = ToEvent(Plain(Author(1), 1000, 1));
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_TRUE(Eventually([&] { return !two.rules.MaySee(event.view()); }));
  EXPECT_EQ(two->Find(DecisionList::kBannedAuthors, Author(1))->by, "me");
  EXPECT_EQ(two.Put(DecisionList::kAllowedAuthors, Author(1)), "");
  EXPECT_TRUE(Eventually([&] { return one_->rules.MaySee(event.view()); }));
  EXPECT_EQ((*one_)->size(DecisionList::kBannedAuthors), 0U);
  EXPECT_EQ((*one_)->size(DecisionList::kAllowedAuthors), 1U);
}

TEST_F(PostgresModerationTest, ADecisionKnowsThatOfAnotherRelayJustBefore) {
  const auto store = MustOpen(database_->Options("two"));
  ModeratedRelay two(*store, Author(99));
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_EQ(two.Put(DecisionList::kAllowedAuthors, Author(1)), "");
  EXPECT_FALSE(two->Find(DecisionList::kBannedAuthors, Author(1))) << "the opposite list loses it";
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(2)), "");
  EXPECT_TRUE(two->Revoke(DecisionList::kBannedAuthors, Author(2), "me").value());
}

TEST_F(PostgresModerationTest, RelaysThatBanTheSameAuthorRemoveItTogether) {
  const auto store = MustOpen(database_->Options("two"));
  ModeratedRelay two(*store, Author(99));
  std::vector<Event> events;
  for (uint64_t n = 0; n < 2000; ++n) events.push_back(ToEvent(Plain(Author(1), 1000 + n, 1)));
  one_->Save(events);
  std::thread other([&] { EXPECT_EQ(two.Put(DecisionList::kBannedAuthors, Author(1)), ""); });
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(1)), "");
  other.join();
  const auto left = [&] { return database_->Ask("SELECT count(*) FROM weir_events"); };
  EXPECT_TRUE(Eventually([&] {
    one_->LookAgain();
    two.LookAgain();
    return left() == "0";
  }));
  EXPECT_EQ(database_->Ask("SELECT coalesce(sum(events), 0) FROM weir_origins"), "0");
}

TEST_F(PostgresModerationTest, AWriteThatFailsChangesNothing) {
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(1)), "");
  database_->Ask("ALTER TABLE weir_memos RENAME TO elsewhere");
  EXPECT_TRUE(Has(one_->Put(DecisionList::kBannedAuthors, Author(2)), "the decision cannot be stored: "));
  EXPECT_FALSE((*one_)->Revoke(DecisionList::kBannedAuthors, Author(1), "me").ok());
  EXPECT_EQ((*one_)->size(DecisionList::kBannedAuthors), 1U);
  EXPECT_FALSE(one_->rules.MaySee(ToEvent(Plain(Author(1), 1000, 1)).view()));
  EXPECT_TRUE(one_->rules.MaySee(ToEvent(Plain(Author(2), 1000, 1)).view()));
  database_->Ask("ALTER TABLE elsewhere RENAME TO weir_memos");
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(2)), "");
}

TEST_F(PostgresModerationTest, ARemovalThatFailsIsTriedAgain) {
  one_->Save({ToEvent(Plain(Author(1), 1000, 1))});
  database_->Ask("ALTER TABLE weir_events RENAME TO elsewhere");
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(1)), "");
  one_->LookAgain();
  EXPECT_FALSE(one_->IsRemoved(1));
  database_->Ask("ALTER TABLE elsewhere RENAME TO weir_events");
  EXPECT_TRUE(Eventually([&] {
    one_->clock.Advance(BanRemovals::kSettlesAfterSeconds);
    one_->LookAgain();
    return one_->IsRemoved(1);
  }));
}

TEST_F(PostgresModerationTest, ARemovalThatFailsHoldsUpNoOther) {
  constexpr uint64_t kEvents = 2000;
  std::vector<Event> events{ToEvent(Plain(Author(1), 1000, 1))};
  for (uint64_t n = 0; n < kEvents; ++n) events.push_back(ToEvent(Plain(Author(2), 1000 + n, 1)));
  one_->Save(events);
  database_->Ask("CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE 'damaged'; END $$ LANGUAGE plpgsql");
  database_->Ask("CREATE TRIGGER refuse BEFORE DELETE ON weir_events FOR EACH ROW WHEN (OLD.pubkey = '\\x" + Author(1) +
                 "'::bytea) EXECUTE FUNCTION refuse()");
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(2)), "");
  one_->LookAgain();
  EXPECT_TRUE(Eventually([&] { return database_->Ask("SELECT count(*) FROM weir_events") == "1"; }));
}

TEST_F(PostgresModerationTest, AnImportOfManyDecisionsTakesSeveralWrites) {
  std::string decisions;
  for (uint64_t n = 0; n < 800; ++n) {
    decisions += R"({"list":"banned_authors","subject":")" + Author(1000 + n) + "\"},";
    decisions += R"({"list":"allowed_kinds","subject":")" + std::to_string(n) + "\"},";
  }
  decisions.pop_back();
  const auto imported = (*one_)->Import(R"({"weir_moderation":1,"decisions":[)" + decisions + "]}", "me");
  EXPECT_EQ(imported.value(), 1600U) << imported.status().message();
  const auto writes_of = [&](const std::string& names) {
    return database_->Ask("SELECT count(DISTINCT revision) FROM weir_memos WHERE name LIKE '" + names + "'");
  };
  EXPECT_GE(std::stoi(writes_of("decision/banned_authors/%")), 3);
  EXPECT_EQ(writes_of("decision/allowed_kinds/%"), "1") << "a part of this list would refuse the other kinds";
  EXPECT_EQ((*one_)->size(DecisionList::kBannedAuthors), 800U);
  EXPECT_EQ((*one_)->size(DecisionList::kAllowedKinds), 800U);
}

// The new primary lacks a write, so its next one has the same revision.
TEST_F(PostgresModerationTest, ABanAfterAFailoverHoldsToo) {
  const auto store = MustOpen(database_->Options("two"));
  ModeratedRelay two(*store, Author(99));
  const auto may_see = [&](uint64_t author) {
    return two.rules.MaySee(ToEvent(Plain(Author(author), 1000, 1)).view());
  };
  EXPECT_EQ(one_->Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_TRUE(Eventually([&] { return !may_see(1); }));
  one_.reset();
  database_->Ask("SELECT pg_stat_reset()");
  database_->Ask("ALTER TABLE weir_memos RENAME TO elsewhere");
  EXPECT_TRUE(Eventually([&] {
    return database_->Ask("SELECT xact_rollback > 0 FROM pg_stat_database WHERE datname = current_database()") == "t";
  })) << "the relay has asked in vain";
  database_->Ask("UPDATE elsewhere SET name = replace(name, '" + Author(1) + "', '" + Author(2) +
                 "'), text = replace(text, '" + Author(1) + "', '" + Author(2) + "')");
  database_->Ask("ALTER TABLE elsewhere RENAME TO weir_memos");
  EXPECT_TRUE(Eventually([&] { return !may_see(2); }));
}

TEST_F(PostgresModerationTest, ADatabaseOfAnOlderWeirGetsTheTable) {
  one_.reset();
  store_.reset();
  database_->Ask("DROP TABLE weir_memos");
  std::vector<std::unique_ptr<PostgresStore>> stores(2);
  std::thread other([&] { stores[1] = MustOpen(database_->Options("two")); });
  stores[0] = MustOpen(database_->Options("one"));
  other.join();
  ASSERT_TRUE(stores[0] != nullptr && stores[1] != nullptr);
  ModeratedRelay relay(*stores[0], Author(99));
  EXPECT_EQ(relay.Put(DecisionList::kBannedAuthors, Author(1)), "");
}

}  // namespace
}  // namespace weir
