// How values are stored in the columns of the tables (schema.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "monitors/postgres/postgres_values.h"
#include "relay/store/keys.h"

namespace weir {

// Rows of one table, with an array for each column.
struct TagRows {
  PostgresArray tags{PostgresArray::Type::kInt64};
  PostgresArray kinds{PostgresArray::Type::kInt32};
  PostgresArray times{PostgresArray::Type::kInt64};
  PostgresArray ids{PostgresArray::Type::kBytes};

  void AddAllOf(EventView event);
};

// Returns the number by which a tag is found.
int64_t TagNumber(char letter, std::string_view value);
// Returns a time as the database stores it: with a sign.
inline int64_t SqlTime(uint64_t seconds) { return static_cast<int64_t>(std::min<uint64_t>(seconds, INT64_MAX)); }
inline std::string_view AsText(const Bytes32& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes32 AsBytes(std::string_view text) {
  Bytes32 bytes{};
  std::memcpy(bytes.data(), text.data(), std::min(text.size(), bytes.size()));
  return bytes;
}

inline std::string_view AddressText(const Address& address) {
  return {reinterpret_cast<const char*>(address.data()), address.size()};
}

// Returns the part of the author that a deletion mark has.
inline std::string_view MarkedBy(const PublicKey& author) { return AsText(author).substr(0, 16); }

inline PostgresArray IdArray(std::span<const EventId> ids) {
  PostgresArray array(PostgresArray::Type::kBytes);
  for (const EventId& id : ids) array.Add(AsText(id));
  return array;
}

}  // namespace weir
