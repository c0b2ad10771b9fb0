#include "tests/relay/store/postgres/partitions.h"

#include <fstream>
#include <sstream>

#include "tests/fixtures/random_nostr.h"

namespace weir {

void AddPartitionProcedures(const PostgresDatabase& database) {
  std::ifstream file(WEIR_SOURCE_DIR "/relay/store/postgres/partitions.sql");
  std::stringstream procedures;
  procedures << file.rdbuf();
  database.Ask(procedures.str());
}

void Cut(const PostgresDatabase& database, uint64_t second, const std::string& name) {
  PostgresClient client(database.conninfo() + " options='-c client_min_messages=warning'");
  client.Ask("CALL weir_cut(to_timestamp(" + std::to_string(second) + "), '" + name + "')");
}

void MakePartitions(const PostgresDatabase& database, const std::vector<uint64_t>& cuts) {
  AddPartitionProcedures(database);
  for (size_t i = 0; i < cuts.size(); ++i) Cut(database, cuts[i], "p" + std::to_string(i + 1));
}

std::unique_ptr<EventStore> PartitionedUnderTest::Open() {
  std::unique_ptr<EventStore> store = PostgresUnderTest::Open();
  if (!is_partitioned_)
    MakePartitions(database(), {500, 1001, RandomNostr::kStart - 2, RandomNostr::kStart + 3, uint64_t{1} << 32});
  is_partitioned_ = true;
  return store;
}

}  // namespace weir
