#include "bench/storm/wire/wire_engine.h"
#include "config/wire/postgres/postgres_session.h"

namespace weir {
namespace {

constexpr Duration kPostgresPatience = std::chrono::minutes(2);
constexpr uint64_t kPostgresTargetBytes = uint64_t{4} << 30;  // memory target of this process, which is not measured

constexpr PostgresStatement kWrite{"storm_write",
                                   "INSERT INTO weir_storm (key, value) SELECT k, $2::bytea FROM unnest($1::bigint[]) k"
                                   " ON CONFLICT (key) DO UPDATE SET value = excluded.value"};
constexpr PostgresStatement kRead{"storm_read", "SELECT value FROM weir_storm WHERE key = $1::bigint"};

class PostgresClient final : public WireClient {
 public:
  explicit PostgresClient(const std::string& url) : session_(url) {}

  Status Write(std::span<const uint64_t> keys, const std::string& value) override {
    PostgresArray array(PostgresArray::Type::kInt64);
    for (const uint64_t key : keys) array.Add(static_cast<int64_t>(key));
    return Ask(kWrite, PostgresValues().Array(array).Bytes(value));
  }
  Status Read(uint64_t key) override { return Ask(kRead, PostgresValues().Int64(static_cast<int64_t>(key))); }

 private:
  Status Ask(const PostgresStatement& statement, PostgresValues values) {
    if (!session_.connected())
      if (Status connected = session_.Connect(kPostgresPatience); !connected.ok()) return connected;
    session_.Queue(statement, std::move(values));
    return session_.Run(kPostgresPatience).status();
  }

  PostgresSession session_;
};

class PostgresEngine final : public WireEngine {
 public:
  PostgresEngine(std::string url, const PostgresMonitorSettings& settings)
      : url_(std::move(url)), settings_(settings) {}

  Status Prepare(uint64_t keys, size_t value_bytes) override {
    PostgresSession session(url_);
    if (Status connected = session.Connect(kPostgresPatience); !connected.ok()) return connected;
    const std::string fill = "INSERT INTO weir_storm SELECT key, convert_to(repeat('x', " +
                             std::to_string(value_bytes) + "), 'UTF8') FROM generate_series(0, " +
                             std::to_string(keys - 1) + ") AS key";
    for (const std::string& sql :
         {std::string("DROP TABLE IF EXISTS weir_storm"),
          std::string("CREATE TABLE weir_storm (key bigint PRIMARY KEY, value bytea NOT NULL)"),
          std::string("ALTER TABLE weir_storm ALTER COLUMN value SET STORAGE EXTERNAL"), fill,
          std::string("VACUUM ANALYZE weir_storm"), std::string("CHECKPOINT")})
      if (Status done = session.Ask(sql, kPostgresPatience).status(); !done.ok()) return done;
    return {};
  }
  std::unique_ptr<WireClient> Connect() override { return std::make_unique<PostgresClient>(url_); }
  std::unique_ptr<LoadMonitor> MakeMonitor() override {
    return std::make_unique<PostgresMonitor>(url_, kPostgresTargetBytes, settings_);
  }

 private:
  const std::string url_;
  const PostgresMonitorSettings settings_;
};

}  // namespace

std::unique_ptr<WireEngine> MakePostgresEngine(const std::string& url, const PostgresMonitorSettings& settings) {
  return std::make_unique<PostgresEngine>(url, settings);
}

}  // namespace weir
