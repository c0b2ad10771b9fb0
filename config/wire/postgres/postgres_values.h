// The parameters and answers of PostgreSQL statements (postgres_session.h), in PostgreSQL's binary format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_result;

namespace weir {

// An array of values of one type, in the order in which they are added. Type has PostgreSQL's numbers for the types.
class PostgresArray {
 public:
  enum class Type : uint32_t { kBytes = 17, kInt64 = 20, kInt32 = 23, kText = 25 };

  explicit PostgresArray(Type type) : type_(type) {}
  void Add(std::string_view bytes);  // for kBytes and kText
  void Add(int64_t number);          // for kInt64 and kInt32, which keeps the lower 32 bits
  void AddNull();

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Returns the array in PostgreSQL's binary format.
  std::string Encoded() const;

 private:
  const Type type_;
  uint32_t size_ = 0;
  bool has_null_ = false;
  std::string values_;
};

// The parameters of a statement. Each call adds the value of the next one: $1, $2 and so on.
class PostgresValues {
 public:
  PostgresValues& Int64(int64_t number);
  PostgresValues& Int32(int32_t number);
  PostgresValues& Bytes(std::string_view bytes);  // a bytea or a text
  PostgresValues& Array(const PostgresArray& array) { return Bytes(array.Encoded()); }

  const std::vector<std::string>& all() const { return values_; }

 private:
  std::vector<std::string> values_;
};

// The answer to a statement. The object owns `result`. Text that Bytes returns is valid as long as the object lives.
class PostgresRows {
 public:
  explicit PostgresRows(pg_result* result = nullptr) : result_(result) {}

  size_t size() const;        // number of rows
  uint64_t affected() const;  // rows that the statement changed, or that a SELECT returned
  bool IsNull(size_t row, int column) const;
  int64_t Int(size_t row, int column) const;  // an integer of at most 8 bytes; 0 for NULL
  std::string_view Bytes(size_t row, int column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace weir
