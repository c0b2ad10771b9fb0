// Values in PostgreSQL's binary form: a slow reader of that form reads what weir writes, and weir reads the answers.
// The input is a list of values, each a byte for its kind and then its bytes.
#include <libpq-fe.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/wire/postgres/postgres_values.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

struct Value {
  enum Kind : uint8_t { kBytes, kInt64, kInt32, kNull };
  Kind kind = kBytes;
  std::string bytes;
  int64_t number = 0;
};

std::string Take(std::string_view* text, size_t size) {
  std::string taken(text->substr(0, size));
  text->remove_prefix(taken.size());
  return taken;
}

// Reads a two's complement number in network byte order.
int64_t SlowNumber(std::string_view bytes) {
  int64_t number = !bytes.empty() && bytes[0] < 0 ? -1 : 0;
  for (const char byte : bytes) number = number * 256 + static_cast<uint8_t>(byte);
  return number;
}

std::vector<Value> ReadValues(std::string_view input) {
  std::vector<Value> values;
  while (!input.empty() && values.size() < 100) {
    Value value{.kind = static_cast<Value::Kind>(TakeByte(&input) % 4)};
    const size_t size = value.kind == Value::kInt64 ? 8 : value.kind == Value::kInt32 ? 4 : TakeByte(&input);
    if (value.kind != Value::kNull) value.bytes = Take(&input, size);
    if (value.bytes.size() <= 8) value.number = SlowNumber(value.bytes);
    values.push_back(std::move(value));
  }
  return values;
}

// Reads an array as array_recv of PostgreSQL does. A null becomes std::nullopt.
std::vector<std::optional<std::string>> SlowArray(std::string_view text, PostgresArray::Type type) {
  const auto number = [&text] { return SlowNumber(Take(&text, 4)); };
  const int64_t dimensions = number();
  const int64_t has_nulls = number();
  Must(number() == static_cast<int64_t>(type));
  std::vector<std::optional<std::string>> items;
  if (dimensions == 1) {
    items.resize(static_cast<size_t>(number()));
    Must(!items.empty() && number() == 1, "the first index is 1");
  }
  for (auto& item : items) {
    const int64_t size = number();
    Must(size >= -1 && size <= static_cast<int64_t>(text.size()));
    if (size >= 0) item = Take(&text, static_cast<size_t>(size));
  }
  Must(text.empty());
  Must(std::ranges::any_of(items, [](const auto& item) { return !item; }) == (has_nulls == 1));
  return items;
}

void CheckArray(const std::vector<Value>& values, PostgresArray::Type type) {
  PostgresArray array(type);
  const bool of_numbers = type == PostgresArray::Type::kInt64 || type == PostgresArray::Type::kInt32;
  for (const Value& value : values) {
    if (value.kind == Value::kNull) {
      array.AddNull();
    } else if (of_numbers) {
      array.Add(value.number);
    } else {
      array.Add(value.bytes);
    }
  }
  const auto items = SlowArray(array.Encoded(), type);
  Must(items.size() == values.size() && array.size() == values.size());
  for (size_t i = 0; i < items.size(); ++i) {
    Must(items[i].has_value() == (values[i].kind != Value::kNull));
    if (!items[i]) continue;
    const int64_t number =
        type == PostgresArray::Type::kInt32 ? static_cast<int32_t>(values[i].number) : values[i].number;
    Must(of_numbers ? SlowNumber(*items[i]) == number : *items[i] == values[i].bytes);
  }
}

// Checks one row that has all the values.
void CheckRow(const std::vector<Value>& values) {
  if (values.empty()) return;
  pg_result* const result = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  const PostgresRows rows(result);
  char name[] = "v";
  PGresAttDesc column{.name = name, .format = 1};
  std::vector<PGresAttDesc> columns(values.size(), column);
  Must(PQsetResultAttrs(result, static_cast<int>(columns.size()), columns.data()) != 0);
  PostgresValues parameters;
  for (size_t i = 0; i < values.size(); ++i) {
    std::string bytes = values[i].bytes;
    const int size = values[i].kind == Value::kNull ? -1 : static_cast<int>(bytes.size());
    Must(PQsetvalue(result, 0, static_cast<int>(i), bytes.data(), size) != 0);
    if (bytes.size() == 8) parameters.Int64(values[i].number);
    if (bytes.size() == 4) parameters.Int32(static_cast<int32_t>(values[i].number));
    if (bytes.size() == 8 || bytes.size() == 4) Must(parameters.all().back() == bytes);
  }
  Must(rows.size() == 1);
  for (size_t i = 0; i < values.size(); ++i) {
    const int at = static_cast<int>(i);
    Must(rows.IsNull(0, at) == (values[i].kind == Value::kNull));
    Must(rows.Bytes(0, at) == values[i].bytes);
    if (values[i].bytes.size() <= 8) Must(rows.Int(0, at) == values[i].number);
  }
}

void Check(std::string_view input) {
  const std::vector<Value> values = ReadValues(input);
  for (const auto type : {PostgresArray::Type::kBytes, PostgresArray::Type::kInt64, PostgresArray::Type::kInt32,
                          PostgresArray::Type::kText})
    CheckArray(values, type);
  CheckRow(values);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
