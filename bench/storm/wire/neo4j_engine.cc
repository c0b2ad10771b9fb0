#include <thread>

#include "bench/storm/wire/wire_engine.h"
#include "config/text/json_string.h"

namespace weir {
namespace {

constexpr Duration kNeo4jPatience = std::chrono::minutes(2);
constexpr int kConflictTries = 10;
constexpr Duration kConflictPause = std::chrono::milliseconds(5);  // then twice as long each time
constexpr uint64_t kNeo4jTargetBytes = uint64_t{4} << 30;  // memory target of this process, which is not measured

class Neo4jClient final : public WireClient {
 public:
  Neo4jClient(const Neo4jAddress& address, Neo4jMonitor* const* monitor) : session_(address), monitor_(monitor) {}

  Status Write(std::span<const uint64_t> keys, const std::string& value) override {
    std::string parameters = "{\"keys\":[";
    for (const uint64_t key : keys) parameters += (parameters.back() == '[' ? "" : ",") + std::to_string(key);
    parameters += "],\"value\":";
    AppendJsonString(value, &parameters);
    return Ask({"UNWIND $keys AS key MERGE (s:WeirStorm {key: key}) SET s.value = $value", parameters + "}"},
               keys.size() * value.size());
  }
  Status Read(uint64_t key) override {
    return Ask({"MATCH (s:WeirStorm {key: $key}) RETURN s.value", "{\"key\":" + std::to_string(key) + "}"}, 1000);
  }

 private:
  Status Ask(const Neo4jStatement& statement, uint64_t bytes) {
    auto transaction = (*monitor_)->Begin(bytes);
    // After a conflict with another client, a client tries again, as every driver does.
    Duration pause = kConflictPause;
    for (int tries = 1;; ++tries) {
      Status done = session_.Commit({statement}, kNeo4jPatience).status();
      if (done.ok()) return done;
      if (tries == kConflictTries || done.message().find("TransientError") == std::string::npos) {
        transaction.Failed();
        return done;
      }
      std::this_thread::sleep_for(pause);
      pause *= 2;
    }
  }

  Neo4jSession session_;
  Neo4jMonitor* const* const monitor_;
};

class Neo4jEngine final : public WireEngine {
 public:
  Neo4jEngine(Neo4jAddress address, const Neo4jMonitorSettings& settings)
      : address_(std::move(address)), settings_(settings) {}

  Status Prepare(uint64_t keys, size_t value_bytes) override {
    monitor_ = nullptr;
    Neo4jSession session(address_);
    const std::string fill = "UNWIND range(0, " + std::to_string(keys - 1) +
                             ") AS key CALL { WITH key CREATE (:WeirStorm {key: key, value: '" +
                             std::string(value_bytes, 'x') + "'}) } IN TRANSACTIONS OF 1000 ROWS";
    for (const std::string& cypher :
         {std::string("MATCH (s:WeirStorm) CALL { WITH s DELETE s } IN TRANSACTIONS OF 1000 ROWS"),
          std::string("CREATE INDEX weir_storm IF NOT EXISTS FOR (s:WeirStorm) ON (s.key)"), fill,
          std::string("CALL db.awaitIndexes()")})
      if (const auto done = session.Commit({{cypher}}, kNeo4jPatience); !done.ok()) return done.status();
    return {};
  }
  std::unique_ptr<WireClient> Connect() override { return std::make_unique<Neo4jClient>(address_, &monitor_); }
  std::unique_ptr<LoadMonitor> MakeMonitor() override {
    auto monitor = std::make_unique<Neo4jMonitor>(address_, kNeo4jTargetBytes, settings_);
    monitor_ = monitor.get();
    return monitor;
  }

 private:
  const Neo4jAddress address_;
  const Neo4jMonitorSettings settings_;
  Neo4jMonitor* monitor_ = nullptr;  // this run's
};

}  // namespace

Result<std::unique_ptr<WireEngine>> MakeNeo4jEngine(const std::string& url, const Neo4jMonitorSettings& settings) {
  Result<Neo4jAddress> address = ParseNeo4jUrl(url);
  if (!address.ok()) return address.status();
  return std::unique_ptr<WireEngine>(std::make_unique<Neo4jEngine>(std::move(address).value(), settings));
}

}  // namespace weir
