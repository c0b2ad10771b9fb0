// Removes events from a RocksDB database, with all of their index entries. Used for events that a save replaces or
// deletes, for EventStore::DeleteSome and RemoveAuthor, for expiration (NIP-40) and for requests to vanish (NIP-62).
//
// Threads: any thread may call ReadRecord; only the thread that saves uses the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "relay/account/work.h"
#include "relay/store/database.h"
#include "relay/store/sorted_entries.h"

namespace weir {

// Reads the record of the event with this serial. Returns false if there is no record, or if it is damaged, also if
// RocksDB found the damage by a checksum. Notes the damage in the database; `weir check` says more.
Result<bool> ReadRecord(const Database& database, uint64_t serial, std::string* record,
                        const rocksdb::ReadOptions& options = {});
// Returns options for reading records that may be removed. Such records are not cached, because they will not be read
// again.
rocksdb::ReadOptions ReadForRemoval();

// Events to be deleted with all of their index entries.
class Removals {
 public:
  // Adds an event. Adding it again changes nothing.
  void Add(const Database& database, EventView event, uint64_t serial);
  bool Has(uint64_t serial) const { return serials_.contains(serial); }
  // Appends the removals to `batch`, in the order of the keys, because RocksDB inserts sorted keys faster
  // (sorted_entries.h).
  void AppendTo(const Database& database, rocksdb::WriteBatch* batch);

  // Returns the number of events.
  uint64_t events() const { return serials_.size(); }
  // Returns the work of writing the removals, and of finding the words of the events.
  Work work() const { return (serials_.size() + entries_.size() + words_.size()) * kEntryWork + splitting_; }

 private:
  std::set<uint64_t> serials_;
  SortedEntries entries_;
  SortedEntries words_;  // entries of the index of words
  Work splitting_ = 0;
};

// The removals of one write.
struct RemovalPiece {
  Removals removals;
  rocksdb::WriteBatch batch;  // all other changes
  bool more = false;          // there may be more events to remove
  Work looked = 0;            // work of finding the events

  Work work() const { return removals.work() + looked; }
};

// Carries out requests to vanish. It removes all events by the author of a request, and all gift wraps for that author,
// if their created_at is at most that of the request. But it keeps the request itself. It skips newer events with one
// seek per kind.
//
// The store records which requests are not completed yet (key w in keys.h). If a piece could not be written, the caller
// must continue with a new object, which makes the piece again. A new object also continues the work of an earlier
// process.
class Vanishing {
 public:
  explicit Vanishing(const Database& database) : database_(database) {}
  // Returns the next piece, of about `most` work. The caller must write it before the next call.
  Result<RemovalPiece> Next(Work most);
  // Must be called when a request is saved: its key may be before the place that Next has reached.
  void NoteRequest() { again_ = true; }

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
  std::string from_ = "w";  // requests before this key are completed, or have to wait for the next round
  bool again_ = false;      // a request was saved since the round began
  Request request_;
  std::string hex_;  // the author of request_, as hex
  Range range_ = Range::kAuthor;
  std::string resume_;  // the key in the range from which Walk continues; empty: the beginning of the range
};

// Removes expired events. If a piece could not be written, the caller must continue with a new object.
class Expiry {
 public:
  explicit Expiry(const Database& database) : database_(database) {}
  // Returns the next piece, of about `most` work, of the events that have expired at `now_seconds`. Returns no events
  // if `now_seconds` is 0. The caller must write the piece before the next call.
  Result<RemovalPiece> Next(uint64_t now_seconds, Work most);

 private:
  const Database& database_;
  uint64_t swept_until_ = 0;
  std::string resume_;  // the key at which the next call begins; the entries before it are done
};

// Returns a piece, of about `most` work, of the events of `author`. `*resume` is the key at which it begins, empty for
// the first piece; it becomes the key at which the next one begins.
Result<RemovalPiece> PieceOfAuthor(const Database& database, const PublicKey& author, Work most, std::string* resume);

// Returns a piece, of about `most` work, of the events with these ids. Takes the ids that it has looked up off the
// front of `*ids`.
Result<RemovalPiece> PieceOfIds(const Database& database, Work most, std::span<const EventId>* ids);

}  // namespace weir
