// Files made by earlier versions: their counts go on.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/throttle/limits/quota/sqlite_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// Form 3 as its version created it. The triggers keep weir_models up to date.
constexpr const char* kForm3 = R"sql(
CREATE TABLE quotas(model TEXT PRIMARY KEY, max_rpm INTEGER NOT NULL DEFAULT 0, max_tpm INTEGER NOT NULL DEFAULT 0,
  max_rpd INTEGER NOT NULL DEFAULT 0);
CREATE TABLE requests(model TEXT NOT NULL, ts INTEGER NOT NULL, count INTEGER NOT NULL DEFAULT 1);
CREATE TABLE tokens(model TEXT NOT NULL, ts INTEGER NOT NULL, count INTEGER NOT NULL);
CREATE TABLE daily(model TEXT PRIMARY KEY, day_start INTEGER NOT NULL, day_count INTEGER NOT NULL DEFAULT 0);
CREATE INDEX idx_requests_model_ts ON requests(model, ts);
CREATE INDEX idx_tokens_model_ts ON tokens(model, ts);
CREATE TABLE weir_counts(models INTEGER NOT NULL, tiers INTEGER NOT NULL);
INSERT INTO weir_counts VALUES(0, 0);
CREATE TABLE weir_models(model TEXT PRIMARY KEY, requests INTEGER NOT NULL DEFAULT 0,
  requests_rows INTEGER NOT NULL DEFAULT 0, requests_first INTEGER NOT NULL DEFAULT 0,
  requests_gone INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0, tokens_rows INTEGER NOT NULL DEFAULT 0,
  tokens_first INTEGER NOT NULL DEFAULT 0, tokens_gone INTEGER NOT NULL DEFAULT 0, days INTEGER NOT NULL DEFAULT 0,
  seen INTEGER NOT NULL DEFAULT 0, open INTEGER NOT NULL DEFAULT 0, bounded INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE weir_tiers(id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, key TEXT NOT NULL,
  meter TEXT NOT NULL, unit INTEGER NOT NULL, kind INTEGER NOT NULL, per INTEGER NOT NULL, rate INTEGER NOT NULL,
  amount INTEGER NOT NULL, rest INTEGER NOT NULL, rows INTEGER NOT NULL, next INTEGER NOT NULL, first INTEGER NOT NULL,
  ts INTEGER NOT NULL, pins INTEGER NOT NULL, until INTEGER NOT NULL, UNIQUE(model, key, meter));
CREATE TABLE weir_tier_entries(tier INTEGER NOT NULL, number INTEGER NOT NULL, ts INTEGER NOT NULL,
  amount INTEGER NOT NULL, PRIMARY KEY(tier, number)) WITHOUT ROWID;
CREATE TABLE weir_reservations(id TEXT PRIMARY KEY, model TEXT NOT NULL, ts INTEGER NOT NULL, deadline INTEGER NOT NULL,
  requests INTEGER NOT NULL, tokens INTEGER NOT NULL, request_entry INTEGER NOT NULL, token_entry INTEGER NOT NULL,
  day INTEGER NOT NULL, tiers TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX weir_reservations_deadline ON weir_reservations(model, deadline);
CREATE TRIGGER weir_models_more AFTER INSERT ON weir_models WHEN NEW.bounded BEGIN
  UPDATE weir_counts SET models = models + 1; END;
CREATE TRIGGER weir_models_less AFTER DELETE ON weir_models WHEN OLD.bounded BEGIN
  UPDATE weir_counts SET models = models - 1; END;
CREATE TRIGGER weir_models_known AFTER UPDATE OF bounded ON weir_models BEGIN
  UPDATE weir_counts SET models = models + NEW.bounded - OLD.bounded; END;
CREATE TRIGGER weir_tiers_more AFTER INSERT ON weir_tiers BEGIN UPDATE weir_counts SET tiers = tiers + 1; END;
CREATE TRIGGER weir_tiers_less AFTER DELETE ON weir_tiers BEGIN UPDATE weir_counts SET tiers = tiers - 1; END;
CREATE TRIGGER weir_daily_in AFTER INSERT ON daily BEGIN
  INSERT INTO weir_models(model, seen) VALUES(NEW.model, NEW.day_start)
  ON CONFLICT(model) DO UPDATE SET seen = max(seen, NEW.day_start); END;
CREATE TRIGGER weir_daily_out AFTER DELETE ON daily BEGIN
  UPDATE weir_models SET days = days + 1 WHERE model = OLD.model; END;
PRAGMA application_id = 2003134834;
PRAGMA user_version = 3;
)sql";
// The triggers of each log.
constexpr const char* kLogTriggers = R"sql(
CREATE TRIGGER weir_LOG_in AFTER INSERT ON LOG BEGIN
  INSERT INTO weir_models(model, LOG, LOG_rows, LOG_first, seen)
    VALUES(NEW.model, min(max(CAST(NEW.count AS INTEGER), 0), 1000000000000000), 1, NEW.ts, NEW.ts)
  ON CONFLICT(model) DO UPDATE SET
    LOG = min(9000000000000000000, LOG + min(max(CAST(NEW.count AS INTEGER), 0), 1000000000000000)),
    LOG_rows = LOG_rows + 1, LOG_first = max(LOG_first, NEW.ts), seen = max(seen, NEW.ts);
END;
CREATE TRIGGER weir_LOG_changed AFTER UPDATE ON LOG BEGIN
  UPDATE weir_models SET LOG = LOG + NEW.count - OLD.count, seen = max(seen, NEW.ts) WHERE model = NEW.model;
END;
CREATE TRIGGER weir_LOG_out AFTER DELETE ON LOG BEGIN
  UPDATE weir_models SET LOG = CASE WHEN LOG_rows <= 1 THEN 0 ELSE LOG - OLD.count END, LOG_rows = LOG_rows - 1,
    LOG_gone = LOG_gone + 1, LOG_first = CASE WHEN OLD.ts >= LOG_first THEN 0 ELSE LOG_first END
    WHERE model = OLD.model;
END;
)sql";
constexpr const char* kEndedOfForm3 = R"sql(
CREATE TABLE weir_ended(id TEXT PRIMARY KEY, model TEXT NOT NULL, how INTEGER NOT NULL, late INTEGER NOT NULL,
  requests INTEGER NOT NULL, tokens INTEGER NOT NULL, actual INTEGER NOT NULL, tiers TEXT NOT NULL,
  kept_until INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX weir_ended_kept ON weir_ended(model, kept_until);
CREATE TABLE weir_ended_counts(model TEXT PRIMARY KEY, ended INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER weir_ended_more AFTER INSERT ON weir_ended BEGIN
  INSERT INTO weir_ended_counts VALUES(NEW.model, 1) ON CONFLICT(model) DO UPDATE SET ended = ended + 1;
END;
CREATE TRIGGER weir_ended_less AFTER DELETE ON weir_ended BEGIN
  UPDATE weir_ended_counts SET ended = ended - 1 WHERE model = OLD.model;
  DELETE FROM weir_ended_counts WHERE model = OLD.model AND ended <= 0;
END;
CREATE TABLE weir_configured(model TEXT PRIMARY KEY) WITHOUT ROWID;
)sql";

// Ids of the model o1, in the format of FormatReservationId.
constexpr const char* kHeld = "00112233445566778899aabbccddeeff@o1";
constexpr const char* kExpired = "10112233445566778899aabbccddeeff@o1";
constexpr const char* kCommitted = "20112233445566778899aabbccddeeff@o1";

// Two takes of 300 tokens, the first of which has left the window; then a reservation of 40, in the tier user:a and the
// bucket user:b; a quota of a configuration; a name that takes room.
constexpr const char* kCounts = R"sql(
INSERT INTO quotas VALUES('o1', 10, 1000, 100);
INSERT INTO weir_configured VALUES('o1');
INSERT INTO weir_models(model, seen, bounded) VALUES('new', NOW, 1);
INSERT INTO tokens(model, ts, count) VALUES('new', NOW, 7);
INSERT INTO requests(model, ts, count) VALUES('o1', NOW - 70000000000, 1), ('o1', NOW - 20000000000, 1);
INSERT INTO tokens(model, ts, count) VALUES('o1', NOW - 70000000000, 300), ('o1', NOW - 20000000000, 300);
DELETE FROM requests WHERE ts = NOW - 70000000000;
DELETE FROM tokens WHERE ts = NOW - 70000000000;
INSERT INTO requests(model, ts, count) VALUES('o1', NOW - 10000000000, 1);
INSERT INTO tokens(model, ts, count) VALUES('o1', NOW - 10000000000, 40);
INSERT INTO daily VALUES('o1', NOW - 70000000000, 3);
INSERT INTO weir_tiers VALUES(5, 'o1', 'user:a', 't60000', 1, 0, 60000000000, 1, 40, 0, 1, 4, NOW - 10000000000,
  NOW - 10000000000, 2, NOW + 50000000000);
INSERT INTO weir_tier_entries VALUES(5, 3, NOW - 10000000000, 40);
INSERT INTO weir_tiers VALUES(6, '', 'user:b', 'tb60000', 1, 1, 60000000000, 600, 40, 0, 0, 1, NOW, NOW, 1,
  NOW + 4000000000);
INSERT INTO weir_reservations VALUES('HELD', 'o1', NOW - 10000000000, NOW + 50000000000, 1, 40, 3, 3, 0, '5:3 6:0');
UPDATE weir_models SET open = 1 WHERE model = 'o1';
INSERT INTO weir_ended VALUES('EXPIRED', 'o1', 0, 0, 1, 9, 0, '5:2', NOW + 3600000000000);
INSERT INTO weir_ended VALUES('COMMITTED', 'o1', 1, 0, 1, 9, 8, '', NOW + 3600000000000);
)sql";

class SqliteFormer : public SqliteStore {
 protected:
  void Write(const std::string& sql) { Foreigner(path_).Run(sql); }
  static std::string Replace(std::string text, const std::string& what, const std::string& by) {
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
    return text;
  }
  std::string AtNow(std::string sql) const {
    sql = Replace(std::move(sql), "NOW", std::to_string(clock_.Now().time_since_epoch().count()));
    sql = Replace(std::move(sql), "HELD", kHeld);
    sql = Replace(std::move(sql), "EXPIRED", kExpired);
    return Replace(std::move(sql), "COMMITTED", kCommitted);
  }
  void MakeForm3() {
    std::string sql = kForm3;
    for (const char* log : {"requests", "tokens"}) sql += Replace(kLogTriggers, "LOG", log);
    Write("BEGIN;" + sql + kEndedOfForm3 + AtNow(kCounts) + "COMMIT");
  }

  static constexpr TierCharge kUserA{.key = "user:a",
                                     .limit = {.unit = Limit::Unit::kTokens, .amount = 1000, .per = kMinute}};
  static constexpr TierCharge kUserB{.key = "user:b",
                                     .limit = {.unit = Limit::Unit::kTokens,
                                               .kind = Limit::Kind::kBucket,
                                               .amount = 600,
                                               .per = kMinute,
                                               .burst = 600},
                                     .of_all_models = true};
  static std::pair<int64_t, int64_t> UsedByTiers(QuotaStore& store) {
    const std::vector<TierCharge> tiers = {kUserA, kUserB};
    const ChargeAnswer answer = store.Run(Charge{.model = "o1", .requests = 0, .tiers = tiers});
    return {answer.tiers.at(0).used, answer.tiers.at(1).used};
  }
};

TEST_F(SqliteFormer, KeepsItsCounts) {
  MakeForm3();
  const auto store = Open();
  const WallTime day_start = clock_.Now() - seconds(70);
  EXPECT_EQ(UsageOf(*store, "o1"),
            (ModelUsage{.rpm = 2, .tpm = 340, .rpd = 3, .day_start = day_start, .open_reservations = 1}));
  EXPECT_EQ(UsageOf(*store, "new").tpm, 7);
  EXPECT_EQ(UsedByTiers(*store), std::pair(int64_t{40}, int64_t{40}));
  EXPECT_EQ(store->Models().value(), (std::vector<std::string>{"new", "o1"}));
  EXPECT_EQ(store->StatedByConfiguration().value(), std::vector<std::string>{"o1"});
  const ChargeAnswer refused = store->Run(Charge{.model = "o1", .tokens = 700});
  EXPECT_EQ(refused.code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(refused.retry_after, seconds(40));
  Foreigner reader(path_);
  EXPECT_EQ(reader.Ask("SELECT models || ':' || tiers FROM weir_counts"), "1:2");
  EXPECT_EQ(reader.Ask("PRAGMA user_version"), "6");
  EXPECT_EQ(reader.Ask("SELECT count(*) FROM sqlite_master WHERE name LIKE 'weir_tier%' AND type = 'table'"), "0");
  EXPECT_EQ(reader.Ask("PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteFormer, KeepsItsOpenReservations) {
  MakeForm3();
  const auto store = Open();
  ASSERT_EQ(store->Run(Settlement{.reservation = kHeld}).code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(UsageOf(*store, "o1"),
            (ModelUsage{.rpm = 1, .tpm = 300, .rpd = 2, .day_start = clock_.Now() - seconds(70)}));
  EXPECT_EQ(UsedByTiers(*store), std::pair(int64_t{0}, int64_t{40})) << "the refill of 10 s is worth more than 40";
  Foreigner reader(path_);
  EXPECT_EQ(reader.Ask("SELECT pins FROM weir_meters WHERE key <> '' ORDER BY id"), "1 0");
}

TEST_F(SqliteFormer, KeepsHowReservationsEnded) {
  MakeForm3();
  const auto store = Open();
  EXPECT_TRUE(store->Run(Settlement{.reservation = kCommitted, .tokens = 8}).again);
  const SettlementAnswer late = store->Run(Settlement{.reservation = kExpired, .tokens = 5});
  EXPECT_TRUE(late.late);
  EXPECT_EQ(UsageOf(*store, "o1").tpm, 345);
  EXPECT_EQ(UsageOf(*store, "o1").rpd, 4);
  EXPECT_EQ(UsedByTiers(*store).first, 45);
}

// The reservation's entries have left, and new ones have come.
TEST_F(SqliteFormer, AReservationWhoseEntriesHaveLeftTakesNothingFromOthers) {
  MakeForm3();
  Write("UPDATE weir_reservations SET deadline = deadline + 3600000000000; DELETE FROM requests; DELETE FROM tokens");
  const auto store = Open();
  ASSERT_TRUE(Take(*store, "o1", 40, {}).charged);
  ASSERT_EQ(store->Run(Settlement{.reservation = kHeld}).code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(UsageOf(*store, "o1").tpm, 40);
}

TEST_F(SqliteFormer, OldEntriesAreForgotten) {
  MakeForm3();
  const auto store = Open();
  clock_.Advance(hours(48));
  for (int i = 0; i < 10; ++i) store->Prune();
  Foreigner reader(path_);
  for (const char* table : {"weir_models", "weir_meters", "weir_entries", "weir_reservations"})
    EXPECT_EQ(reader.Ask(std::string("SELECT count(*) FROM ") + table), "0") << table;
  EXPECT_EQ(reader.Ask("SELECT models || ':' || tiers FROM weir_counts"), "0:0");
}

// Turns form 6 back into form 5.
constexpr const char* kForm5 = R"sql(
DROP TRIGGER weir_ended_more;
DROP TRIGGER weir_ended_less;
DROP INDEX weir_ended_kept;
DROP INDEX weir_reservations_due;
ALTER TABLE weir_reservations DROP COLUMN named;
ALTER TABLE weir_ended DROP COLUMN named;
ALTER TABLE weir_ended_counts DROP COLUMN named;
CREATE INDEX weir_ended_kept ON weir_ended(model, kept_until);
CREATE TRIGGER weir_ended_more AFTER INSERT ON weir_ended BEGIN
  INSERT INTO weir_ended_counts VALUES(NEW.model, 1) ON CONFLICT(model) DO UPDATE SET ended = ended + 1;
END;
CREATE TRIGGER weir_ended_less AFTER DELETE ON weir_ended BEGIN
  UPDATE weir_ended_counts SET ended = ended - 1 WHERE model = OLD.model;
  DELETE FROM weir_ended_counts WHERE model = OLD.model AND ended <= 0;
END;
PRAGMA user_version = 5;
)sql";

// Form 5 did not record which reservations are named. Those that it kept are remembered as form 5 would have.
TEST_F(SqliteFormer, Form5KeepsItsReservations) {
  const auto hold = [](QuotaStore& store, const ReservationToken& name) {
    return store.Run(Charge{
        .model = "o1", .mode = Charge::Mode::kHold, .tokens = 9, .hold_for = std::chrono::minutes(10), .token = &name});
  };
  const ReservationToken settled = NamedReservationToken({"settled"});
  const ReservationToken open = NamedReservationToken({"open"});
  {
    const auto store = Open();
    ASSERT_EQ(store->Run(Settlement{.reservation = hold(*store, settled).reservation, .tokens = 7}).actual_tokens, 7);
    ASSERT_TRUE(hold(*store, open).charged);
  }
  Write(kForm5);
  const auto store = Open();
  EXPECT_TRUE(hold(*store, settled).again);
  EXPECT_TRUE(hold(*store, open).again);
  EXPECT_EQ(UsageOf(*store, "o1").tpm, 16);
  clock_.Advance(hours(25));
  EXPECT_FALSE(hold(*store, settled).again);
  EXPECT_EQ(Foreigner(path_).Ask("SELECT model FROM weir_ended_counts"), "");
}

// Form 4 had no money, and no usage of a reservation before its end.
TEST_F(SqliteFormer, Form4KeepsItsReservations) {
  std::string open;
  std::string expired;
  {
    const auto store = Open();
    const auto hold = [&](int64_t tokens) {
      return store->Run(
          Charge{.model = "o1", .mode = Charge::Mode::kHold, .tokens = tokens, .hold_for = std::chrono::minutes(10)});
    };
    expired = hold(9).reservation;
    clock_.Advance(hours(1));
    open = hold(40).reservation;
  }
  Write(kForm5);
  Write(
      "ALTER TABLE weir_reservations DROP COLUMN money; ALTER TABLE weir_reservations DROP COLUMN used;"
      "ALTER TABLE weir_reservations DROP COLUMN used_money; ALTER TABLE weir_ended DROP COLUMN used;"
      "ALTER TABLE weir_ended DROP COLUMN used_money; PRAGMA user_version = 4");
  const auto store = Open();
  EXPECT_EQ(UsageOf(*store, "o1").tpm, 40);
  EXPECT_EQ(store->Run(Settlement{.reservation = open, .tokens = 30, .extend = hours(1)}).reserved_tokens, 40);
  EXPECT_EQ(store->Run(Settlement{.reservation = open}).actual_tokens, 30);
  EXPECT_TRUE(store->Run(Settlement{.reservation = expired, .tokens = 5}).late);
  EXPECT_EQ(UsageOf(*store, "o1").tpm, 35);
  EXPECT_EQ(Foreigner(path_).Ask("PRAGMA user_version"), "6");
}

// Form 2 recorded neither how reservations ended nor who stated a quota; form 1 had sums that could be wrong.
TEST_F(SqliteFormer, Forms1And2KeepTheirCountsAndTheirOpenReservations) {
  for (const char* version : {"1", "2"}) {
    path_ = directory_ / (std::string(version) + ".db");
    MakeForm3();
    Write(std::string("DROP TABLE weir_ended; DROP TABLE weir_ended_counts; DROP TABLE weir_configured;"
                      "UPDATE weir_models SET tokens = 12345; PRAGMA user_version = ") +
          version);
    const auto store = Open();
    EXPECT_EQ(UsageOf(*store, "o1").tpm, 340);
    EXPECT_EQ(store->Run(Settlement{.reservation = kHeld, .tokens = 4}).code, SettlementAnswer::Code::kSettled);
    EXPECT_TRUE(store->Run(Settlement{.reservation = kHeld, .tokens = 4}).again);
    EXPECT_EQ(UsageOf(*store, "o1").tpm, 304);
  }
}

}  // namespace
}  // namespace weir
