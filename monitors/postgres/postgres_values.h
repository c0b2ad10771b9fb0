// The parameters and answers of statements, in PostgreSQL's binary form.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_result;

namespace weir {

// The values of one array: all of one type, in the order in which they are added.
class PostgresArray {
 public:
  enum class Type : uint32_t { kBytes = 17, kInt64 = 20, kInt32 = 23, kText = 25 };  // PostgreSQL's numbers for types

  explicit PostgresArray(Type type) : type_(type) {}
  void Add(std::string_view bytes);
  void Add(int64_t number);  // in the type's width
  void AddNull();

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string Encoded() const;

 private:
  const Type type_;
  uint32_t size_ = 0;
  bool has_null_ = false;
  std::string values_;
};

// The parameters $1, $2 … of a statement.
class PostgresValues {
 public:
  PostgresValues& Int64(int64_t number);
  PostgresValues& Int32(int32_t number);
  PostgresValues& Bytes(std::string_view bytes);  // bytea, or text
  PostgresValues& Array(const PostgresArray& array) { return Bytes(array.Encoded()); }

  const std::vector<std::string>& all() const { return values_; }

 private:
  std::vector<std::string> values_;
};

// An answer. Bytes that are read from it are valid as long as it lives.
class PostgresRows {
 public:
  explicit PostgresRows(pg_result* result = nullptr) : result_(result) {}

  size_t size() const;
  uint64_t affected() const;  // rows that the statement changed
  bool IsNull(size_t row, int column) const;
  int64_t Int(size_t row, int column) const;  // the value has 4 or 8 bytes
  std::string_view Bytes(size_t row, int column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace weir
