// SqliteStore: a SQLite quota store with a file of its own, and another program that uses the same file.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "config/manual_clock.h"
#include "tests/fixtures/temp_directory.h"
#include "throttle/limits/quota/sqlite/sqlite_store.h"

namespace weir {

inline constexpr WallTime kSqliteStart{std::chrono::seconds(1'771'597'921)};

// The tables that the published program creates.
inline constexpr const char* kPublished = R"sql(
CREATE TABLE IF NOT EXISTS quotas (model TEXT PRIMARY KEY, max_rpm INTEGER NOT NULL DEFAULT 0,
  max_tpm INTEGER NOT NULL DEFAULT 0, max_rpd INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS requests (model TEXT NOT NULL, ts INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (model TEXT NOT NULL, ts INTEGER NOT NULL, count INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS daily (model TEXT PRIMARY KEY, day_start INTEGER NOT NULL,
  day_count INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS idx_requests_model_ts ON requests(model, ts);
CREATE INDEX IF NOT EXISTS idx_tokens_model_ts ON tokens(model, ts);
)sql";

inline std::unique_ptr<QuotaStore> MustOpen(const std::string& path, const WallClock& clock,
                                            const SqliteStoreOptions& options = {}) {
  Result<std::unique_ptr<QuotaStore>> store = OpenSqliteQuotaStore(path, options, clock);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? std::move(store).value() : nullptr;
}

// Foreigner: the other program, which uses SQLite directly.
class Foreigner {
 public:
  explicit Foreigner(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK); }
  ~Foreigner() { sqlite3_close(handle_); }
  Foreigner(const Foreigner&) = delete;
  Foreigner& operator=(const Foreigner&) = delete;

  void Run(const std::string& sql) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << sql << ": " << error;
    sqlite3_free(error);
  }
  std::string ErrorOf(const std::string& sql) {
    EXPECT_NE(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    return sqlite3_errmsg(handle_);
  }
  // Returns the first column of all rows, separated by blanks.
  std::string Ask(const std::string& sql) {
    std::string answer;
    const auto add = [](void* text, int, char** values, char**) {
      auto& out = *static_cast<std::string*>(text);
      out.append(out.empty() ? "" : " ").append(values[0] != nullptr ? values[0] : "null");
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), add, &answer, nullptr), SQLITE_OK) << sqlite3_errmsg(handle_);
    return answer;
  }

 private:
  sqlite3* handle_ = nullptr;
};

class SqliteStore : public testing::Test {
 protected:
  std::unique_ptr<QuotaStore> Open(const SqliteStoreOptions& options = {}) { return MustOpen(path_, clock_, options); }
  std::string ErrorOfOpening() {
    const auto store = OpenSqliteQuotaStore(path_, {.busy_timeout = std::chrono::milliseconds(1)}, clock_);
    EXPECT_FALSE(store.ok());
    return store.status().message();
  }
  static ChargeAnswer Take(QuotaStore& store, std::string_view model, int64_t tokens, const ModelQuota& quota) {
    return store.Run(Charge{.model = model, .mode = Charge::Mode::kTake, .tokens = tokens, .default_quota = quota});
  }
  static ModelUsage UsageOf(QuotaStore& store, std::string_view model) {
    const ChargeAnswer answer = store.Run(Charge{.model = model, .requests = 0});
    EXPECT_NE(answer.code, QuotaCode::kStoreUnavailable) << answer.problem;
    return answer.usage;
  }

  static TierCharge TokensIn(Duration window, std::string_view key = "user:a") {
    return {.key = key, .limit = {.unit = Limit::Unit::kTokens, .amount = 1'000'000, .per = window}};
  }

  TempDirectory directory_;
  std::string path_ = directory_ / "quota.db";
  ManualWallClock clock_{kSqliteStart};
};

}  // namespace weir
