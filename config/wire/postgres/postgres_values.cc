#include "config/wire/postgres/postgres_values.h"

#include <libpq-fe.h>

#include <cstdlib>

namespace weir {
namespace {

void AppendBigEndian(uint64_t number, size_t bytes, std::string* to) {
  for (size_t i = bytes; i-- > 0;) to->push_back(static_cast<char>(number >> (8 * i)));
}

std::string BigEndian(uint64_t number, size_t bytes) {
  std::string text;
  AppendBigEndian(number, bytes, &text);
  return text;
}

}  // namespace

void PostgresArray::Add(std::string_view bytes) {
  AppendBigEndian(bytes.size(), 4, &values_);
  values_ += bytes;
  ++size_;
}

void PostgresArray::Add(int64_t number) {
  const size_t width = type_ == Type::kInt64 ? 8 : 4;
  AppendBigEndian(width, 4, &values_);
  AppendBigEndian(static_cast<uint64_t>(number), width, &values_);
  ++size_;
}

void PostgresArray::AddNull() {
  AppendBigEndian(UINT32_MAX, 4, &values_);
  has_null_ = true;
  ++size_;
}

// Writes the number of dimensions, whether there are nulls, and the type; then the one dimension's size and first
// index, and the values.
std::string PostgresArray::Encoded() const {
  std::string array;
  array.reserve(20 + values_.size());
  AppendBigEndian(size_ > 0 ? 1 : 0, 4, &array);
  AppendBigEndian(has_null_ ? 1 : 0, 4, &array);
  AppendBigEndian(static_cast<uint32_t>(type_), 4, &array);
  if (size_ == 0) return array;
  AppendBigEndian(size_, 4, &array);
  AppendBigEndian(1, 4, &array);
  return array += values_;
}

PostgresValues& PostgresValues::Int64(int64_t number) {
  values_.push_back(BigEndian(static_cast<uint64_t>(number), 8));
  return *this;
}

PostgresValues& PostgresValues::Int32(int32_t number) {
  values_.push_back(BigEndian(static_cast<uint32_t>(number), 4));
  return *this;
}

PostgresValues& PostgresValues::Bytes(std::string_view bytes) {
  values_.emplace_back(bytes);
  return *this;
}

void PostgresRows::Clear::operator()(pg_result* result) const { PQclear(result); }

size_t PostgresRows::size() const { return static_cast<size_t>(PQntuples(result_.get())); }

uint64_t PostgresRows::affected() const { return std::strtoull(PQcmdTuples(result_.get()), nullptr, 10); }

bool PostgresRows::IsNull(size_t row, int column) const {
  return PQgetisnull(result_.get(), static_cast<int>(row), column) == 1;
}

int64_t PostgresRows::Int(size_t row, int column) const {
  const std::string_view bytes = Bytes(row, column);
  uint64_t number = !bytes.empty() && (bytes.front() & 0x80) != 0 ? UINT64_MAX : 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return static_cast<int64_t>(number);
}

std::string_view PostgresRows::Bytes(size_t row, int column) const {
  return {PQgetvalue(result_.get(), static_cast<int>(row), column),
          static_cast<size_t>(PQgetlength(result_.get(), static_cast<int>(row), column))};
}

}  // namespace weir
