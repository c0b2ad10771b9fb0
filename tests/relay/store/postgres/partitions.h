// Makes the tables of a database partitioned, with the procedures of partitions.sql.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {

// Adds the procedures to the database.
void AddPartitionProcedures(const PostgresDatabase& database);
// Adds them and cuts the tables at these seconds, in their order. The partitions are called first, p1, p2 and so on.
void MakePartitions(const PostgresDatabase& database, const std::vector<uint64_t>& cuts);
void Cut(const PostgresDatabase& database, uint64_t second, const std::string& name);

// A store whose tables are partitioned at some of the seconds at which the tests of StoreSuite date their events.
class PartitionedUnderTest final : public PostgresUnderTest {
 public:
  using PostgresUnderTest::PostgresUnderTest;
  std::unique_ptr<EventStore> Open() override;

 private:
  bool is_partitioned_ = false;
};

}  // namespace weir
