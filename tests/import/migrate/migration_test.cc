// Migrations from a RocksDB to a PostgreSQL: both end up the same, however often one was begun.
#include "import/migrate/migration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/postgres/postgres_fixture.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class MigrationTest : public testing::Test {
 protected:
  void SetUp() override {
    StorageOptions options{.data_dir = directory_ / "to", .own_urls = {RandomNostr::kOwnUrl}, .for_import = true};
    options.settings.store = database_.url();
    options.settings.memory.target_memory_mb = 4096;
    auto opened = Storage::Open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    to_ = std::move(opened).value();
  }

  MigrationProgress Copy(const MigrationOptions& options = {}) {
    const Result<MigrationProgress> copied = CopyAll(*from_, *to_, options);
    EXPECT_TRUE(copied.ok()) << copied.status().message();
    return copied.ok() ? copied.value() : MigrationProgress();
  }
  std::string Comparison() {
    const Result<CheckReport> report = CompareWith(*from_, *to_, {});
    return report.ok() ? ComparisonText(report.value()) : report.status().message();
  }

  static std::vector<std::string> SortedIds(const EventStore& store) {
    std::vector<std::string> ids = StoredIds(store);
    std::ranges::sort(ids);
    return ids;
  }
  void ExpectInBoth(const std::vector<PlainEvent>& events) {
    std::vector<std::string> ids;
    for (const PlainEvent& event : events) ids.push_back(event.id);
    std::ranges::sort(ids);
    EXPECT_EQ(SortedIds(*from_), ids);
    EXPECT_EQ(SortedIds(to_->store()), ids);
  }
  // The event expires, so that only its marks show what it did.
  void SaveForAWhile(const std::string& author, uint16_t kind, std::vector<Tag> tags) {
    tags.push_back({"expiration", std::to_string(RandomNostr::kStart + 10)});
    SaveAll(*from_, {Plain(author, RandomNostr::kStart + 3, kind, std::move(tags))});
    EXPECT_EQ(from_->RemoveExpired(RandomNostr::kStart + 20, kTurnWork).value().removed, 1U);
  }

  const TempDirectory directory_;
  PostgresDatabase database_;
  std::unique_ptr<RocksDbStore> from_ = MustOpen(SmallStore(directory_ / "from"));
  std::unique_ptr<Storage> to_;
};

TEST_F(MigrationTest, CopiesMemosAgainAndAgain) {
  const auto memos = [this] {
    std::string all;
    const auto add = [&all](const Memo& memo) { all += memo.name + "=" + memo.text.value_or("-") + " "; };
    EXPECT_TRUE(to_->store().ReadMemos(0, add).ok());
    return all;
  };
  Copy();
  EXPECT_EQ(memos(), "");
  for (const char* text : {"one", "two"}) {
    const Memo memo{"decision/banned_authors/a", text};
    ASSERT_TRUE(from_->WriteMemos({&memo, 1}).ok());
    Copy();
    EXPECT_EQ(memos(), std::string("decision/banned_authors/a=") + text + " ");
  }
}

TEST_F(MigrationTest, CopiesManyMemosInSeveralWrites) {
  std::vector<Memo> memos;
  for (int i = 0; i < 1200; ++i) memos.push_back({"decision/banned_events/" + std::to_string(i), "text"});
  ASSERT_TRUE(from_->WriteMemos(memos).ok());
  Copy();
  EXPECT_EQ(database_.Ask("SELECT count(*) FROM weir_memos WHERE text IS NOT NULL"), "1200");
  EXPECT_EQ(database_.Ask("SELECT revision FROM weir_memos WHERE name = ''"), "3");
}

// The history has everything that deletes, replaces, expires and vanishes.
TEST_F(MigrationTest, CopiesEventsAndMarksAndThenWhatCameSince) {
  const RandomNostr random(5, 3000);
  const auto half = static_cast<std::ptrdiff_t>(random.events().size() / 2);
  const std::vector<PlainEvent> first(random.events().begin(), random.events().begin() + half);
  const std::vector<PlainEvent> rest(random.events().begin() + half, random.events().end());
  SaveAll(*from_, first, 0);
  const uint64_t before = from_->Sizes().events;
  EXPECT_EQ(Copy().saved, before);
  EXPECT_NE(Comparison().find(": the same in both"), std::string::npos) << Comparison();
  SaveAll(*from_, rest, 0);
  const uint64_t came = Copy().events;
  EXPECT_GT(came, 0U);
  EXPECT_LT(came, from_->Sizes().events);
  EXPECT_EQ(SortedIds(to_->store()), SortedIds(*from_)) << "what is gone is gone there, too";
  EXPECT_NE(Comparison().find(": the same in both"), std::string::npos) << Comparison();
}

TEST_F(MigrationTest, GoesOnFromWhereItWas) {
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 1500; ++i) events.push_back(Plain(Author(i % 7), RandomNostr::kStart + i, 1));
  SaveAll(*from_, events, 0);
  // Makes it look like a migration that ended after a thousand events were written and fewer were noted.
  uint64_t seen = 0;
  ASSERT_TRUE(CopyAll(*from_, *to_, {.on_progress = [&](const MigrationProgress& p) { seen = p.events; }}).ok());
  EXPECT_EQ(seen, 1500U);
  const std::string last = database_.Ask("SELECT min(serial) + 999 FROM weir_events");
  database_.Ask("DELETE FROM weir_tags WHERE id IN (SELECT id FROM weir_events WHERE serial > " + last + ")");
  database_.Ask("DELETE FROM weir_events WHERE serial > " + last);
  database_.Ask("UPDATE weir_meta SET value = '512' WHERE key LIKE 'migrated %'");
  const MigrationProgress again = Copy();
  EXPECT_EQ(again.events, 988U);
  EXPECT_EQ(again.present, 488U);
  EXPECT_EQ(again.saved, 500U);
  EXPECT_NE(Comparison().find(": the same in both"), std::string::npos) << Comparison();
  EXPECT_EQ(Copy().events, 0U);
}

TEST_F(MigrationTest, FindsWhatIsMissingAndBringsItFromTheBeginning) {
  SaveAll(*from_, {Plain(Author(1), RandomNostr::kStart, 1), Plain(Author(2), RandomNostr::kStart, 1)}, 0);
  Copy();
  database_.Ask("DELETE FROM weir_events WHERE serial = (SELECT min(serial) FROM weir_events)");
  EXPECT_NE(Comparison().find("event only in the first: 1"), std::string::npos) << Comparison();
  EXPECT_EQ(Copy({.from_the_beginning = true}).saved, 1U);
  EXPECT_NE(Comparison().find(": the same in both"), std::string::npos) << Comparison();
}

TEST_F(MigrationTest, AMarkDeletesEventsThoughItsDeletionIsGone) {
  const PlainEvent note = Plain(Author(1), RandomNostr::kStart, 1);
  const PlainEvent article = Plain(Author(1), RandomNostr::kStart, 30023, {{"d", "a"}});
  const PlainEvent later_article = Plain(Author(1), RandomNostr::kStart + 4, 30023, {{"d", "b"}});
  const PlainEvent of_another = Plain(Author(2), RandomNostr::kStart, 1);
  const PlainEvent deletion = Plain(Author(1), RandomNostr::kStart, 5);
  SaveAll(*from_, {note, article, later_article});
  SaveAll(to_->store(), {note, article, later_article});
  const std::string address = "30023:" + Author(1);
  SaveForAWhile(
      Author(1), 5,
      {{"e", note.id}, {"a", address + ":a"}, {"a", address + ":b"}, {"e", of_another.id}, {"e", deletion.id}});
  SaveAll(*from_, {of_another, deletion});
  for (int round = 0; round < 2; ++round) {
    Copy();
    ExpectInBoth({later_article, of_another, deletion});
  }
}

TEST_F(MigrationTest, AMarkOfItsRecipientTakesAGiftWrap) {
  const PlainEvent wrap = Plain(Author(1), RandomNostr::kStart, 1059, {{"p", Author(2)}});
  const PlainEvent for_another = Plain(Author(1), RandomNostr::kStart, 1059, {{"e", Author(2)}, {"p", Author(3)}});
  SaveAll(*from_, {wrap, for_another});
  SaveAll(to_->store(), {wrap, for_another});
  SaveForAWhile(Author(2), 5, {{"e", wrap.id}, {"e", for_another.id}});
  Copy();
  ExpectInBoth({for_another});
}

TEST_F(MigrationTest, AMarkMakesRoomForAnOlderVersion) {
  const PlainEvent newer = Plain(Author(1), RandomNostr::kStart + 1, 0);
  const PlainEvent older = Plain(Author(1), RandomNostr::kStart, 0);
  SaveAll(to_->store(), {newer});
  SaveForAWhile(Author(1), 5, {{"e", newer.id}});
  SaveAll(*from_, {older});
  Copy();
  ExpectInBoth({older});
}

// The replacement was deleted by its id, or expired: neither leaves a mark of the address.
TEST_F(MigrationTest, AReplacedVersionGoesThoughItsReplacementIsGone) {
  SaveAll(*from_, {Plain(Author(1), RandomNostr::kStart + 1, 0), Plain(Author(2), RandomNostr::kStart + 1, 0)});
  Copy();
  const PlainEvent newer = Plain(Author(1), RandomNostr::kStart + 2, 0);
  const PlainEvent deletion = Plain(Author(1), RandomNostr::kStart + 3, 5, {{"e", newer.id}});
  const PlainEvent older = Plain(Author(1), RandomNostr::kStart, 0);
  SaveAll(*from_, {newer, deletion, older});
  SaveForAWhile(Author(2), 0, {});
  Copy();
  ExpectInBoth({deletion, older});
}

TEST_F(MigrationTest, RemovesThousandsThatAreGone) {
  std::vector<PlainEvent> events;
  std::vector<EventId> versions;
  std::vector<Tag> notes;
  for (uint64_t i = 0; i < 1100; ++i) {
    const std::string number = std::to_string(i);
    events.push_back(Plain(Author(1), RandomNostr::kStart, 30023, {{"d", number}}));
    versions.push_back(ToBytes(events.back().id));
    events.push_back(Plain(Author(1), RandomNostr::kStart, 1, {}, number));
    notes.push_back({"e", events.back().id});
  }
  SaveAll(*from_, events);
  EXPECT_EQ(Copy().saved, 2200U);
  EXPECT_EQ(from_->Delete(versions).value(), 1100U);
  SaveForAWhile(Author(1), 5, notes);
  Copy();
  ExpectInBoth({});
}

// An import may have saved the version, or a migration of a later state than this one.
TEST_F(MigrationTest, TakesNoVersionThatDidNotComeFromHere) {
  const PlainEvent imported = Plain(Author(1), RandomNostr::kStart, 0);
  const PlainEvent later = Plain(Author(2), RandomNostr::kStart, 0);
  SaveAll(to_->store(), {imported});
  SaveAll(*from_, {later});
  Copy();
  ASSERT_EQ(from_->Delete(std::vector{ToBytes(later.id)}).value(), 1U);
  database_.Ask("UPDATE weir_meta SET value = '2' WHERE key LIKE 'migrated %'");
  Copy();
  EXPECT_TRUE(to_->store().Has(ToBytes(imported.id)).value());
  EXPECT_TRUE(to_->store().Has(ToBytes(later.id)).value());
}

// The PostgreSQL's own relay may have clients already.
TEST_F(MigrationTest, EventsThatTheOtherReplacedOrDeletedAreNotMissing) {
  const PlainEvent profile = Plain(Author(1), RandomNostr::kStart, 0);
  const PlainEvent note = Plain(Author(1), RandomNostr::kStart, 1);
  const std::string address = "30023:" + Author(1) + ":a";
  SaveAll(*from_, {profile, note, Plain(Author(1), RandomNostr::kStart, 5, {{"a", address}})}, 0);
  Copy();
  SaveAll(to_->store(), {Plain(Author(1), RandomNostr::kStart + 1, 0),
                         Plain(Author(1), RandomNostr::kStart + 1, 5, {{"e", note.id}, {"a", address}})});
  EXPECT_NE(Comparison().find(": the same in both; the second has or knows"), std::string::npos) << Comparison();
}

// The copy may be older than the request: an event came to it since.
TEST_F(MigrationTest, RemovesEventsOfAnAuthorWhoVanishedAtTheSource) {
  const PlainEvent note = Plain(Author(1), RandomNostr::kStart, 1);
  SaveForAWhile(Author(1), 62, {{"relay", RandomNostr::kOwnUrl}});
  SaveAll(to_->store(), {note});
  Copy();
  EXPECT_FALSE(to_->store().Has(ToBytes(note.id)).value());
}

}  // namespace
}  // namespace weir
