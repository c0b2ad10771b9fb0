// EventStore: keeps events on disk and finds those that match filters. It is the interface of the store on RocksDB
// (rocksdb_store.h) and of the store on PostgreSQL (postgres/postgres_store.h).
//
// A call of SaveSome, RemoveVanished, RemoveExpired or RemoveAuthor does no more than about the work that the caller
// allows, so that the thread can do other work between two calls. A unit of work is about a nanosecond of CPU time
// (relay/account/work.h).
//
// Threads: only one thread at a time may call the functions that change the store: Save, SaveSome, SaveSomeHistory,
// RemoveVanished, RemoveExpired, RemoveAuthor, DeleteSome, BuildSearch, Delete, WriteMemos and Upkeep. In a relay this
// is the commit thread (group_commit.h). The other functions may be called from any thread at any time. Only one thread
// at a time may use a Query. A Query must not outlive its store.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"
#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"
#include "relay/store/serial.h"

namespace weir {

// The outcome of saving an event. Only kSaved means that the event is new in the store. save_plan.h has the exact
// rules.
enum class SaveOutcome : uint8_t {
  kSaved,
  kDuplicate,   // the event is stored already, or came earlier in the same batch
  kSuperseded,  // a newer version is stored; of versions of the same age, the one with the lower id counts as newer
  kDeleted,     // an owner of the event (gift_wrap.h) deleted it (NIP-09), perhaps before it arrived
  kVanished,    // an owner asked to vanish at the event's time or later (NIP-62)
  kExpired,     // the event had expired (NIP-40)
  kNoPlace,     // the database has no partition for events of this date (only on PostgreSQL)
  kRefused,     // a policy plugin refused it (relay/plugins), or it is banned; the store itself never returns this
};

struct SaveResult {
  SaveOutcome outcome = SaveOutcome::kSaved;
  Serial serial;  // set if the event was saved
  // For a deletion (kind 5) that takes several calls of SaveSome: the number of its tags that were carried out. The
  // caller must pass this result on to the next call with the same event.
  uint32_t tags_done = 0;
  Work removal = 0;       // work of removing the events that this event has replaced or deleted
  bool vanishes = false;  // the event is a request to vanish, and events of its author may have to be removed: the
                          // caller must call RemoveVanished
  bool settled = false;   // `outcome` is final, even if the call failed later; only Save and SaveBulk set this
};

// Sets `settled` in all of `results`.
void NoteSettled(std::span<SaveResult> results);

// A small text of the relay's operators, such as a ban, that the store keeps under a name beside the events.
struct Memo {
  std::string name;
  std::optional<std::string> text;  // null: there is no memo with this name any more
};

// The result of one call of RemoveVanished, RemoveExpired, RemoveAuthor, DeleteSome or BuildSearch.
struct OwedPiece {
  uint64_t removed = 0;  // number of events that were removed
  bool more = false;     // there may be more events to remove, with further calls
};

// The limits of one call of Query::Next. Its last step may exceed them.
struct Slice {
  Work max_work = kTurnWork;        // for looking up entries and records and matching them
  uint32_t max_bytes = 128 * 1024;  // bytes of JSON that are passed to the caller
};

enum class Progress : uint8_t { kMore, kDone };

// A place in the order in which a query returns events.
struct EventPlace {
  uint64_t created_at = 0;
  EventId id{};

  bool operator==(const EventPlace&) const = default;
  bool operator<(const EventPlace& other) const {
    return created_at != other.created_at ? created_at > other.created_at : id < other.id;
  }
};

// Finds the stored events that match any of several filters. Passes each event to the caller once, newest first and, at
// equal age, lowest id first. An event is in the answer if it is among the first `limit` matches of one of the filters.
// Filters with a search are answered first, the best matches of each first (search/search_query.h).
//
// The answer shows the store at one moment: on RocksDB when Find was called, on PostgreSQL when Next was first called.
// It has no event that was saved later. On RocksDB it has all matching events of that moment, even if they are deleted
// while the query runs. On PostgreSQL, and on RocksDB after Suspend, events that were deleted or replaced since that
// moment may be missing. On RocksDB the version that replaced such an event was saved later, so it is missing, too: a
// caller that also receives live events gets it as a live event. On PostgreSQL another relay may have saved it, which
// tells this one later; so a query, unless it is for ids only, also hands out replaceable and addressable events that
// it comes by, though they were saved later, and has them in its moment. It may have read the version before already.
//
// Between two calls of Next a query on RocksDB pins no block and no record in the block cache.
class Query {
 public:
  using OnMatch = std::function<void(EventView event)>;  // the view is valid during the call

  virtual ~Query() = default;

  // Continues the query within the limits of `slice`, and calls `on_match` for each event that it finds. Returns kDone
  // at the end of the answer. Returns kMore if the slice was used up first; there may or may not be more events.
  // Returns an error if the store cannot be read.
  virtual Result<Progress> Next(const Slice& slice, const OnMatch& on_match) = 0;

  // Returns the moment of the query: events that it does not have are not in the answer. Valid after the first
  // successful Next.
  virtual const Moment& moment() const = 0;
  // Returns true if the answer has every stored match, false if a limit may have cut off some (NIP-67). Valid after
  // Next has returned kDone.
  virtual bool complete() const = 0;
  // Returns the number of index entries and records (on PostgreSQL: rows of an index) that were looked at so far.
  virtual uint64_t visits() const = 0;
  // Returns the work that was done so far.
  virtual Work work() const = 0;

  // Returns true if the query would still pass `event` to its caller, supposing that the event is stored and in the
  // moment: it matches a filter, has not expired, the client may see it, and its place is behind all events that the
  // query has looked at. Returns nullopt if matching takes more work than about `most`; the next call with the same
  // event then continues. The work counts in work(). The limits of the filters are ignored.
  virtual std::optional<bool> WouldFind(EventView event, Work most) = 0;

  // Frees the memory of the query, except the filters, the moment and the position in the answer. The next call of Next
  // continues at that position. Meant for queries that have to wait.
  virtual void Suspend() = 0;
  // Returns the bytes of memory that the query holds between slices, without the filters.
  virtual uint64_t held_bytes() const = 0;
};

inline constexpr uint64_t kAllEvents = INT64_MAX;  // a query with this limit returns all matches

enum class Sight : uint8_t { kShown, kHidden, kUnknown };

// For a query whose caller needs only the ids and dates of all matches, in any order, such as a comparison of sets
// (NIP-77). The query then reads as few records as it can. It passes events that have no more than their id and date,
// and WouldFind must not be called. If there are more than QueryOptions::max_limit, it may pass any part of them;
// complete() is then false.
//
// The functions must agree with QueryOptions::visible, which the query calls with the record if they do not decide.
struct IdsOnly {
  // Returns whether the client may see the events of this kind by authors whose keys begin with these four bytes, as a
  // big-endian number. Null: all may be seen.
  std::function<Sight(uint16_t kind, uint32_t by)> sight;
  // Returns false for an event that is hidden although `sight` says that it is shown. Null: there is none.
  std::function<bool(const EventId& id)> shows;
  // The events that wait for their records before these are read together. Tests lower it.
  size_t most_waiting = 16'384;
};

struct QueryOptions {
  uint64_t now_seconds = 0;         // events that have expired at this time are left out; 0: none is left out
  uint64_t default_limit = 500;     // for filters without a limit
  uint64_t max_limit = 5000;        // the most matches of each filter, even if its own limit is higher
  bool fills_cache = true;          // false: RocksDB caches nothing that is read; for large reads that are not repeated
  std::optional<EventPlace> after;  // the answer begins behind this place; nullopt: with the newest event
  // Returns false for events that the client may not see. The query skips them, and they do not count towards a limit.
  // Null: the client may see all events. The query calls the function on the thread that calls Next.
  std::function<bool(EventView event)> visible;
  std::optional<IdsOnly> ids_only;  // set if the caller needs only ids and dates; the query may ignore it
};

struct StoreSizes {
  uint64_t events = 0;  // number of stored events
  uint64_t disk_bytes = 0;
  std::optional<uint64_t> unsearched =
      std::nullopt;           // events that the index of words does not have yet, at most; null: search is off
  uint64_t search_bytes = 0;  // bytes of that index; disk_bytes includes them
  // Reads, except those of queries, that found a damaged record, since the store was opened; only on RocksDB.
  uint64_t damaged_reads = 0;
};

// Groups of stored events, numbered from 0. Sampled groups stand for all events (count_estimate.h).
struct EventGroups {
  // Returns false to stop. `place` is that of the event in its group; the first place is 1.
  using Visit = std::function<bool(uint64_t place, Serial serial, EventView event)>;

  uint64_t count = 0;
  // Calls `visit` for each event of the group behind the place `after`, in the order of their places. Returns the work
  // of reading, in addition to that of the events.
  std::function<Result<Work>(uint64_t group, uint64_t after, const Visit& visit)> read;
};

class EventStore {
 public:
  virtual ~EventStore() = default;

  // Saves the first events of `events`: as many as fit into the work `most`, but at least one, unless that is a large
  // deletion (see below). One atomic write saves these events, adds their index entries and removes the events that
  // they replace or delete. Returns the number of events that are settled, which means that their outcomes are final;
  // results[i] belongs to events[i]. The write is then as durable as the store promises (SyncMode in rocksdb_store.h).
  //
  // After an error `results` is unchanged, and the caller must treat none of the events as saved. Nevertheless, a write
  // that failed may have reached the disk, for example if the connection to the server was lost. If the caller saves
  // the same events again, their outcomes are then kDuplicate, and this write is as durable as the store promises.
  //
  // A deletion (kind 5) may have more targets than the work allows. The call then removes some of them for good, and
  // settles only the events before the deletion, so it may return 0. The deletion itself is saved together with the
  // removal of its last targets. So the caller must call SaveSome again with the deletion and with its result as this
  // call left it (SaveResult::tags_done). If the process ends before that, the deletion is not saved.
  //
  // REQUIRES: the caller has verified the signatures. Throws std::logic_error if an event is ephemeral, because no
  // store keeps such events, or if `results` is not as long as `events`.
  virtual Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                                  std::span<SaveResult> results) = 0;
  // Does the same as SaveSome for old events, such as those of an import. Other relays that share the store do not pass
  // these events to their subscribers.
  virtual Result<size_t> SaveSomeHistory(std::span<const Event> events, uint64_t now_seconds, Work most,
                                         std::span<SaveResult> results) {
    return SaveSome(events, now_seconds, most, results);
  }
  // Saves all events, with as many calls of SaveSome as necessary. If requests to vanish are among them, then calls
  // RemoveVanished until no more events have to vanish. Clears `results` first. After an error, the outcomes of results
  // with `settled` are final.
  Status Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results);

  // Each of these two functions removes some events, with about the work `most`, in one atomic write. RemoveVanished
  // removes events of authors who asked to vanish, also of those who asked an earlier process. RemoveExpired removes
  // events that have expired at `now_seconds` and, on PostgreSQL, also by the server's clock; it removes none if
  // `now_seconds` is 0. After an error the next call tries again.
  virtual Result<OwedPiece> RemoveVanished(Work most) = 0;
  virtual Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) = 0;

  // Removes some events of the author, with about the work `most`, in one atomic write. Adds no mark, so the author's
  // events can be saved again. `*resume` is empty before the first call; the caller must pass it on to the next one.
  virtual Result<OwedPiece> RemoveAuthor(const PublicKey& author, std::string* resume, Work most);

  // Adds some older events to the index of words, with about the work `most`, in one atomic write, if search is on and
  // the index does not have all events yet. OwedPiece::removed is their number.
  virtual Result<OwedPiece> BuildSearch(Work /*most*/) { return OwedPiece{}; }
  // Returns an estimate of the work of saving the words of an event; 0 if the event is not searched.
  virtual Work SearchWork(EventView /*event*/) const { return 0; }

  // Puts these memos into the store, and removes those without a text, in one atomic write, which is on disk when the
  // call returns, whatever the sync mode. No two of `changes` may have the same name, and no name may be empty.
  virtual Status WriteMemos(std::span<const Memo> changes);
  // Calls `visit` for each memo that has changed since the revision `after`, also for those that were removed. Returns
  // the present revision. With `after` 0 it visits all memos. May be called from any thread.
  virtual Result<uint64_t> ReadMemos(uint64_t after, const std::function<void(const Memo& memo)>& visit) const;
  // Returns true if other processes may write to the store while it is open.
  virtual bool is_shared() const { return false; }

  // Does what the store needs to stay fast. The thread that saves should call it once a minute.
  virtual Status Upkeep() { return {}; }

  // Returns the error if nothing can be saved any more until the program is started again; ok otherwise.
  virtual Status Stuck() const { return {}; }

  // Returns true if a failed write may have left events that Stored reports although they are not as durable as the
  // store promises. The next write that succeeds ends the doubt, also one that finds only duplicates.
  virtual bool in_doubt() const { return false; }

  // Returns true while events of authors who asked to vanish may still be stored.
  virtual bool owes_vanishing() const { return false; }

  // Returns for each id whether the event is stored. On RocksDB this is fastest for events that are not stored.
  virtual Result<std::vector<bool>> Stored(std::span<const EventId> ids) const = 0;
  // Returns the same for whole events. A PostgreSQL with partitions then looks for each event in one of them.
  virtual Result<std::vector<bool>> StoredEvents(std::span<const EventView> events) const {
    std::vector<EventId> ids;
    for (const EventView event : events) ids.push_back(event.id());
    return Stored(ids);
  }
  Result<bool> Has(const EventId& id) const;
  // Returns for each event whether it is stored with the same signature, which then need not be verified again.
  virtual Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const = 0;

  // Makes a query for the events that match any of `filters`. Query::Next reads, and reports errors.
  virtual std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const = 0;

  // Removes some of the events with these ids, with about the work `most`, in one atomic write. Takes ids off the front
  // of `*ids` whose events are removed or are not stored; `more` is true if ids are left. Adds no mark, so the events
  // can be saved again. Once no ids are left, the removals are as durable as the store promises. After an error `*ids`
  // is unchanged.
  virtual Result<OwedPiece> DeleteSome(std::span<const EventId>* ids, Work most) = 0;
  // Removes all events with these ids, with as many calls of DeleteSome as necessary. Returns the number of events that
  // were removed.
  Result<uint64_t> Delete(std::span<const EventId> ids);

  // Returns the present moment: it has every event that is stored now.
  virtual Result<Moment> Now() const = 0;
  // Calls `visit` for every event that is in the moment `until` but not in the moment `after`. Stops when `visit`
  // returns false. Visits the events of each origin (serial.h) in the order of their serials. An event that is removed
  // during the scan may be left out. If `until` is the moment at the beginning of the scan, it has no event that is
  // saved during the scan, so the scan ends even if the store grows.
  virtual Status ScanAll(const Moment& after, const Moment& until,
                         const std::function<bool(Serial serial, EventView event)>& visit) const = 0;

  // Writes to disk what this process has only in memory.
  virtual Status Flush() = 0;
  // Waits until all saved events are on disk, whatever the sync mode.
  virtual Status Sync() const { return {}; }
  // Returns the sizes without reading the disk or asking the server. On PostgreSQL they may be out of date.
  virtual StoreSizes Sizes() const = 0;

  // Estimates the part of StoreSizes::disk_bytes that belongs to removed events and comes back by compaction. Only on
  // RocksDB, where it takes about a microsecond for each file of the database.
  virtual uint64_t RemovedBytes() const { return 0; }

  // Returns a sentence for the operator if events that were saved before may be lost; empty if no loss is known.
  virtual std::string loss() const { return {}; }

  // Divides the events of the moment into groups: each event is in one group, and stays there until it is removed. A
  // group may be empty, and may have events that were saved later. On RocksDB a group has 16 serials that follow each
  // other; on PostgreSQL, where serials begin with the time of the start, it is a page of the table. Returns none if
  // there are no events, or if they cannot be divided. The store must outlive the groups.
  virtual Result<std::vector<EventGroups>> Groups(const Moment& moment) const;
};

// Returns the result of `work()`, or an error if it throws a std::exception, for example because memory runs out. Meant
// for threads that must not end. The locks are not checked here, because `work` may need a mutex that the caller holds.
template <typename Value, typename Do>
Result<Value> FaultsAsErrors(Do&& work) WEIR_UNCHECKED_LOCKS {
  try {
    return work();
  } catch (const std::exception& e) {
    return Status::Error(std::string("a fault: ") + e.what());
  }
}

// Does the same for work that returns a Status.
template <typename Do>
Status FaultsAsStatus(Do&& work) WEIR_UNCHECKED_LOCKS {
  try {
    return work();
  } catch (const std::exception& e) {
    return Status::Error(std::string("a fault: ") + e.what());
  }
}

// Returns the part of a store's error message that clients may see. It names no servers, files or database users. For
// an error of a PostgreSQL, these are the words of its cause (cause.h).
std::string ErrorForStrangers(const Status& status);
// The beginning of that part of a RocksDB error which only operators may see. The part reaches to the end.
inline constexpr std::string_view kForOperators = " (RocksDB: ";

// Estimates the work that saving `event` costs its thread: for the event's index entries and, if it is a deletion, for
// its targets.
Work SavingWorkOf(EventView event);
// Returns SavingWorkOf(event) plus the event's share of log, flush and compaction. Callers ask the write gate to admit
// this work.
inline Work StoringWorkOf(EventView event) { return SavingWorkOf(event) + event.record().size() * kStoredByteWork; }

}  // namespace weir
