// The index of words (relay/store/search/search_index.h): building it, keeping it up to date, and removing it.
#include "relay/store/search/search_index.h"

#include <signal.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/group_commit.h"
#include "rocksdb/db.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/store/child_process.h"
#include "tests/relay/store/search_fixture.h"

namespace weir {
namespace {

using SearchIndexTest = SearchTest;

class RocksDbSearchPlace final : public SearchPlace {
 public:
  std::unique_ptr<EventStore> Open(bool searches) override {
    options_.searched_kinds.reset();
    if (searches) options_.searched_kinds = kSearchedKinds;
    return MustOpen(options_);
  }
  std::string Difference(EventStore& store) override { return CheckText(static_cast<RocksDbStore&>(store)); }
  bool is_by_id() const override { return false; }
  Work most_step() const override { return kTurnWork / 10; }

 private:
  TempDirectory directory_;
  StoreOptions options_ = SmallStore(directory_ / "events");
};
INSTANTIATE_TEST_SUITE_P(RocksDb, SearchSuite,
                         testing::Values(SearchKind{"rocksdb", [] { return std::make_unique<RocksDbSearchPlace>(); }}),
                         [](const auto& test) { return test.param.name; });

TEST_F(SearchIndexTest, TheBuildOfAnOlderDatabaseGoesOnAfterEachEnd) {
  std::vector<PlainEvent> notes;
  for (uint64_t i = 0; i < 100; ++i) notes.push_back(Plain(Author(1), i, 1, {}, "word number " + std::to_string(i)));
  options_.searched_kinds.reset();
  SaveAll(*Open(), notes);
  options_.searched_kinds = kSearchedKinds;
  bool complete = true;
  size_t found = 0;
  for (int pieces = 0;; ++pieces) {
    const auto store = Open();
    EXPECT_EQ(CheckText(*store), "");
    const std::vector<std::string> contents = ContentsOf(*store, {SearchFor("word")}, &complete);
    ASSERT_GE(contents.size(), found);
    found = contents.size();
    if (found > 0) {
      EXPECT_TRUE(std::ranges::count(contents, "word number " + std::to_string(100 - found)) == 1);
    }
    const uint64_t left = store->Sizes().unsearched.value_or(1000);
    EXPECT_EQ(complete, left == 0);
    if (left == 0) {
      EXPECT_GT(pieces, 5);
      break;
    }
    const Result<OwedPiece> piece = store->BuildSearch(100'000);
    ASSERT_TRUE(piece.ok());
    ASSERT_GT(piece.value().removed, 0U);
  }
  EXPECT_EQ(found, 100U);
}

// Everything in the index of words.
std::string IndexOf(const StoreOptions& options) {
  const auto store = MustOpen(options);
  EXPECT_EQ(CheckText(*store), "");
  EXPECT_EQ(store->Sizes().unsearched, 0U);
  rocksdb::ReadOptions all;
  all.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> at(store->db()->NewIterator(all, store->families().back()));
  std::string entries;
  for (at->SeekToFirst(); at->Valid(); at->Next())
    entries += ToHex(ToView(at->key())) + "=" + ToHex(ToView(at->value())) + "\n";
  return entries;
}

TEST_F(SearchIndexTest, ABuildThatIsKilledAgainAndAgainEndsWithTheSameIndex) {
  std::vector<PlainEvent> notes;
  for (uint64_t i = 0; i < 2000; ++i) notes.push_back(Plain(Author(1), i, 1, {}, "word number " + std::to_string(i)));
  StoreOptions undisturbed = SmallStore(directory_ / "undisturbed");
  for (StoreOptions* options : {&options_, &undisturbed}) {
    options->searched_kinds.reset();
    SaveAll(*MustOpen(*options), notes);
    options->searched_kinds = std::vector<uint16_t>{1};
  }
  BuildAll(*MustOpen(undisturbed));
  int kills = 0;
  while (true) {
    const int ended = ChildProcess({}, AsChild("build", options_.path)).Wait();
    ASSERT_TRUE(ended == 0 || ended == -SIGKILL) << ended;
    if (ended == 0) break;
    ++kills;
  }
  EXPECT_GT(kills, 0);
  EXPECT_EQ(IndexOf(options_), IndexOf(undisturbed));
}

TEST_F(SearchIndexTest, EventsThatAreRemovedDuringTheBuildAreNotFound) {
  options_.searched_kinds.reset();
  const std::vector<PlainEvent> notes{Plain(Author(1), 1, 1, {}, "word one"), Plain(Author(1), 2, 1, {}, "word two"),
                                      Plain(Author(1), 3, 1, {}, "word three")};
  SaveAll(*Open(), notes);
  options_.searched_kinds = kSearchedKinds;
  const auto store = Open();
  ASSERT_TRUE(store->BuildSearch(1).ok());  // the newest
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), std::vector<std::string>{"word three"});
  SaveAll(*store, {Plain(Author(1), 9, 5, {{"e", notes[2].id}, {"e", notes[1].id}})});
  BuildAll(*store);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), std::vector<std::string>{"word one"});
  EXPECT_EQ(CheckText(*store), "");
}

// The key of the state, which is shorter than a word, comes next in the index.
TEST_F(SearchIndexTest, AWordBeforeTheStateIsFound) {
  const auto is_before = [](const std::string& text) {
    return Key::Of("").Number(WordsOf(text).words.front().word, 8).view() < kSearchStateKey;
  };
  std::string word = "word";
  while (!is_before(word)) word += "d";
  const auto store = Open();
  SaveAll(*store, {Plain(Author(1), 1, 1, {}, word)});
  EXPECT_EQ(ContentsOf(*store, {SearchFor(word)}), std::vector<std::string>{word});
  ASSERT_TRUE(store->Flush().ok());
  EXPECT_EQ(ContentsOf(*store, {SearchFor(word)}), std::vector<std::string>{word});
}

TEST_F(SearchIndexTest, AnotherListOfKindsBeginsANewIndex) {
  SaveAll(*Open(), {Plain(Author(1), 1, 1, {}, "word one"), Plain(Author(1), 2, 42, {}, "word two")});
  options_.searched_kinds = std::vector<uint16_t>{42};
  const auto store = Open();
  EXPECT_EQ(store->Sizes().unsearched, 2U);
  BuildAll(*store);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), std::vector<std::string>{"word two"});
}

TEST_F(SearchIndexTest, AProgramWithoutTheSettingKeepsTheIndex) {
  SaveAll(*Open(), {Plain(Author(1), 1, 1, {}, "word one")});
  options_.searched_kinds.reset();  // an import
  SaveAll(*Open(), {Plain(Author(1), 2, 1, {}, "word two")});
  options_.read_only = true;
  const auto store = Open();
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), (std::vector<std::string>{"word two", "word one"}));
  EXPECT_EQ(CheckText(*store), "");
}

// Else the program would save events without their words, and the one that understands the index would not know it.
TEST_F(SearchIndexTest, AProgramThatDoesNotUnderstandTheIndexRemovesIt) {
  {
    const auto store = Open();
    SaveAll(*store, {Plain(Author(1), 1, 1, {}, "word one")});
    const std::string of_later_version(1 + 8, '\xff');
    ASSERT_TRUE(store->db()->Put({}, store->families().back(), ToSlice(kSearchStateKey), of_later_version).ok());
  }
  options_.searched_kinds.reset();
  options_.read_only = true;
  EXPECT_EQ(ContentsOf(*Open(), {SearchFor("word")}), std::vector<std::string>{});
  EXPECT_EQ(Open()->families().size(), 4U);
  options_.read_only = false;
  SaveAll(*Open(), {Plain(Author(1), 2, 1, {}, "word two")});
  EXPECT_EQ(Open()->families().size(), 3U);
  options_.searched_kinds = kSearchedKinds;
  const auto store = Open();
  BuildAll(*store);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), (std::vector<std::string>{"word two", "word one"}));
}

TEST_F(SearchIndexTest, WithoutKindsTheIndexIsRemovedAndAnOlderWeirCanOpenTheDatabase) {
  SaveAll(*Open(), {Plain(Author(1), 1, 1, {}, "word one")});
  const auto families = [this] {
    std::vector<std::string> names;
    EXPECT_TRUE(rocksdb::DB::ListColumnFamilies({}, options_.path, &names).ok());
    return names.size();
  };
  EXPECT_EQ(families(), 4U);
  options_.searched_kinds = std::vector<uint16_t>{};
  const auto store = Open();
  EXPECT_EQ(families(), 3U);
  EXPECT_EQ(store->Sizes().unsearched, std::nullopt);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word")}), std::vector<std::string>{});
  SaveAll(*store, {Plain(Author(1), 2, 1, {}, "word two")});
  EXPECT_EQ(CheckText(*store), "");
}

TEST_F(SearchIndexTest, TheCheckFindsWrongEntries) {
  const auto store = Open();
  SaveAll(*store, {Plain(Author(1), 1, 1, {}, "alpha beta")});
  rocksdb::ColumnFamilyHandle* const family = store->families().back();
  ASSERT_EQ(family->GetName(), kSearchFamily);
  rocksdb::ReadOptions all;
  all.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> at(store->db()->NewIterator(all, family));
  at->SeekToLast();
  const std::string key = at->key().ToString();
  ASSERT_TRUE(store->db()->Delete({}, family, key).ok());
  ASSERT_TRUE(store->db()->Put({}, family, std::string(8, '\xff') + key.substr(8), at->value()).ok());
  const std::string text = CheckText(*store);
  EXPECT_NE(text.find("missing index entry s: 1"), std::string::npos) << text;
  EXPECT_NE(text.find("stray index entry s: 1"), std::string::npos) << text;
}

// The disk budget would remove far too much otherwise (relay/retention/disk_budget.h).
TEST_F(SearchIndexTest, WordsOfRemovedEventsAreRemovedBytes) {
  const auto store = Open();
  std::vector<PlainEvent> notes;
  std::vector<EventId> ids;
  for (uint64_t i = 0; i < 100; ++i) {
    std::string text;
    for (uint64_t word = 0; word < 30; ++word) text += "w" + std::to_string(i * word) + " ";
    notes.push_back(Plain(Author(1), i, 1, {}, text));
    ids.push_back(ToBytes(notes.back().id));
  }
  SaveAll(*store, notes);
  ASSERT_TRUE(store->Flush().ok());
  EXPECT_EQ(store->RemovedBytes(), 0U);
  ASSERT_TRUE(store->Delete(ids).ok());
  ASSERT_TRUE(store->Flush().ok());
  uint64_t tables = 0;
  for (size_t family = 1; family < store->families().size(); ++family) {
    uint64_t bytes = 0;
    store->db()->GetIntProperty(store->families()[family], rocksdb::DB::Properties::kLiveSstFilesSize, &bytes);
    tables += bytes;
  }
  EXPECT_GT(tables, 0U);
  EXPECT_GE(store->RemovedBytes(), tables / 100 * 95);
}

TEST_F(SearchIndexTest, TheCommitThreadBuildsTheIndex) {
  options_.searched_kinds.reset();
  std::vector<PlainEvent> notes;
  for (uint64_t i = 0; i < 300; ++i) notes.push_back(Plain(Author(1), i, 1, {}, "word " + std::to_string(i)));
  SaveAll(*Open(), notes);
  options_.searched_kinds = kSearchedKinds;
  const auto store = Open();
  GroupCommit commit(*store, [](GroupCommit::Submissions, const Status&) {});
  EXPECT_TRUE(Eventually([&store] { return store->Sizes().unsearched == 0U; }));
  commit.Stop();
  EXPECT_EQ(ContentsOf(*store, {SearchFor("word 17")}), std::vector<std::string>{"word 17"});
}

}  // namespace
}  // namespace weir
