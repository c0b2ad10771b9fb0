// Converts values into the form that they have in the columns of the PostgreSQL tables (schema.h), and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "config/wire/postgres/postgres_values.h"
#include "relay/store/keys.h"

namespace weir {

// The first and the last of some times.
struct TimeSpan {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;

  void Add(int64_t time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
};

// The ids and times by which statements find events in their partitions (kFindEvents in postgres_edit_statements.h).
struct EventKeys {
  PostgresArray ids{PostgresArray::Type::kBytes};
  PostgresArray times{PostgresArray::Type::kInt64};
  TimeSpan span;  // the first and the last of `times`

  EventKeys() = default;
  explicit EventKeys(std::span<const EventView> events) {
    for (const EventView event : events) Add(event.id(), event.created_at());
  }
  void Add(const EventId& id, uint64_t created_at);
  PostgresValues Values() const { return PostgresValues().Array(ids).Array(times).Int64(span.first).Int64(span.last); }
};

// Rows of the table weir_tags, with an array for each column.
struct TagRows {
  PostgresArray tags{PostgresArray::Type::kInt64};
  PostgresArray kinds{PostgresArray::Type::kInt32};
  PostgresArray times{PostgresArray::Type::kInt64};
  PostgresArray ids{PostgresArray::Type::kBytes};

  // Adds a row for each tag of the event's record.
  void AddAllOf(EventView event);
};

// Returns the hash of a tag's letter and value: the column `tag` of the table weir_tags.
int64_t TagNumber(char letter, std::string_view value);
// Returns a time as a signed number, because the database has no unsigned ones. Times beyond INT64_MAX become
// INT64_MAX.
inline int64_t SqlTime(uint64_t seconds) { return static_cast<int64_t>(std::min<uint64_t>(seconds, INT64_MAX)); }
// Returns a view of `bytes`, which must outlive the view.
inline std::string_view AsText(const Bytes32& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// Returns the first 32 bytes of `text`; missing bytes are 0.
inline Bytes32 AsBytes(std::string_view text) {
  Bytes32 bytes{};
  std::memcpy(bytes.data(), text.data(), std::min(text.size(), bytes.size()));
  return bytes;
}

inline std::string_view AddressText(const Address& address) {
  return {reinterpret_cast<const char*>(address.data()), address.size()};
}

// Returns the first 16 bytes of the author, which are part of a deletion mark.
inline std::string_view MarkedBy(const PublicKey& author) { return AsText(author).substr(0, 16); }

inline PostgresArray IdArray(std::span<const EventId> ids) {
  PostgresArray array(PostgresArray::Type::kBytes);
  for (const EventId& id : ids) array.Add(AsText(id));
  return array;
}

}  // namespace weir
