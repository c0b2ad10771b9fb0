// Databases of weir, whole and damaged, and of other programs, looked at without their lock.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/text/rfc3339.h"
#include "monitors/rocksdb_version.h"
#include "relay/doctor/check.h"
#include "relay/doctor/database_facts.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/keys.h"
#include "relay/store/rocksdb_store.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class DoctorRocksDb : public testing::Test {
 protected:
  std::unique_ptr<RocksDbStore> Open() {
    auto opened =
        RocksDbStore::Open({.path = path_, .memory_target_bytes = 256ull << 20, .address = "http://127.0.0.1:1"});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(opened).value();
  }
  static double Now() { return ToSeconds(WallClock::System().Now().time_since_epoch()); }
  RocksDbFacts Look() {
    unseen_.clear();
    return LookAtRocksDb(path_, Now(), &unseen_).value();
  }
  static std::vector<std::string> NamesFor(const RocksDbFacts& rocksdb) {
    Facts facts;
    facts.rocksdb = rocksdb;
    std::vector<std::string> names;
    for (const Finding& finding : Examine(facts, {"relay-down"})) names.emplace_back(finding.name);
    return names;
  }
  // Returns names, sizes and times of all files.
  std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> State() const {
    std::map<std::string, std::pair<uintmax_t, fs::file_time_type>> state;
    for (const auto& file : fs::directory_iterator(path_))
      state[file.path().filename()] = {file.is_regular_file() ? file.file_size() : 0, file.last_write_time()};
    return state;
  }
  std::string Manifest() const {
    std::string name;
    std::getline(std::ifstream(path_ + "/CURRENT"), name);
    return path_ + "/" + name;
  }

  TempDirectory directory_;
  const std::string path_ = directory_ / "events";
  std::vector<std::string> unseen_;
};

TEST_F(DoctorRocksDb, AMissingDatabaseIsNoProblem) {
  const RocksDbFacts facts = Look();
  EXPECT_FALSE(facts.exists);
  EXPECT_FALSE(facts.holder);
  EXPECT_TRUE(NamesFor(facts).empty());
  EXPECT_TRUE(unseen_.empty());
}

TEST_F(DoctorRocksDb, AWholeDatabaseIsRecognisedAndLeftAsItIs) {
  Open();
  const auto before = State();
  const RocksDbFacts facts = Look();
  EXPECT_TRUE(facts.exists);
  EXPECT_FALSE(facts.holder);
  EXPECT_TRUE(facts.recognised.ok()) << facts.recognised.message();
  EXPECT_GT(facts.files, 3);
  EXPECT_GT(facts.bytes, 0);
  EXPECT_TRUE(NamesFor(facts).empty());
  EXPECT_EQ(State(), before);
}

TEST_F(DoctorRocksDb, ADatabaseInUseIsLeftToItsProcess) {
  const auto store = Open();
  const RocksDbFacts facts = Look();
  ASSERT_TRUE(facts.holder);
  EXPECT_EQ(facts.holder->process, getpid());
  EXPECT_EQ(facts.holder->address, "http://127.0.0.1:1");
  EXPECT_TRUE(NamesFor(facts).empty());
}

TEST_F(DoctorRocksDb, ReportsDamage) {
  Open();
  std::fstream manifest(Manifest(), std::ios::in | std::ios::out | std::ios::binary);
  manifest.seekp(20);
  manifest << "damage";
  manifest.close();
  EXPECT_EQ(NamesFor(Look()), std::vector<std::string>{"database-wrong"});
}

TEST_F(DoctorRocksDb, ReportsAMissingFile) {
  {
    const auto store = Open();
    const std::vector<Event> events = {EventParser().Parse(Signer(1).SignedEvent(1, 1, "[]", "a note")).value()};
    std::vector<SaveResult> results(1);
    ASSERT_TRUE(store->Save(events, 0, results).ok());
  }
  std::vector<fs::path> tables;
  for (const auto& file : fs::directory_iterator(path_))
    if (file.path().extension() == ".sst") tables.push_back(file.path());
  ASSERT_GE(tables.size(), 3) << "of each family one";
  std::ranges::sort(tables);
  for (const fs::path& lost : {tables.back(), fs::path(Manifest())}) {
    fs::rename(lost, directory_ / "lost");
    EXPECT_EQ(NamesFor(Look()), std::vector<std::string>{"database-wrong"}) << lost;
    fs::rename(directory_ / "lost", lost);
    EXPECT_TRUE(NamesFor(Look()).empty());
  }
}

TEST_F(DoctorRocksDb, ReportsADatabaseOfANewerWeir) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->db()->Put({}, rocksdb::Slice(kFormatKey.data(), kFormatKey.size()), "999").ok());
  }
  const RocksDbFacts facts = Look();
  EXPECT_TRUE(Has(facts.recognised.message(), "newer weir (format 999)")) << facts.recognised.message();
}

TEST_F(DoctorRocksDb, ReportsADatabaseOfAnotherProgram) {
  rocksdb::Options options;
  options.create_if_missing = true;
  OpenedRocksDb opened{};
  ASSERT_TRUE(rocksdb::DB::Open(options, path_, &opened).ok());
  const std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  ASSERT_TRUE(db->Put({}, "a", "b").ok());
  const RocksDbFacts facts = Look();
  EXPECT_TRUE(Has(facts.recognised.message(), "not weir's")) << facts.recognised.message();
}

TEST_F(DoctorRocksDb, CorruptionInItsLogCountsForAMonth) {
  Open();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  std::ofstream(path_ + "/LOG", std::ios::app)
      << FormatTime(now - std::chrono::hours(24 * 31)) << " Corruption: long ago\n";
  EXPECT_TRUE(NamesFor(Look()).empty());
  std::ofstream(path_ + "/LOG", std::ios::app) << FormatTime(now) << " Corruption: block checksum mismatch\n"
                                               << FormatTime(now) << " something else\n";
  const RocksDbFacts facts = Look();
  EXPECT_EQ(facts.corruption, FormatTime(now) + " Corruption: block checksum mismatch");
  EXPECT_EQ(NamesFor(facts), std::vector<std::string>{"database-corruption"});
}

TEST_F(DoctorRocksDb, FilesOfTheFutureSayThatTheClockWentBack) {
  Open();
  fs::last_write_time(path_ + "/CURRENT", fs::file_time_type::clock::now() + std::chrono::hours(2));
  EXPECT_EQ(NamesFor(Look()), std::vector<std::string>{"clock-went-back"});
}

TEST_F(DoctorRocksDb, ReportsALinkToItself) {
  Open();
  fs::remove(path_ + "/CURRENT");
  fs::create_symlink("CURRENT", path_ + "/CURRENT");
  EXPECT_FALSE(LookAtRocksDb(path_, 0, &unseen_));
  ASSERT_EQ(unseen_.size(), 1);
  EXPECT_TRUE(Has(unseen_[0], "Too many levels")) << unseen_[0];
}

TEST_F(DoctorRocksDb, LogsAreCounted) {
  Open();
  std::ofstream(path_ + "/999999.log") << "x";
  fs::resize_file(path_ + "/999999.log", uint64_t{2} << 30);  // a hole
  const RocksDbFacts facts = Look();
  EXPECT_GE(facts.log_bytes, uint64_t{2} << 30);
  ASSERT_EQ(unseen_.size(), 1) << "it would be read into memory";
  EXPECT_TRUE(Has(unseen_[0], "of log would be read")) << unseen_[0];
}

}  // namespace
}  // namespace weir
