// Taking events out of the store: what operators, expiry and requests to vanish have in common. All of it goes in
// pieces of bounded size, each an atomic write of its own.
//
// Threads: those of Save.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "relay/store/database.h"

namespace weir {

// The record under a serial; null where there is none.
Result<bool> ReadRecord(const Database& database, uint64_t serial, std::string* record);

// Adds what deletes an event and all of its index entries.
void AppendRemoval(const Database& database, EventView event, uint64_t serial, rocksdb::WriteBatch* batch);

// Writes a piece that removes `removed` events; adds the counters to it.
using WritePiece = std::function<Status(rocksdb::WriteBatch* batch, uint64_t removed)>;

Result<uint64_t> RemoveByIds(const Database& database, std::span<const EventId> ids, const WritePiece& write);

// Up to `max` events whose time has passed.
Result<uint64_t> RemoveExpired(const Database& database, uint64_t now_seconds, uint32_t max, uint64_t from_seconds,
                               const WritePiece& write);

// Does all vanishing that was begun, by this process or one before it: whatever an author who asked for it published
// until then, and what was wrapped for him. The request itself stays.
Status FinishVanishing(const Database& database, const WritePiece& write);

// Whether a gift wrap (NIP-59) is for this key, written as hexadecimal.
bool IsWrappedFor(EventView event, std::string_view pubkey_hex);

}  // namespace weir
