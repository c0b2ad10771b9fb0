#include "bench/storm/wire/wire_engine.h"
#include "config/text/json_string.h"
#include "monitors/neo4j/neo4j_monitor.h"

namespace weir {
namespace {

constexpr Duration kNeo4jPatience = std::chrono::minutes(2);
constexpr uint64_t kNeo4jTargetBytes = uint64_t{4} << 30;  // of this process, which is not what is measured

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
    const auto transaction = (*monitor_)->Begin(bytes);
    // Who is told that he has met another tries again, as every driver does.
    for (;;) {
      const Status done = session_.Commit({statement}, kNeo4jPatience).status();
      if (done.ok() || done.message().find("TransientError") == std::string::npos) return done;
    }
  }

  Neo4jSession session_;
  Neo4jMonitor* const* const monitor_;
};

class Neo4jEngine final : public WireEngine {
 public:
  explicit Neo4jEngine(Neo4jAddress address) : address_(std::move(address)) {}

  Status Prepare() override {
    monitor_ = nullptr;
    Neo4jSession session(address_);
    for (const char* const cypher :
         {"MATCH (s:WeirStorm) CALL { WITH s DELETE s } IN TRANSACTIONS OF 1000 ROWS",
          "CREATE INDEX weir_storm IF NOT EXISTS FOR (s:WeirStorm) ON (s.key)", "CALL db.awaitIndexes()"})
      if (const auto done = session.Commit({{cypher}}, kNeo4jPatience); !done.ok()) return done.status();
    return {};
  }
  std::unique_ptr<WireClient> Connect() override { return std::make_unique<Neo4jClient>(address_, &monitor_); }
  std::unique_ptr<LoadMonitor> MakeMonitor() override {
    auto monitor = std::make_unique<Neo4jMonitor>(address_, kNeo4jTargetBytes);
    monitor_ = monitor.get();
    return monitor;
  }

 private:
  const Neo4jAddress address_;
  Neo4jMonitor* monitor_ = nullptr;  // of this run
};

}  // namespace

Result<std::unique_ptr<WireEngine>> MakeNeo4jEngine(const std::string& url) {
  Result<Neo4jAddress> address = ParseNeo4jUrl(url);
  if (!address.ok()) return address.status();
  return std::unique_ptr<WireEngine>(std::make_unique<Neo4jEngine>(std::move(address).value()));
}

}  // namespace weir
