// Removes events from the store: the code that saving, operators, expiry and requests to vanish share.
//
// Threads: the one that saves.
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

// Reads the record under a serial. Returns false if there is none or if it is damaged (`weir check` finds it).
Result<bool> ReadRecord(const Database& database, uint64_t serial, std::string* record,
                        const rocksdb::ReadOptions& options = {});
// Returns options for reading records that may be removed. They are not read again, so they should not drive others'
// records out of the cache.
rocksdb::ReadOptions ReadForRemoval();

// Events to be deleted with all of their index entries.
class Removals {
 public:
  // Adds an event. Adding it again changes nothing.
  void Add(EventView event, uint64_t serial);
  bool Has(uint64_t serial) const { return serials_.contains(serial); }
  // Appends in the order of the keys: removals cost as much as insertions do, and a third less in this order.
  void AppendTo(const Database& database, rocksdb::WriteBatch* batch);

  uint64_t events() const { return serials_.size(); }
  Work work() const { return (serials_.size() + entries_.size()) * kEntryWork; }

 private:
  std::set<uint64_t> serials_;
  SortedEntries entries_;
};

// The removals of one write.
struct RemovalPiece {
  Removals removals;
  rocksdb::WriteBatch batch;  // all other changes
  bool more = false;
  Work looked = 0;  // work of finding the events

  Work work() const { return removals.work() + looked; }
};

// Carries out requests to vanish: removes everything that an author who asked for it published until then, and the gift
// wraps for that author. The request itself stays. Newer events are passed over by one seek for each kind. A piece that
// was not written is made again by a new object, and so is work that an earlier process left.
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
  std::string from_ = "w";  // requests before this key were done, or wait for the next round
  Request request_;
  std::string hex_;  // the author of request_
  Range range_ = Range::kAuthor;
  std::string resume_;  // place in the range; empty: its beginning
};

// Removes expired events.
class Expiry {
 public:
  explicit Expiry(const Database& database) : database_(database) {}
  Result<RemovalPiece> Next(uint64_t now_seconds, Work most);

 private:
  const Database& database_;
  uint64_t swept_until_ = 0;
  std::string resume_;  // the next call begins here; nothing in the store expired before
};

// Writes a piece, with the counters.
using WritePiece = std::function<Status(RemovalPiece* piece)>;
Result<uint64_t> RemoveByIds(const Database& database, std::span<const EventId> ids, Work most,
                             const WritePiece& write);

}  // namespace weir
