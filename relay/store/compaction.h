// Compacts a database in pieces, so that the caller can wait between them for work that clients await.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "config/status.h"
#include "relay/store/rocksdb_store.h"

namespace weir {

enum class CompactWhat : uint8_t {
  kAll,
  kRemoved,  // only the parts of which removed entries are at least a twentieth
};

// The result of one call of CompactSome.
struct CompactedPiece {
  uint64_t bytes = 0;       // bytes on disk of what was rewritten
  uint64_t left_bytes = 0;  // bytes on disk of what is still to be looked at, with further calls; 0: none
};

// Rewrites a part of what is on disk, about 64 MiB, without the entries that were removed or replaced. `*resume` is
// empty before the first call; the caller must pass it on to the next one. Returns an error soon after `*cancelled` has
// become true. Only one thread at a time may call it, whatever saves meanwhile. REQUIRES: the store is open for
// writing.
//
// A piece is the part of a column family between two borders of tables of its deepest level, in which nearly all data
// are. RocksDB has one thread for compactions here, so those that the database itself needs wait for a piece, which
// takes a second or two.
Result<CompactedPiece> CompactSome(const RocksDbStore& store, CompactWhat what, std::string* resume,
                                   std::atomic<bool>* cancelled);

}  // namespace weir
