// Taking events out of the store: what saves, operators, expiry and requests to vanish have in common.
//
// Threads: those of Save.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "relay/account/work.h"
#include "relay/store/database.h"
#include "relay/store/sorted_entries.h"

namespace weir {

// The record under a serial; false where there is none, or one that is damaged (`weir check` finds it).
Result<bool> ReadRecord(const Database& database, uint64_t serial, std::string* record,
                        const rocksdb::ReadOptions& options = {});
// Of what may be removed, which is not read again: it is not to drive others' records out of the cache.
rocksdb::ReadOptions ReadForRemoval();

// Events to be deleted with all of their index entries.
class Removals {
 public:
  // Each once, whoever wants it removed.
  void Add(EventView event, uint64_t serial);
  bool Has(uint64_t serial) const { return serials_.contains(serial); }
  // In the order of the keys: removals cost as much as insertions do, and a third less like this.
  void AppendTo(const Database& database, rocksdb::WriteBatch* batch);

  uint64_t events() const { return serials_.size(); }
  Work work() const { return (serials_.size() + entries_.size()) * kEntryWork; }

 private:
  std::set<uint64_t> serials_;
  SortedEntries entries_;
};

// What one write removes.
struct RemovalPiece {
  Removals removals;
  rocksdb::WriteBatch batch;  // what else changes
  bool more = false;
  Work looked = 0;  // what finding them took

  Work work() const { return removals.work() + looked; }
};

// Does what was begun by requests to vanish: whatever an author who asked for it published until then goes, and what
// was wrapped for him. The request itself stays. What is newer is passed over by one seek for each kind. A piece that
// is not written is made again by a new object, as is what a process before this one left.
class Vanishing {
 public:
  explicit Vanishing(const Database& database) : database_(database) {}
  Result<RemovalPiece> Next(Work most);

 private:
  struct Request {
    PublicKey author{};
    uint64_t until = 0;
    uint64_t serial = 0;
    bool operator==(const Request&) const = default;
  };
  enum class Range : uint8_t { kAuthor, kWraps, kDone };

  Result<std::optional<Request>> FindRequest(Work most, RemovalPiece* piece);
  Status Walk(const Key& range, size_t time_at, Work most, RemovalPiece* piece);
  bool IsMeant(EventView event, uint64_t serial) const;

  const Database& database_;
  std::string from_ = "w";  // requests before were done, or wait for the next round
  Request request_;
  std::string hex_;  // of its author
  Range range_ = Range::kAuthor;
  std::string resume_;  // in the range; empty: its beginning
};

// Removes what expired.
class Expiry {
 public:
  explicit Expiry(const Database& database) : database_(database) {}
  Result<RemovalPiece> Next(uint64_t now_seconds, Work most);

 private:
  const Database& database_;
  uint64_t swept_until_ = 0;
  std::string resume_;  // nothing in the store expired before
};

// Writes a piece; adds the counters to it.
using WritePiece = std::function<Status(RemovalPiece* piece)>;
Result<uint64_t> RemoveByIds(const Database& database, std::span<const EventId> ids, Work most,
                             const WritePiece& write);

}  // namespace weir
