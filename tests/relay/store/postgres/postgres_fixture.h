// Stores on one PostgreSQL that all tests of a program share, each in a database of its own.
#pragma once

#include <memory>
#include <string>

#include "relay/store/postgres/postgres_store.h"
#include "tests/fixtures/postgres_process.h"
#include "tests/relay/store/store_under_test.h"

namespace weir {

// Started when it is first asked for; it does not wait for its disk.
PostgresProcess& SharedPostgres();

// A database that is dropped with this object.
class PostgresDatabase {
 public:
  explicit PostgresDatabase(PostgresProcess& server = SharedPostgres());
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  std::string conninfo() const;
  std::string Ask(const std::string& sql) const { return PostgresClient(conninfo()).Ask(sql); }
  PostgresStoreOptions Options(const std::string& origin = "here") const;

 private:
  PostgresProcess& server_;
  const std::string name_;
};

std::unique_ptr<PostgresStore> MustOpen(const PostgresStoreOptions& options);

class PostgresUnderTest final : public StoreUnderTest {
 public:
  explicit PostgresUnderTest(const std::string& own_url) : own_url_(own_url) {}
  std::unique_ptr<EventStore> Open() override;
  // Compares the events with what they are found by.
  std::string Difference(EventStore& store) override;

 private:
  const std::string own_url_;
  PostgresDatabase database_;
};

}  // namespace weir
