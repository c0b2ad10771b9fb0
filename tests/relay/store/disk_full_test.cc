// A full disk: what was acknowledged stays, reads go on, and saves do when there is room again.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "relay/nostr/signature.h"
#include "relay/store/store_check.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/private_disk.h"
#include "tests/relay/store/child_process.h"
#include "tests/relay/store/rounds.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr size_t kBatch = 50;
constexpr int kBallastMiB = 12;

// WEIR_DISK_FULL_ROUNDS=100 for a long run.
int Rounds() { return static_cast<int>(RoundsBy("WEIR_DISK_FULL_ROUNDS", 4)); }

class DiskFull : public testing::Test {
 protected:
  // Returns false in the process that was asked to run the test: another one has run it, on a disk of its own.
  bool OnPrivateDisk() {
    if (const char* disk = std::getenv(kPrivateDisk)) {
      disk_ = disk;
      ballast_ = disk_ + "/ballast";
      return true;
    }
    const TempDirectory directory;
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    ChildProcess child({std::string("--gtest_filter=DiskFull.") + test.name()}, {{kPrivateDisk, directory.path()}});
    for (std::string line; child.ReadLine(&line);) std::puts(line.c_str());
    Judge(child.Wait());
    return false;
  }
  static void Judge(int exit_code) {
    if (exit_code == kNoPrivateDisk) GTEST_SKIP() << "may not mount a small disk: no privileges";
    EXPECT_EQ(exit_code, 0);
  }

  void Open() {
    StoreOptions options = SmallStore(disk_ + "/events");
    options.memory_target_bytes = 128ull << 20;
    options.settings.sync = SyncMode::kBatch;
    store_.reset();
    store_ = MustOpen(options);
    ASSERT_NE(store_, nullptr);
  }

  // Saves the next batch, and remembers what was acknowledged and what was not.
  Status SaveBatch() {
    std::vector<Event> batch;
    std::vector<std::string> ids;
    for (size_t i = 0; i < kBatch; ++i) {
      // Text that hardly compresses.
      std::string text = std::to_string(++number_);
      while (text.size() < 2000) text += ToHex(Sha256(text));
      const PlainEvent note = Plain(Author(1), number_, 1, {{"t", "a"}}, text);
      ids.push_back(note.id);
      batch.push_back(ToEvent(note));
    }
    std::vector<SaveResult> results(batch.size());
    Status status = store_->Save(batch, 0, results);
    auto& list = status.ok() ? acknowledged_ : refused_;
    list.insert(list.end(), ids.begin(), ids.end());
    return status;
  }

  void ExpectAllThere() {
    for (const std::string& id : acknowledged_) {
      const Result<bool> has = store_->Has(ToBytes(id));
      ASSERT_TRUE(has.ok()) << has.status().message();
      ASSERT_TRUE(has.value()) << "an acknowledged event is gone";
    }
    for (const std::string& id : refused_) ASSERT_FALSE(store_->Has(ToBytes(id)).value()) << "a refused event is there";
    const auto query = store_->Find({Filter{.tags = {{'t', {"a"}}}}}, {.default_limit = 100'000, .max_limit = 100'000});
    EXPECT_EQ(Drain(*query).size(), acknowledged_.size());
  }

  void FillTheDisk() {
    std::ofstream ballast(ballast_);
    const std::string kib(1024, 'x');
    while (ballast << kib << std::flush) {
    }
  }

  // Deletes events, so that they do not fill the disk for good. An event that could not be deleted is there or is not.
  void DeleteHalf() {
    const auto half = static_cast<std::ptrdiff_t>(acknowledged_.size() / 2);
    std::vector<EventId> ids;
    for (auto id = acknowledged_.begin(); id != acknowledged_.begin() + half; ++id) ids.push_back(ToBytes(*id));
    std::filesystem::remove(ballast_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (auto deleted = store_->Delete(ids); !deleted.ok(); deleted = store_->Delete(ids)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline)
          << "deletes did not come back: " << deleted.status().message();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    acknowledged_.erase(acknowledged_.begin(), acknowledged_.begin() + half);
  }

  void SaveUntilItWorks() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (Status status = SaveBatch(); !status.ok(); status = SaveBatch()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "saves did not come back: " << status.message();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  void ExpectClean() {
    const Result<CheckReport> report = CheckStore(*store_);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report.value().clean()) << ToText(report.value());
  }

  std::string disk_;
  std::string ballast_;
  std::unique_ptr<RocksDbStore> store_;
  std::vector<std::string> acknowledged_;
  std::vector<std::string> refused_;
  uint64_t number_ = 0;
};

TEST_F(DiskFull, SavesFailReadsGoOnAndSavesComeBack) {
  if (!OnPrivateDisk()) return;
  std::ofstream(ballast_) << std::string(kBallastMiB << 20, 'x');
  Open();
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = SaveBatch();
  ASSERT_FALSE(status.ok()) << "the disk did not get full";
  EXPECT_TRUE(Has(status.message(), "No space")) << status.message();
  ExpectAllThere();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(SaveBatch().ok());
  ExpectAllThere();

  std::filesystem::remove(ballast_);
  SaveUntilItWorks();
  EXPECT_TRUE(SaveBatch().ok());
  ExpectAllThere();
  Open();
  ExpectAllThere();
  ExpectClean();
}

// There is nothing in memory yet that recovering could flush.
TEST_F(DiskFull, TheFirstSaveOfAllFails) {
  if (!OnPrivateDisk()) return;
  Open();
  FillTheDisk();
  std::filesystem::resize_file(ballast_, std::filesystem::file_size(ballast_) - (100 << 10));
  EXPECT_FALSE(SaveBatch().ok());
  EXPECT_FALSE(SaveBatch().ok());
  ExpectAllThere();

  std::filesystem::remove(ballast_);
  SaveUntilItWorks();
  ExpectAllThere();
  Open();
  ExpectAllThere();
  ExpectClean();
}

// Room comes and goes, mostly too little. RocksDB looks for it every five seconds only.
TEST_F(DiskFull, RoomThatComesAndGoes) {
  if (!OnPrivateDisk()) return;
  std::mt19937_64 random(7);
  Open();
  for (int round = 0; round < Rounds(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    FillTheDisk();
    std::filesystem::resize_file(ballast_, std::filesystem::file_size(ballast_) * (random() % 1000) / 1000);
    for (int i = 0; i < 20; ++i) {
      if (random() % 10 == 0) (void)store_->Flush().ok();
      if (!SaveBatch().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    }
    ExpectAllThere();
    if (acknowledged_.size() > 1000) {
      DeleteHalf();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  std::filesystem::remove(ballast_);
  SaveUntilItWorks();
  ExpectAllThere();
  Open();
  ExpectAllThere();
  ExpectClean();
}

}  // namespace
}  // namespace weir
