// Effects of other programs on a SQLite file: numbers that are no amounts, more rows than are kept, a file that is
// gone, a full disk.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/throttle/limits/quota/sqlite_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
namespace fs = std::filesystem;

constexpr ModelQuota kThousand{.max_tpm = 1000};
constexpr const char* kHugeTwice =
    "INSERT INTO tokens(model, ts, count) VALUES('o1', NOW, 9223372036854775807), ('o1', NOW + 1, "
    "9223372036854775807), ('o1', NOW + 2, 777)";
// The sum of these does not fit into 64 bits.
constexpr const char* kTenThousandHuge =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
    "INSERT INTO tokens(model, ts, count) SELECT 'o1', NOW - i, 9223372036854775807 FROM n";
class SqliteForeign : public SqliteStore {
 protected:
  // Runs `sql`, in which NOW stands for the clock's time.
  void RunForeign(std::string sql) {
    const std::string now = std::to_string(clock_.Now().time_since_epoch().count());
    for (size_t at = sql.find("NOW"); at != sql.npos; at = sql.find("NOW", at)) sql.replace(at, 3, now);
    Foreigner(path_).Run(sql);
  }
  // Expects that nothing of the foreign rows counts any more.
  void ExpectCountsAgainFrom0(QuotaStore& store) {
    for (int64_t tokens = 5; tokens < 20; tokens += 5) {
      const ChargeAnswer answer = Take(store, "o1", 5, kThousand);
      EXPECT_EQ(answer.code, QuotaCode::kOk);
      EXPECT_EQ(answer.usage.tpm, tokens);
    }
  }
};

TEST_F(SqliteForeign, HugeCountsAreCutDown) {
  RunForeign(std::string(kPublished) + kHugeTwice);
  const auto store = Open();
  const ChargeAnswer refused = Take(*store, "o1", 5, kThousand);
  EXPECT_EQ(refused.code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(refused.retry_after, kMinute);
  EXPECT_EQ(refused.usage.tpm, kMostAmount);
  EXPECT_EQ(Foreigner(path_).Ask("SELECT sum(count) FROM tokens"), "2000000000000777");
  clock_.Advance(minutes(2));
  ExpectCountsAgainFrom0(*store);
}

TEST_F(SqliteForeign, SumsBeyond64BitsAreMerged) {
  RunForeign(std::string(kPublished) + kTenThousandHuge);
  const auto store = Open();
  const ChargeAnswer refused = Take(*store, "o1", 5, kThousand);
  EXPECT_EQ(refused.code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(refused.usage.tpm, kMostAmount);
  EXPECT_LE(std::stoll(Foreigner(path_).Ask("SELECT count(*) FROM tokens")),
            2 * static_cast<int64_t>(store->exact_entries()));
  clock_.Advance(minutes(2));
  ExpectCountsAgainFrom0(*store);
}

TEST_F(SqliteForeign, ModelsWithoutAQuotaTakePlaces) {
  RunForeign(std::string(kPublished) +
             "INSERT INTO tokens(model, ts, count) VALUES('a', NOW, 5), ('b', NOW, 5), ('c', NOW, 5);"
             "INSERT INTO quotas(model, max_rpm) VALUES('c', 5)");
  const auto store = Open({.max_models = 2});
  const auto take = [&](std::string_view model) {
    return store->Run(Charge{.model = model, .mode = Charge::Mode::kTake}).code;
  };
  EXPECT_EQ(take("d"), QuotaCode::kTooManyNames);
  EXPECT_EQ(take("c"), QuotaCode::kOk);
  EXPECT_EQ(Take(*store, "a", 5, kThousand).code, QuotaCode::kOk);
  EXPECT_EQ(take("d"), QuotaCode::kUnknownModel);
}

TEST_F(SqliteForeign, OtherProgramsReadTheCountsAndCannotWriteThem) {
  const auto store = Open();
  ASSERT_TRUE(Take(*store, "o1", 5, kThousand).fits());
  Foreigner other(path_);
  for (const std::string table : {"requests", "tokens", "daily"}) {
    EXPECT_EQ(other.Ask("SELECT model FROM " + table), "o1");
    EXPECT_EQ(other.ErrorOf("DELETE FROM " + table), "cannot modify " + table + " because it is a view");
  }
  EXPECT_EQ(UsageOf(*store, "o1").tpm, 5);
}

TEST_F(SqliteForeign, MoreRowsThanAreKeptBecomeAMinuteOfTheSameSum) {
  RunForeign(std::string(kPublished) +
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
             "INSERT INTO requests(model, ts) SELECT 'o1', NOW - i * 2000000 FROM n");
  const auto store = Open();
  EXPECT_EQ(UsageOf(*store, "o1").rpm, 20'000);
  Foreigner reader(path_);
  EXPECT_LE(std::stoll(reader.Ask("SELECT count(*) FROM requests")), 2 * static_cast<int64_t>(store->exact_entries()));
  EXPECT_EQ(reader.Ask("SELECT sum(count) FROM requests"), "20000");
  clock_.Advance(seconds(40));
  EXPECT_NEAR(static_cast<double>(UsageOf(*store, "o1").rpm), 10'000, 200);
  clock_.Advance(seconds(20));
  EXPECT_EQ(UsageOf(*store, "o1").rpm, 0);
}

TEST_F(SqliteForeign, AnImportOfSumsBeyond64BitsIsMerged) {
  const auto store = Open();
  QuotaState state;
  for (int i = 9300; i > 0; --i) state["o1"].tokens.push_back({clock_.Now() - milliseconds(i), kMostAmount});
  ASSERT_TRUE(store->Import(state).ok());
  EXPECT_EQ(Take(*store, "o1", 5, kThousand).code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(UsageOf(*store, "o1").tpm, kMostAmount);
  clock_.Advance(std::chrono::hours(1));
  ExpectCountsAgainFrom0(*store);
}

TEST_F(SqliteForeign, ADayThatBeginsInTheFutureBeginsNow) {
  const auto store = Open();
  ASSERT_TRUE(Take(*store, "o1", 5, {}).fits());
  for (const char* start : {"9223372036854775807", "-9223372036854775808"}) {
    RunForeign(std::string("UPDATE weir_models SET day_start = ") + start);
    const ChargeAnswer answer = store->Run(Charge{.model = "o1", .default_quota = ModelQuota{.max_rpd = 1}});
    if (start[0] == '-') {
      EXPECT_EQ(answer.code, QuotaCode::kOk);
    } else {
      EXPECT_EQ(answer.retry_after, kDay);
    }
  }
}

TEST_F(SqliteForeign, NegativeCountsGiveNoRoom) {
  RunForeign(std::string(kPublished) +
             "INSERT INTO tokens(model, ts, count) VALUES('o1', NOW, -100000);"
             "INSERT INTO daily VALUES('o1', NOW, -5)");
  const auto store = Open();
  EXPECT_EQ(UsageOf(*store, "o1"), ModelUsage{});
  ASSERT_EQ(Take(*store, "o1", 900, kThousand).code, QuotaCode::kOk);
  EXPECT_EQ(Take(*store, "o1", 900, kThousand).code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(UsageOf(*store, "o1"), (ModelUsage{.rpm = 1, .tpm = 900, .rpd = 1, .day_start = clock_.Now()}));
}

TEST_F(SqliteForeign, NegativeQuotasAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"-1, 5, 5", "max_rpm is -1"}, {"0, -2, 0", "max_tpm is -2"}, {"5, 5, -3", "max_rpd is -3"}};
  for (const auto& [limits, wrong] : cases) {
    path_ = directory_ / (wrong + ".db");
    const std::string insert = "INSERT INTO quotas(model, max_rpm, max_tpm, max_rpd) VALUES('o1', " + limits + ")";
    const std::string problem =
        path_ + ": quota of o1: " + wrong + "; it must be a limit, or 0 for none; correct it in the table quotas";
    auto store = Open();
    ASSERT_TRUE(Take(*store, "o1", 5, {}).fits());
    RunForeign(insert);
    const ChargeAnswer answer = Take(*store, "o1", 5, {});
    EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
    EXPECT_EQ(answer.problem, problem);
    EXPECT_TRUE(Take(*store, "o3", 5, {}).fits());
    store.reset();
    EXPECT_EQ(ErrorOfOpening(), problem);
    RunForeign("UPDATE quotas SET max_rpm = 0, max_tpm = 0, max_rpd = 0");
    EXPECT_EQ(Take(*Open(), "o1", 5, {}).usage.tpm, 10);
  }
}

TEST_F(SqliteForeign, APublishedFileWithANegativeQuotaStaysAsItIs) {
  RunForeign(std::string(kPublished) + "INSERT INTO quotas(model, max_rpm) VALUES('o1', -1)");
  const std::string before = TextOf(path_);
  EXPECT_NE(ErrorOfOpening().find("quota of o1: max_rpm is -1"), std::string::npos);
  EXPECT_EQ(TextOf(path_), before);
}

TEST_F(SqliteForeign, AFileThatWasRemovedIsSaidUntilItIsBack) {
  const auto store = Open();
  ASSERT_TRUE(Take(*store, "o1", 5, {}).fits());
  const std::string problem =
      path_ +
      ": the file was removed or replaced while in use; put it back, or restart to go on with what is there now";
  const std::string elsewhere = directory_ / "elsewhere.db";
  fs::rename(path_, elsewhere);
  const ChargeAnswer answer = Take(*store, "o1", 5, {});
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(answer.problem, problem);
  EXPECT_EQ(store->Health().problem, problem);
  Foreigner(path_).Run("CREATE TABLE a(b)");
  EXPECT_EQ(store->SetQuota("o1", kThousand).message(), problem);
  fs::rename(elsewhere, path_);
  EXPECT_EQ(Take(*store, "o1", 5, {}).usage.tpm, 10);
  EXPECT_EQ(store->Health().problem, "");
}

TEST_F(SqliteForeign, ALockWhileTheFileIsOpenedIsSaid) {
  Open().reset();
  Foreigner other(path_);
  other.Run("BEGIN EXCLUSIVE");
  EXPECT_EQ(ErrorOfOpening(), path_ +
                                  ": database is locked: another process has kept it locked for 1 ms; end that "
                                  "process, or its transaction");
  other.Run("ROLLBACK");
  EXPECT_TRUE(Take(*Open(), "o1", 5, {}).fits());
}

ssize_t NoSpaceLeft(int, const void*, size_t, off_t) {
  errno = ENOSPC;
  return -1;
}

// Replaces the functions that SQLite writes with; null restores them.
void SetWrites(sqlite3_syscall_ptr by) {
  sqlite3_vfs* vfs = sqlite3_vfs_find("unix");
  for (const char* name : {"write", "pwrite", "pwrite64"}) vfs->xSetSystemCall(vfs, name, by);
}

TEST_F(SqliteForeign, AFullDiskPreventsChargesUntilThereIsRoom) {
  const auto store = Open();
  ASSERT_TRUE(Take(*store, "o1", 5, {}).fits());
  SetWrites(reinterpret_cast<sqlite3_syscall_ptr>(NoSpaceLeft));
  const ChargeAnswer full = Take(*store, "o1", 5, {});
  const Status stated = store->SetQuota("o1", kThousand);
  SetWrites(nullptr);
  EXPECT_EQ(full.code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(full.problem, path_ + ": database or disk is full: the disk is full; make room");
  EXPECT_EQ(stated.message(), full.problem);
  const ChargeAnswer after = Take(*store, "o1", 5, {});
  EXPECT_EQ(after.usage.tpm, 10);
  EXPECT_EQ(after.code, QuotaCode::kUnlimited);
}

}  // namespace
}  // namespace weir
