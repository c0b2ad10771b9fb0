// EventStore: keeps events on disk and finds those that match filters. It is the interface of the store on RocksDB
// (rocksdb_store.h) and of the store on PostgreSQL (postgres/postgres_store.h).
//
// Changes are made in pieces of bounded work, so that a thread can do other work between them: see SaveSome,
// RemoveVanished and RemoveExpired. Work is measured in the unit of relay/account/work.h.
//
// Threads: only one thread at a time may call the functions that change the store; in a relay this is the commit thread
// (group_commit.h). All others may be called from any thread at any time. A Query belongs to one thread at a time and
// must not outlive its store.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"
#include "relay/store/serial.h"

namespace weir {

// The result of saving an event. Only kSaved events are new in the store.
enum class SaveOutcome : uint8_t {
  kSaved,
  kDuplicate,   // the event is stored already, or came earlier in the same batch
  kSuperseded,  // the store has a newer version of the replaceable or addressable event
  kDeleted,     // an owner of the event (gift_wrap.h) deleted it (NIP-09), perhaps before it came
  kVanished,    // the author, or a recipient of a gift wrap, asked to vanish (NIP-62)
  kExpired,     // the event had expired (NIP-40)
};

struct SaveResult {
  SaveOutcome outcome = SaveOutcome::kSaved;
  Serial serial;  // set if the event was saved
  // For a deletion that takes several pieces: the number of its tags that are done. The caller must pass this result
  // with the event when it saves the next piece.
  uint32_t tags_done = 0;
  Work removal = 0;       // work of removing the events that this one replaced or deleted
  bool vanishes = false;  // a request to vanish from this relay was saved; RemoveVanished must be called for it
  bool settled = false;   // the event has its outcome, even if the call failed later; only Save and SaveBulk set it
};

// Sets `settled` in all of these results.
void NoteSettled(std::span<SaveResult> results);

// The result of one piece of removals.
struct OwedPiece {
  uint64_t removed = 0;  // number of events that were removed
  bool more = false;     // more pieces have to be done
};

// The most that a query may do in one call of Next.
struct Slice {
  Work max_work = kTurnWork;        // for looking up entries and records and matching them
  uint32_t max_bytes = 128 * 1024;  // bytes of JSON that are passed to the caller; the last event may exceed them
};

enum class Progress : uint8_t { kMore, kDone };

// Finds the stored events that match any of several filters. It finds each event once, newest first and, at equal age,
// lowest id first. An event is in the answer if it is among the first `limit` matches of one of the filters.
//
// The answer has no event that was saved after the query's moment. On RocksDB it has all matching events of that
// moment, even if they are deleted meanwhile. After Suspend, and always on PostgreSQL, it may lack events that were
// deleted or replaced after the moment, and it does not have their new versions either. A caller that also gets live
// events gets the new versions in this way; a count misses them.
//
// Between slices a query pins no block and no record of the database in memory.
class Query {
 public:
  using OnMatch = std::function<void(EventView event)>;  // the view is valid during the call

  virtual ~Query() = default;

  // Continues for one slice and calls `on_match` for each event that it finds. Returns kDone if there are no more;
  // after kMore, there may or may not be more. Returns an error if the store cannot be read.
  virtual Result<Progress> Next(const Slice& slice, const OnMatch& on_match) = 0;

  // Returns the moment of the query: events saved later are not in its answer. Valid after the first successful Next.
  virtual const Moment& moment() const = 0;
  // Valid after kDone. Returns true if every stored match was found, false if a limit may have cut some off (NIP-67).
  virtual bool complete() const = 0;
  // Returns the number of index entries and records that were looked at so far.
  virtual uint64_t visits() const = 0;
  // Returns the work that was done so far.
  virtual Work work() const = 0;

  // Frees all memory except the filters and the place in the answer; the next call of Next continues from there. For
  // queries that have to wait.
  virtual void Suspend() = 0;
  // Returns the bytes of memory that the query holds between slices, without the filters.
  virtual uint64_t held_bytes() const = 0;
};

struct QueryOptions {
  uint64_t now_seconds = 0;      // events that have expired at this time are left out; 0: none is left out
  uint64_t default_limit = 500;  // for filters without a limit
  uint64_t max_limit = 5000;     // the most matches of each filter, whatever its own limit
  bool fills_cache = true;       // false: for large reads that happen once, so that they do not displace other records
  // Returns false for events that the client may not see. They are skipped and do not count towards a limit. Null: the
  // client may see all events. It is called on the thread that calls Next.
  std::function<bool(EventView event)> visible;
};

struct StoreSizes {
  uint64_t events = 0;  // number of stored events
  uint64_t disk_bytes = 0;
};

class EventStore {
 public:
  virtual ~EventStore() = default;

  // Saves the first ones of `events`, as many as `most` work allows but at least one, with their index entries. Removes
  // the events that they replace or delete, in the same atomic write. Returns the number of events that are settled,
  // which means that they have their outcome; results[i] belongs to events[i]. Their changes are then as durable as the
  // sync mode of the store promises.
  //
  // After an error the results are unchanged, and the caller must take none of the events as saved. A write that failed
  // may still have reached the disk, for example if the connection to the server was lost; saving the same events again
  // then finds duplicates.
  //
  // Returns 0 if the first event is a deletion of so many events that only some of them were removed. These are gone
  // for good. The deletion itself is saved with its last part, so the caller must call SaveSome again with the same
  // event and its unchanged result. If the process ends before the last part, the deletion is not saved.
  //
  // The caller must have checked the signatures. Throws std::logic_error for an ephemeral event, because no store keeps
  // it, and if there is not one result for each event.
  virtual Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                                  std::span<SaveResult> results) = 0;
  // Does the same for old events, such as those of an import. They are not announced to other relays that share the
  // store.
  virtual Result<size_t> SaveSomeHistory(std::span<const Event> events, uint64_t now_seconds, Work most,
                                         std::span<SaveResult> results) {
    return SaveSome(events, now_seconds, most, results);
  }
  // Saves all events, in as many pieces as necessary, and carries out the requests to vanish among them. Clears
  // `results` first. After an error, the events whose results have `settled` set keep their outcomes.
  Status Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results);

  // Each of these two functions removes one piece of events in one atomic write, of about `most` work: events of
  // authors who asked to vanish (even before this process began), or events that have expired at `now_seconds`. After
  // an error the next call tries again.
  virtual Result<OwedPiece> RemoveVanished(Work most) = 0;
  virtual Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) = 0;

  // Does what the store needs to stay fast. The thread that saves calls this once a minute.
  virtual Status Upkeep() { return {}; }

  // Returns the error if nothing can be saved any more until the program is started again; ok otherwise. May be called
  // from any thread.
  virtual Status Stuck() const { return {}; }

  // Returns true while some events that have to vanish may still be stored. May be called from any thread.
  virtual bool owes_vanishing() const { return false; }

  // Returns for each id whether the event is stored. Fast for events that are not stored.
  virtual Result<std::vector<bool>> Stored(std::span<const EventId> ids) const = 0;
  Result<bool> Has(const EventId& id) const;
  // Returns for each event whether it is stored with the same signature, which then need not be verified again.
  virtual Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const = 0;

  // Makes a query for the events that match any of `filters`. Query::Next reads, and reports errors.
  virtual std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const = 0;

  // Removes events by id, for operators. Leaves no deletion mark, so the events can be saved again. Returns the number
  // of events that were removed.
  virtual Result<uint64_t> Delete(std::span<const EventId> ids) = 0;

  // Returns the moment that has every event that is stored now.
  virtual Result<Moment> Now() const = 0;
  // Calls `visit` for every event that was stored after the moment `after` and is in the moment `until`, until `visit`
  // returns false. The events of one origin come in the order of their serials. Events that are saved meanwhile are not
  // in `until`, so the scan of a growing store has an end.
  virtual Status ScanAll(const Moment& after, const Moment& until,
                         const std::function<bool(Serial serial, EventView event)>& visit) const = 0;

  // Writes everything that is in memory to disk.
  virtual Status Flush() = 0;
  // Waits until all saved events are on disk, whatever the sync mode. May be called from any thread.
  virtual Status Sync() const { return {}; }
  // Returns sizes that the store knows without reading the disk or asking the server.
  virtual StoreSizes Sizes() const = 0;

  // Returns a sentence for the operator if events that were saved before are lost; empty if no loss is known.
  virtual std::string loss() const { return {}; }
};

// Returns the result of `work()`, or an error if it throws a std::exception, for example for lack of memory. For
// threads that must not end.
template <typename Value, typename Do>
Result<Value> FaultsAsErrors(Do&& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return Status::Error(std::string("a fault: ") + e.what());
  }
}

// Returns the text of a store's error that clients may see: it names no servers, files or database users.
std::string ErrorForStrangers(const Status& status);
// Begins the part of a RocksDB error that only operators may see; the part ends with the closing bracket.
inline constexpr std::string_view kForOperators = " (RocksDB: ";

// Returns an estimate of the work of the thread that saves `event`, from its index entries and the events that it
// deletes.
Work SavingWorkOf(EventView event);
// Returns the same plus the event's share of log, flush and compaction. The write gate admits an event at this cost.
inline Work StoringWorkOf(EventView event) { return SavingWorkOf(event) + event.record().size() * kStoredByteWork; }

}  // namespace weir
