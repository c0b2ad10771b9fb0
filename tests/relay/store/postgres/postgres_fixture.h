// Makes stores on one PostgreSQL server, which all tests of a program share. Each store has a database of its own.
#pragma once

#include <memory>
#include <string>

#include "relay/store/postgres/postgres_store.h"
#include "tests/fixtures/postgres_process.h"
#include "tests/relay/store/store_under_test.h"

namespace weir {

// Returns the server; starts it at the first call. The server does not sync its writes to disk.
PostgresProcess& SharedPostgres();

// PostgresDatabase: a database that the destructor drops.
class PostgresDatabase {
 public:
  explicit PostgresDatabase(PostgresProcess& server = SharedPostgres());
  ~PostgresDatabase();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  std::string conninfo() const;
  std::string url() const;  // has the form of WEIR_STORE
  std::string Ask(const std::string& sql) const { return PostgresClient(conninfo()).Ask(sql); }
  PostgresStoreOptions Options(const std::string& origin = "here") const;

 private:
  PostgresProcess& server_;
  const std::string name_;
};

std::unique_ptr<PostgresStore> MustOpen(const PostgresStoreOptions& options);
// Opens and closes a store, and returns what it logs.
std::string LogOfOpening(const PostgresStoreOptions& options);

class PostgresUnderTest : public StoreUnderTest {
 public:
  explicit PostgresUnderTest(const std::string& own_url) : own_url_(own_url) {}
  std::unique_ptr<EventStore> Open() override;
  // Compares the stored events with the tables by which queries find them.
  std::string Difference(EventStore& store) override;

 protected:
  const PostgresDatabase& database() const { return database_; }

 private:
  const std::string own_url_;
  PostgresDatabase database_;
};

}  // namespace weir
