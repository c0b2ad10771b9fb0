// Opening that fails: what it says, and that it changes nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "monitors/rocksdb_version.h"
#include "relay/store/keys.h"
#include "relay/store/store_check.h"
#include "rocksdb/db.h"
#include "tests/fixtures/as_nobody.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/saving_child.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class Opening : public testing::Test {
 protected:
  std::string Refusal(const StoreOptions& options) {
    const auto store = RocksDbStore::Open(options);
    EXPECT_FALSE(store.ok()) << "was opened";
    return store.status().message();
  }
  std::string Refusal() { return Refusal(SmallStore(path_)); }

  StoreOptions ReadOnly() {
    StoreOptions options = SmallStore(path_);
    options.read_only = true;
    options.create = false;
    return options;
  }

  // Makes a closed store with one event.
  void MakeStore() { SaveAll(*MustOpen(SmallStore(path_)), {note_}); }

  // Opens the database as RocksDB does.
  std::unique_ptr<rocksdb::DB> Raw() {
    rocksdb::Options options;
    options.create_if_missing = true;
    OpenedRocksDb db{};
    std::vector<std::string> names;
    if (!rocksdb::DB::ListColumnFamilies(options, path_, &names).ok()) names = {rocksdb::kDefaultColumnFamilyName};
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) families.emplace_back(name, options);
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    const rocksdb::Status status = rocksdb::DB::Open(options, path_, families, &handles, &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
    return OwnerOf(&db);
  }

  std::map<std::string, fs::file_time_type> Files() {
    std::map<std::string, fs::file_time_type> files;
    for (const auto& file : fs::directory_iterator(path_)) files[file.path().string()] = file.last_write_time();
    return files;
  }

  const PlainEvent note_ = Plain(Author(1), 1000, 1);
  TempDirectory directory_;
  const std::string path_ = directory_ / "events";
};

testing::AssertionResult Says(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (message.find(part) == std::string::npos)
      return testing::AssertionFailure() << "\"" << message << "\" does not say \"" << part << "\"";
  return testing::AssertionSuccess();
}

TEST_F(Opening, MakesADatabaseWithItsDirectories) {
  StoreOptions options = SmallStore(directory_ / "a/b/events");
  const auto store = MustOpen(options);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->Sizes().events, 0U);
}

TEST_F(Opening, DoesNotMakeADatabaseUnlessAskedTo) {
  StoreOptions options = SmallStore(path_);
  options.create = false;
  EXPECT_TRUE(Says(Refusal(options), {path_}));
  EXPECT_TRUE(Says(Refusal(ReadOnly()), {path_}));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Opening, ADatabaseInUseIsRefusedWithItsProcess) {
  ChildProcess child({}, AsChild("hold", path_));
  std::string line;
  ASSERT_TRUE(child.ReadLine(&line));
  EXPECT_TRUE(Says(Refusal(), {path_, "in use", std::to_string(child.pid())}));
  child.EndInput();
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_NE(MustOpen(SmallStore(path_)), nullptr);
}

TEST_F(Opening, AStoreIsFreeOnceItsProcessWasKilled) {
  ChildProcess child({}, AsChild("hold", path_));
  std::string line;
  ASSERT_TRUE(child.ReadLine(&line));
  child.Kill();
  child.Wait();
  EXPECT_NE(MustOpen(SmallStore(path_)), nullptr);
}

TEST_F(Opening, ADatabaseThatThisProcessHasIsRefused) {
  const auto store = MustOpen(SmallStore(path_));
  EXPECT_TRUE(Says(Refusal(), {path_, "in use", std::to_string(getpid())}));
}

TEST_F(Opening, ANewerFormatIsRefused) {
  MakeStore();
  ASSERT_TRUE(Raw()->Put({}, "format", "2").ok());
  EXPECT_TRUE(Says(Refusal(), {path_, "newer", "2"}));
  EXPECT_TRUE(Says(Refusal(ReadOnly()), {path_, "newer"}));
}

TEST_F(Opening, AnUnreadableFormatIsRefused) {
  MakeStore();
  ASSERT_TRUE(Raw()->Put({}, "format", "one\n").ok());
  EXPECT_TRUE(Says(Refusal(), {path_, "format"}));
}

TEST_F(Opening, AnotherProgramsRocksDbIsRefusedAndLeftAsItIs) {
  fs::create_directories(path_);
  ASSERT_TRUE(Raw()->Put({}, "their key", "their value").ok());
  EXPECT_TRUE(Says(Refusal(), {path_, "not weir's"}));
  std::string value;
  const auto db = Raw();
  std::vector<std::string> families;
  EXPECT_TRUE(rocksdb::DB::ListColumnFamilies({}, path_, &families).ok());
  EXPECT_EQ(families.size(), 1U);
  EXPECT_TRUE(db->Get({}, "their key", &value).ok());
  EXPECT_EQ(value, "their value");
}

TEST_F(Opening, APathBelowAFileIsRefused) {
  std::ofstream(directory_ / "file") << "text";
  EXPECT_TRUE(Says(Refusal(SmallStore(directory_ / "file/events")), {directory_ / "file/events"}));
  EXPECT_TRUE(Says(Refusal(SmallStore(directory_ / "file")), {directory_ / "file"}));
}

TEST_F(Opening, AnUnwritableDirectoryIsRefused) {
  fs::permissions(directory_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(Says(AsNobody(directory_.path(), [this] { return Refusal(); }), {path_, "Permission denied"}));
  fs::permissions(directory_.path(), fs::perms::owner_all);
}

TEST_F(Opening, ADamagedDatabaseIsRefused) {
  MakeStore();
  std::ofstream(path_ + "/CURRENT") << "MANIFEST-999999\n";
  EXPECT_TRUE(Says(Refusal(), {path_}));
}

TEST_F(Opening, FinishesADatabaseThatWasNotFinished) {
  fs::create_directories(path_);
  Raw();  // the state after a kill before it wrote the format
  const auto store = MustOpen(SmallStore(path_));
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(SaveAll(*store, {note_}).front(), SaveOutcome::kSaved);
}

TEST_F(Opening, ForReadingOnlyWritesNothing) {
  MakeStore();
  const auto before = Files();
  {
    const auto store = MustOpen(ReadOnly());
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(StoredIds(*store), std::vector{note_.id});
    EXPECT_EQ(store->Sizes().events, 1U);
    const std::vector<Event> more = {ToEvent(Plain(Author(1), 1001, 1))};
    std::vector<SaveResult> results(1);
    EXPECT_FALSE(store->Save(more, 0, results).ok());
    EXPECT_FALSE(store->Delete(std::vector{ToBytes(note_.id)}).ok());
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(Opening, ForReadingOnlyGoesBesideOneThatWrites) {
  ChildProcess child({}, AsChild("save", path_));
  Expectation expected;
  std::string line;
  uint64_t events = 0;
  for (int round = 0; round < 8; ++round) {
    for (const uint64_t enough = expected.acknowledged() + 400; expected.acknowledged() < enough;) {
      ASSERT_TRUE(child.ReadLine(&line)) << "the writer ended";
      expected.Hear(line);
    }
    const auto store = MustOpen(ReadOnly());
    ASSERT_NE(store, nullptr);
    EXPECT_GE(store->Sizes().events, events);
    events = store->Sizes().events;
    const Result<CheckReport> report = CheckStore(*store);
    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_TRUE(report.value().clean()) << ToText(report.value());
  }
}

TEST_F(Opening, EventsWithoutTheirCountersAreNotWrittenOver) {
  for (const bool gone : {true, false}) {
    {
      const auto store = MustOpen(SmallStore(path_));
      SaveAll(*store, {gone ? note_ : Plain(Author(2), 1000, 1)});
      for (rocksdb::ColumnFamilyHandle* family : store->families()) {
        if (family->GetName() != kIndexFamily) continue;
        const Key counters = CountersKey();
        const rocksdb::Slice key(counters.view().data(), counters.view().size());
        ASSERT_TRUE((gone ? store->db()->Delete({}, family, key) : store->db()->Put({}, family, key, "?")).ok());
      }
    }
    EXPECT_TRUE(Has(Refusal(), "what counts them is damaged"));
    fs::remove_all(path_);
  }
}

// With moved brakes and no controller, an interactive write waited 2.7 s.
TEST_F(Opening, WithoutALimiterRocksDbKeepsItsOwnBrakes) {
  for (const bool controlled : {false, true}) {
    StoreOptions options = SmallStore(path_);
    options.move_brakes = controlled;
    const auto store = MustOpen(options);
    for (rocksdb::ColumnFamilyHandle* family : store->families()) {
      const rocksdb::Options open = store->db()->GetOptions(family);
      const int trigger = open.level0_file_num_compaction_trigger;
      EXPECT_EQ(trigger, family->GetName() == kEventsFamily ? 8 : 4);
      EXPECT_EQ(open.level0_slowdown_writes_trigger, (controlled ? 7 : 3) * trigger) << family->GetName();
      EXPECT_EQ(open.level0_stop_writes_trigger, (controlled ? 9 : 5) * trigger);
      EXPECT_EQ(open.soft_pending_compaction_bytes_limit, (controlled ? 32ull : 4ull) << 30);
      const bool merges = family->GetName() == kIndexFamily;
      EXPECT_EQ(open.min_write_buffer_number_to_merge, merges ? 2 : 1);
      EXPECT_EQ(open.max_write_buffer_number, (controlled ? 4 : 2) + (merges ? 2 : 0));
      EXPECT_EQ(store->prepared().geometry.at(family->GetName()).brakes_moved, controlled);
    }
  }
}

// A database may get a budget and lose it again.
TEST_F(Opening, WithADiskBudgetTheLastLevelHasMostOfTheIndex) {
  for (const uint64_t budget : {0ull, 2'000'000'000ull, 0ull}) {
    StoreOptions options = SmallStore(path_);
    options.max_disk_bytes = budget;
    const auto store = MustOpen(options);
    SaveAll(*store, {Plain(Author(1), budget / 1'000'000 + StoredIds(*store).size(), 1)});
    for (rocksdb::ColumnFamilyHandle* family : store->families())
      EXPECT_EQ(store->db()->GetOptions(family).level_compaction_dynamic_level_bytes,
                budget > 0 && family->GetName() == kIndexFamily);
  }
  EXPECT_EQ(StoredIds(*MustOpen(SmallStore(path_))).size(), 3U);
}

}  // namespace
}  // namespace weir
