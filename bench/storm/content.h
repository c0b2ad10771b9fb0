// StormContent: the content of a storm's database, and the operations of its clients. Any thread may call the
// functions, with a `random` of its own.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/storm/shape.h"

namespace weir {

// An open database and its column families. The destructor closes the families before the database.
struct StormDatabase {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<std::unique_ptr<rocksdb::ColumnFamilyHandle>> families;  // in the shape's order
  // Begins a transaction that the caller owns; null if the database has none.
  std::function<rocksdb::Transaction*(const rocksdb::WriteOptions&)> begin_transaction;
};

class StormContent {
 public:
  virtual ~StormContent() = default;

  virtual void AddInteractive(const StormDatabase& database, std::mt19937_64& random,
                              rocksdb::WriteBatch* batch) const = 0;
  virtual void AddBulk(const StormDatabase& database, std::mt19937_64& random, rocksdb::WriteBatch* batch) const = 0;
  // Get and Scan also return Ok if they find nothing.
  virtual rocksdb::Status Get(const StormDatabase& database, std::mt19937_64& random) const = 0;
  virtual rocksdb::Status Scan(const StormDatabase& database, std::mt19937_64& random, int values) const = 0;
};

// Makes the content of a shape. `stored` is the number of values that the database has already.
std::unique_ptr<StormContent> MakeContent(const StormShape& shape, uint64_t stored);

// Returns the key with this number, as sixteen digits. All shapes except the relay's use such keys.
std::string StormKey(uint64_t number);

}  // namespace weir
