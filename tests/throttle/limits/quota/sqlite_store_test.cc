#include "throttle/limits/quota/sqlite/sqlite_store.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/file_size_limit.h"
#include "tests/throttle/limits/quota/sqlite_fixture.h"
#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kStart = kSqliteStart;

StoreUnderTest OpenSqlite(const WallClock& clock, const StoreBounds& bounds) {
  const auto directory = std::make_shared<TempDirectory>();
  const SqliteStoreOptions options{.max_models = bounds.max_models,
                                   .max_tier_keys = bounds.max_tier_keys,
                                   .max_named_ended = bounds.max_named_ended};
  const auto open = [=, &clock] { return MustOpen(*directory / "quota.db", clock, options); };
  return {.keep = directory, .store = open(), .open_another = open};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, QuotaStoreSuite,
                         testing::Values(StoreKind{.name = "sqlite", .open = OpenSqlite, .property_rounds = 20}),
                         NameOfKind);

TEST_F(SqliteStore, KeepsItsCountsWhenItIsOpenedAgain) {
  ASSERT_EQ(Take(*Open(), "gpt-4o", 900, {.max_tpm = 1000}).code, QuotaCode::kOk);
  EXPECT_EQ(Take(*Open(), "gpt-4o", 900, {.max_tpm = 1000}).code, QuotaCode::kTpmExceeded);
}

TEST_F(SqliteStore, MakesTheDirectoryOfItsFile) {
  path_ = directory_ / "a/b/quota.db";
  EXPECT_EQ(Open()->name(), "sqlite:" + path_);
}

TEST_F(SqliteStore, CanBeReadAsThePublishedTables) {
  const auto store = Open();
  ASSERT_TRUE(store->SetQuota("gpt-4o", ModelQuota{.max_rpm = 5}).ok());
  ASSERT_EQ(Take(*store, "gpt-4o", 900, {}).code, QuotaCode::kOk);
  Foreigner reader(path_);
  const std::string now = std::to_string(kStart.time_since_epoch().count());
  EXPECT_EQ(reader.Ask("SELECT model || max_rpm || max_tpm || max_rpd FROM quotas"), "gpt-4o500");
  EXPECT_EQ(reader.Ask("SELECT ts FROM requests WHERE model = 'gpt-4o'"), now);
  EXPECT_EQ(reader.Ask("SELECT ts || ':' || count FROM tokens WHERE model = 'gpt-4o'"), now + ":900");
  EXPECT_EQ(reader.Ask("SELECT day_start || ':' || day_count FROM daily WHERE model = 'gpt-4o'"), now + ":1");
  EXPECT_EQ(reader.Ask("PRAGMA journal_mode"), "wal");
}

TEST_F(SqliteStore, AFileOfThePublishedProgramIsReadAndGoesOn) {
  const std::string now = std::to_string(kStart.time_since_epoch().count());
  Foreigner(path_).Run(std::string(kPublished) + "INSERT INTO quotas VALUES('o1', 3, 1000, 0);" +
                       "INSERT INTO requests(model, ts) VALUES('o1', " + now + "), ('o1', " + now + ");" +
                       "INSERT INTO tokens(model, ts, count) VALUES('o1', " + now + ", 700);" +
                       "INSERT INTO daily(model, day_start, day_count) VALUES('o1', " + now + ", 42)");
  const auto store = Open();
  const ChargeAnswer answer = Take(*store, "o1", 300, {});
  EXPECT_EQ(answer.code, QuotaCode::kOk);
  EXPECT_EQ(answer.usage, (ModelUsage{.rpm = 3, .tpm = 1000, .rpd = 43, .day_start = kStart}));
}

TEST_F(SqliteStore, KeepsTheOriginOfAQuota) {
  ASSERT_TRUE(Open()->StateQuota("gpt-4o", {.max_rpm = 5}).ok());
  ASSERT_TRUE(Open()->SetQuota("by hand", ModelQuota{.max_rpm = 6}).ok());
  EXPECT_EQ(Open()->StatedByConfiguration().value(), std::vector<std::string>{"gpt-4o"});
}

TEST_F(SqliteStore, CannotDecideWithoutItsFileAndSaysSo) {
  using Decides = StoreHealth::Decides;
  const auto store = Open();
  ASSERT_TRUE(Take(*store, "o1", 3, {}).charged);
  EXPECT_EQ(store->Health().decides, Decides::kAll);
  std::filesystem::rename(path_, path_ + ".away");
  EXPECT_EQ(Take(*store, "o1", 3, {}).code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(store->Health().decides, Decides::kNone);
  std::filesystem::rename(path_ + ".away", path_);
  store->Prune();
  EXPECT_EQ(store->Health().decides, Decides::kAll) << "found by itself, also where nobody asks";
}

// Another program holds the lock; the call waits for it on a thread of its own.
TEST_F(SqliteStore, ACallThatWaitsForLongIsToldOfBeforeItGivesUp) {
  const auto store = Open({.busy_timeout = seconds(60)});
  Foreigner other(path_);
  other.Run("BEGIN IMMEDIATE");
  std::jthread waits([&] { (void)Take(*store, "o1", 3, {}); });
  EXPECT_TRUE(Eventually([&] { return !store->Health().problem.empty(); }));
  EXPECT_NE(store->Health().problem.find("has waited for more than a second"), std::string::npos);
  other.Run("ROLLBACK");
  waits.join();
  EXPECT_EQ(store->Health().problem, "");
}

TEST_F(SqliteStore, PruningWhileTheFileIsLockedIsNoTrouble) {
  const auto store = Open({.busy_timeout = milliseconds(20)});
  Foreigner other(path_);
  other.Run("BEGIN IMMEDIATE");
  store->Prune();
  EXPECT_EQ(store->Health().problem, "");
  other.Run("ROLLBACK");
}

TEST_F(SqliteStore, OpenReservationsAreBounded) {
  const auto store = Open();
  const Charge hold{
      .model = "o1", .mode = Charge::Mode::kHold, .default_quota = ModelQuota{.max_rpm = 5}, .hold_for = seconds(10)};
  ASSERT_TRUE(store->Run(hold).charged);
  Foreigner(path_).Run("UPDATE weir_models SET open = " + std::to_string(kMostOpenReservations));
  EXPECT_EQ(store->Run(hold).code, QuotaCode::kTooManyNames);
  Foreigner(path_).Run("UPDATE weir_models SET open = " + std::to_string(kMostOpenReservations - 1));
  EXPECT_TRUE(store->Run(hold).charged);
}

TEST_F(SqliteStore, FilesThatAreNotItsAreRefusedAndNotTouched) {
  struct Case {
    std::string sql;
    std::string error;
  };
  const std::vector<Case> cases = {
      {"CREATE TABLE requests(id INTEGER, at TEXT)", "the table requests has no column model"},
      {"CREATE TABLE requests(model TEXT, at INTEGER)", "the table requests has no column ts"},
      {"CREATE TABLE tokens(model TEXT, ts TEXT, count INTEGER)",
       "the table tokens has TEXT in the column ts, expected INTEGER"},
      {"CREATE TABLE requests(model TEXT, ts INTEGER, user TEXT NOT NULL)",
       "the table requests has the column user, which weir cannot fill"},
      {"CREATE TABLE daily(model TEXT, day_start INTEGER, day_count INTEGER)",
       "the table daily does not have the column model as its primary key"},
      {"CREATE VIEW quotas AS SELECT 1 AS model", "quotas is not a table"},
      {"PRAGMA user_version = 7; CREATE TABLE a(b)", "its user_version is 7"},
      {"PRAGMA application_id = 99; CREATE TABLE a(b)", "its application id is 99"},
  };
  int number = 0;
  for (const Case& each : cases) {
    path_ = directory_ / (std::to_string(++number) + ".db");
    Foreigner(path_).Run(each.sql);
    const std::string before = TextOf(path_);
    EXPECT_EQ(ErrorOfOpening(), path_ + ": this is another program's file: " + each.error + "; name another file");
    EXPECT_EQ(TextOf(path_), before) << each.sql;
  }
}

TEST_F(SqliteStore, AFileOfANewerWeirIsRefused) {
  Open().reset();
  Foreigner(path_).Run("PRAGMA user_version = 7");
  EXPECT_EQ(ErrorOfOpening(),
            path_ + ": a newer version of weir has written it (form 7, this one knows 6); use that version");
}

TEST_F(SqliteStore, RefusesAFileOfAnotherFormatAndLeavesItUntouched) {
  const std::string text = "quotas:\n  gpt-4o: {max_rpm: 5}\n" + std::string(2000, '#');
  WriteText(path_, text);
  EXPECT_EQ(ErrorOfOpening(), path_ +
                                  ": file is not a database: this is not a SQLite file; name another, or move it "
                                  "away");
  EXPECT_EQ(TextOf(path_), text);
}

TEST_F(SqliteStore, ADirectoryIsNoFile) {
  path_ = directory_.path();
  EXPECT_NE(ErrorOfOpening().find("unable to open database file"), std::string::npos) << ErrorOfOpening();
}

TEST_F(SqliteStore, ALastingLockIsReportedAndPreventsCharges) {
  const auto store = Open({.busy_timeout = milliseconds(20)});
  ASSERT_EQ(Take(*store, "o1", 300, {}).code, QuotaCode::kUnlimited);
  Foreigner other(path_);
  other.Run("BEGIN IMMEDIATE");
  const ChargeAnswer answer = Take(*store, "o1", 300, {});
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(answer.problem,
            path_ +
                ": database is locked: another process has kept it locked for 20 ms; end that process, or its "
                "transaction");
  EXPECT_EQ(store->Health().problem, answer.problem);
  EXPECT_EQ(store->Health().failures, 1U);
  EXPECT_FALSE(store->SetQuota("o1", ModelQuota{}).ok());
  other.Run("ROLLBACK");
  EXPECT_EQ(Take(*store, "o1", 300, {}).usage.tpm, 600);
  EXPECT_EQ(store->Health().problem, "");
}

TEST_F(SqliteStore, AFailureInTheMidstOfAChargeChargesNothing) {
  const auto store = Open();
  ASSERT_EQ(Take(*store, "o1", 300, {}).code, QuotaCode::kUnlimited);
  // The entry of the tokens fails, after that of the request.
  Foreigner other(path_);
  other.Run(
      "CREATE TRIGGER broken BEFORE INSERT ON weir_entries WHEN NEW.amount = 300 BEGIN SELECT RAISE(ABORT, 'no room'); "
      "END");
  const ChargeAnswer answer = Take(*store, "o1", 300, {});
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(answer.problem, path_ + ": no room");
  other.Run("DROP TRIGGER broken");
  const ChargeAnswer after = Take(*store, "o1", 300, {});
  EXPECT_EQ(after.usage, (ModelUsage{.rpm = 2, .tpm = 600, .rpd = 2, .day_start = kStart}));
}

// Runs in a process whose files may not grow, as on a full disk.
TEST_F(SqliteStore, LackOfRoomPreventsChargesUntilThereIsSome) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto store = Open();
        (void)Take(*store, "o1", 300, {});
        std::optional<FileSizeLimit> full_disk(10);
        const ChargeAnswer full = Take(*store, "o1", 300, {});
        full_disk.reset();
        const ChargeAnswer after = Take(*store, "o1", 300, {});
        const bool told = full.code == QuotaCode::kStoreUnavailable && full.problem.starts_with(path_ + ": ");
        std::fprintf(stderr, "%s; %d tokens\n", full.problem.c_str(), static_cast<int>(after.usage.tpm));
        std::_Exit(told && after.usage.tpm == 600 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "look at the disk; 600 tokens|make room; 600 tokens");
}

TEST_F(SqliteStore, ADamagedFileIsSaid) {
  auto store = Open();
  for (int i = 0; i < 500; ++i) (void)Take(*store, "model-" + std::to_string(i), 300, {});
  store.reset();
  std::string bytes = TextOf(path_);
  ASSERT_GT(bytes.size(), 50'000U);
  for (size_t at = 4096; at < bytes.size(); ++at) bytes[at] = static_cast<char>(at * 31);
  WriteText(path_, bytes);
  const auto damaged = OpenSqliteQuotaStore(path_, {}, clock_);
  const std::string error =
      damaged.ok() ? Take(*damaged.value(), "model-7", 300, {}).problem : damaged.status().message();
  EXPECT_NE(error.find("the file is damaged; restore it from a copy, or move it away to begin anew"), std::string::npos)
      << error;
}

TEST_F(SqliteStore, ALogHoldsSoManyEntriesAndNoMore) {
  const auto store = Open();
  const auto most = static_cast<int64_t>(store->exact_entries()) + 1024;
  for (int i = 0; i < 8000; ++i) {
    clock_.Advance(milliseconds(1));
    (void)Take(*store, "o1", 3, {});
  }
  Foreigner reader(path_);
  EXPECT_LE(std::stoll(reader.Ask("SELECT count(*) FROM tokens")), most);
  EXPECT_LE(std::stoll(reader.Ask("SELECT count(*) FROM requests")), most);
  EXPECT_EQ(reader.Ask("SELECT sum(count) FROM requests"), "8000");
  EXPECT_EQ(Take(*store, "o1", 3, {}).usage.tpm, 24'003);
  clock_.Advance(kMinute + store->granule(kMinute));
  EXPECT_EQ(Take(*store, "o1", 3, {}).usage.tpm, 3);
  EXPECT_EQ(reader.Ask("SELECT count(*) FROM requests"), "1");
}

TEST_F(SqliteStore, PruningForgetsEntriesThatNoLongerCount) {
  const auto store = Open();
  const TierCharge tier{.key = "user:a",
                        .limit = {.unit = Limit::Unit::kTokens, .amount = 10, .per = std::chrono::hours(1)}};
  for (int i = 0; i < 300; ++i) {
    const std::string model = "model-" + std::to_string(i);
    ASSERT_TRUE(
        store->Run(Charge{.model = model, .mode = Charge::Mode::kTake, .tokens = 3, .tiers = {&tier, 1}}).fits());
  }
  clock_.Advance(kDay);
  for (int i = 0; i < 100; ++i)
    store->Prune();  // each takes a fifth of a second at most; a slow machine needs more of them
  Foreigner reader(path_);
  for (const char* table : {"requests", "tokens", "daily", "weir_models", "weir_meters", "weir_entries"})
    EXPECT_EQ(reader.Ask(std::string("SELECT count(*) FROM ") + table), "0") << table;
  EXPECT_EQ(reader.Ask("SELECT models || ':' || tiers FROM weir_counts"), "0:0");
}

TEST_F(SqliteStore, AFileThatMustExistIsNotMade) {
  path_ = directory_ / "a/quota.db";
  const auto store = OpenSqliteQuotaStore(path_, {.must_exist = true}, clock_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().message(), path_ + ": there is no such file");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a"));
  Open().reset();
  EXPECT_TRUE(OpenSqliteQuotaStore(path_, {.must_exist = true}, clock_).ok());
}

TEST_F(SqliteStore, AnAnswerWithoutTheStoreHasNoTiers) {
  const auto store = Open({.busy_timeout = milliseconds(1)});
  Foreigner other(path_);
  other.Run("BEGIN IMMEDIATE");
  const TierCharge tier = TokensIn(kMinute);
  const ChargeAnswer answer = store->Run(Charge{.model = "o1", .mode = Charge::Mode::kForce, .tiers = {&tier, 1}});
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_TRUE(answer.tiers.empty());
  EXPECT_FALSE(answer.charged);
}

TEST_F(SqliteStore, WhileItIsLockedCallsWaitAShortTimeOnly) {
  const auto store = Open({.busy_timeout = milliseconds(400)});
  Foreigner other(path_);
  other.Run("BEGIN IMMEDIATE");
  EXPECT_EQ(store->Health().breaker, StoreHealth::Breaker::kClosed);
  EXPECT_NE(Take(*store, "o1", 3, {}).problem.find("locked for 400 ms"), std::string::npos);
  EXPECT_NE(store->Health().breaker, StoreHealth::Breaker::kClosed);
  EXPECT_NE(Take(*store, "o1", 3, {}).problem.find("locked for 100 ms"), std::string::npos);
  other.Run("ROLLBACK");
  EXPECT_EQ(Take(*store, "o1", 3, {}).code, QuotaCode::kUnlimited);
  EXPECT_EQ(store->Health().breaker, StoreHealth::Breaker::kClosed);
}

TEST_F(SqliteStore, ManyThatFindItLockedAreAllAnswered) {
  constexpr int kCallers = 9;
  const auto store = Open({.busy_timeout = milliseconds(50)});
  Foreigner other(path_);
  other.Run("BEGIN IMMEDIATE");
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] { EXPECT_EQ(Take(*store, "o1", 3, {}).code, QuotaCode::kStoreUnavailable); });
    }
  }
  EXPECT_EQ(store->Health().failures, static_cast<uint64_t>(kCallers));
  other.Run("ROLLBACK");
  EXPECT_EQ(Take(*store, "o1", 3, {}).usage.tpm, 3);
}

}  // namespace
}  // namespace weir
