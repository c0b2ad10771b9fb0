#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "bench/storm/wire/wire_engine.h"
#include "config/wire/mysql/mysql_session.h"
#include "monitors/myrocks/myrocks_monitor.h"

namespace weir {
namespace {

constexpr Duration kMyRocksPatience = std::chrono::minutes(2);
constexpr uint64_t kMyRocksTargetBytes = uint64_t{4} << 30;  // memory target of this process, which is not measured
constexpr int kConflictTriesOfMyRocks = 10;
constexpr unsigned kDeadlockOfMyRocks = 1213;
constexpr uint64_t kRowsInStatement = 1000;

class MyRocksClient final : public WireClient {
 public:
  explicit MyRocksClient(const MysqlAddress& address) : session_(address) {}

  Status Write(std::span<const uint64_t> keys, const std::string& value) override {
    // The server does not write a row that stays as it is, so each value begins with the time.
    std::string other = std::to_string(Clock::System().Now().time_since_epoch().count()) + value;
    other.resize(value.size());
    std::string sql = "INSERT INTO weir_storm VALUES ";
    for (const uint64_t key : keys)
      sql.append(sql.back() == ' ' ? "(" : ",(").append(std::to_string(key)).append(",'").append(other).append("')");
    return Ask(sql + " ON DUPLICATE KEY UPDATE value = VALUES(value)");
  }
  Status Read(uint64_t key) override { return Ask("SELECT value FROM weir_storm WHERE id = " + std::to_string(key)); }

 private:
  Status Ask(const std::string& sql) {
    if (!session_.connected())
      if (Status connected = session_.Connect(kMyRocksPatience); !connected.ok()) return connected;
    // After a conflict with another client, a client tries again.
    Status done;
    for (int tries = 0; tries < kConflictTriesOfMyRocks; ++tries) {
      done = session_.Ask(sql, kMyRocksPatience).status();
      if (session_.error_number() != kDeadlockOfMyRocks) break;
    }
    return done;
  }

  MysqlSession session_;
};

class MyRocksEngine final : public WireEngine {
 public:
  explicit MyRocksEngine(MysqlAddress address) : address_(std::move(address)) {}

  Status Prepare(uint64_t keys, size_t value_bytes) override {
    MysqlSession session(address_);
    Status done = session.Connect(kMyRocksPatience);
    const auto run = [&](const std::string& sql) {
      if (done.ok()) done = session.Ask(sql, kMyRocksPatience).status();
    };
    run("CREATE OR REPLACE TABLE weir_storm (id bigint PRIMARY KEY, value varbinary(60000) NOT NULL) ENGINE = rocksdb");
    for (uint64_t begin = 0; begin < keys; begin += kRowsInStatement)
      run("INSERT INTO weir_storm SELECT seq, repeat('x', " + std::to_string(value_bytes) + ") FROM seq_" +
          std::to_string(begin) + "_to_" + std::to_string(std::min(keys, begin + kRowsInStatement) - 1));
    // The second one finds nothing in level 0, and ends when the compaction of the first has ended.
    for (int times = 0; times < 2; ++times) run("SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1");
    const auto pid_file = session.Ask("SELECT @@pid_file", kMyRocksPatience);
    if (pid_file.ok()) std::ifstream(pid_file.value()[0][0].value_or("")) >> pid_;
    return done;
  }
  std::unique_ptr<WireClient> Connect() override { return std::make_unique<MyRocksClient>(address_); }
  std::unique_ptr<LoadMonitor> MakeMonitor() override {
    return std::make_unique<MyRocksMonitor>(address_, kMyRocksTargetBytes);
  }
  // utime and stime, behind the name of the program, which is in parentheses.
  double CpuSeconds() override {
    std::ifstream file("/proc/" + pid_ + "/stat");
    std::string stat{std::istreambuf_iterator<char>(file), {}};
    stat.erase(0, stat.rfind(')') + 1);
    std::istringstream fields(stat);
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    double user = 0;
    double system = 0;
    if (!(fields >> user >> system)) return WireEngine::CpuSeconds();
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

 private:
  const MysqlAddress address_;
  std::string pid_;  // process of the server, if that runs on this machine
};

}  // namespace

Result<std::unique_ptr<WireEngine>> MakeMyRocksEngine(const std::string& url) {
  Result<MysqlAddress> address = ParseMysqlUrl(url);
  if (!address.ok()) return address.status();
  return std::unique_ptr<WireEngine>(std::make_unique<MyRocksEngine>(std::move(address).value()));
}

}  // namespace weir
