// EventStore: keeps events on disk and answers the questions that a relay asks of them.
//
// Changes are made in pieces of bounded work, so that the thread can let other work in between: see SaveSome,
// RemoveVanished and RemoveExpired.
//
// Threads: functions that change the store are called by one thread at a time (group_commit.h owns it); all others may
// be called from any thread at any time. A Query belongs to one thread at a time and must not outlive its store.
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

enum class SaveOutcome : uint8_t {
  kSaved,
  kDuplicate,   // stored already, or earlier in the same batch
  kSuperseded,  // the store has a newer version of the event that this would replace
  kDeleted,     // its author deleted it (NIP-09), maybe before it came
  kVanished,    // its author, or the recipient of a gift wrap, vanished (NIP-62)
  kExpired,     // its time had passed (NIP-40)
};

struct SaveResult {
  SaveOutcome outcome = SaveOutcome::kSaved;
  Serial serial;  // set if the event was saved
  // For a deletion that takes several pieces: how many of its tags are done. The next piece needs this with the event.
  uint32_t tags_done = 0;
  Work removal = 0;       // work of removing events that this one replaced or deleted
  bool vanishes = false;  // a request to vanish from here was saved: RemoveVanished has to remove the author's events
  bool settled = false;   // done, even if the call failed further on; set by Save and SaveBulk
};

void NoteSettled(std::span<SaveResult> results);

// The result of one piece of removals.
struct OwedPiece {
  uint64_t removed = 0;  // events
  bool more = false;     // another piece is owed
};

// How much a query may do before it lets other work have the thread.
struct Slice {
  Work max_work = kTurnWork;        // seeks, entries and records looked at, matching or not, and the matching
  uint32_t max_bytes = 128 * 1024;  // JSON handed out
};

enum class Progress : uint8_t { kMore, kDone };

// The stored events that match any of several filters: newest first and, at equal age, lowest id first, each once. An
// event is in the answer if it is among the first `limit` matches of one of the filters. The answer is as of the moment
// when the query was made, whatever is saved or deleted meanwhile. After Suspend it lacks events that were deleted or
// replaced since, and the new versions too: a caller that listens to live events has those, and a count is too low by
// them.
//
// Between slices it pins no block and no record.
class Query {
 public:
  using OnMatch = std::function<void(EventView event)>;  // the view is valid during the call

  virtual ~Query() = default;

  // Goes on for one slice. After kMore there may still be no further match.
  virtual Result<Progress> Next(const Slice& slice, const OnMatch& on_match) = 0;

  // The moment when the query was made: events saved since are not in its answer. Known after the first slice.
  virtual const Moment& moment() const = 0;
  // To be asked when done: true if every stored match was handed out, false if a limit may have cut some off (NIP-67).
  virtual bool complete() const = 0;
  // Index entries and records looked at so far.
  virtual uint64_t visits() const = 0;
  // Work done so far.
  virtual Work work() const = 0;

  // Gives up the moment, and all memory but the filters and the place in the answer; Next goes on from there. For
  // queries that have to wait.
  virtual void Suspend() = 0;
  // Memory that the query holds between slices, without the filters.
  virtual uint64_t held_bytes() const = 0;
};

struct QueryOptions {
  uint64_t now_seconds = 0;      // events that expired before are left out
  uint64_t default_limit = 500;  // for filters that name none
  uint64_t max_limit = 5000;
  bool fills_cache = true;  // false for large reads that happen once: they should not drive others' records out
  // Returns false for events that the asker may not see: they are passed over and count towards no limit. Null: all may
  // be seen.
  std::function<bool(EventView event)> visible;
};

struct StoreSizes {
  uint64_t events = 0;
  uint64_t disk_bytes = 0;
};

class EventStore {
 public:
  virtual ~EventStore() = default;

  // Saves the first of these events in one atomic write: with their index entries, and with what they replace or
  // delete; about as many as `most` allows, and at least one. Returns the number of events settled; results[i] belongs
  // to events[i]. If there is no error, all of it is as durable as the sync mode says; on error nothing was saved.
  //
  // Returns 0 if the first event is a deletion of so much that only a part of it was done. The targets that are done
  // are gone for good; the deletion itself is saved with its last part, so it has to be saved again, with its result as
  // it is. If the process ends before, nothing has been promised.
  //
  // The caller has checked the signatures. An ephemeral event is a logic error: no store keeps it.
  virtual Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                                  std::span<SaveResult> results) = 0;
  // The same for history: it is not announced as news to others that share the store.
  virtual Result<size_t> SaveSomeHistory(std::span<const Event> events, uint64_t now_seconds, Work most,
                                         std::span<SaveResult> results) {
    return SaveSome(events, now_seconds, most, results);
  }
  // Saves all of them, in as many pieces as it takes, and removes what is owed to requests to vanish among them. On
  // error the events before the failed piece are settled.
  Status Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results);

  // Removes, in one atomic write, events of authors who asked to vanish, in this process or an earlier one; or expired
  // events. After an error the next call tries again.
  virtual Result<OwedPiece> RemoveVanished(Work most) = 0;
  virtual Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) = 0;

  // Does what the store needs to stay quick. The thread that saves calls this once a minute.
  virtual Status Upkeep() { return {}; }

  // Returns why nothing can be saved until the next start; ok if that is not so. May be called from any thread.
  virtual Status Stuck() const { return {}; }

  // True while events may still be stored that are to vanish. May be called from any thread.
  virtual bool owes_vanishing() const { return false; }

  // Returns which of these events are stored; cheap for those that are not.
  virtual Result<std::vector<bool>> Stored(std::span<const EventId> ids) const = 0;
  Result<bool> Has(const EventId& id) const;
  // Returns which are stored with this very signature, which then need not be verified once more.
  virtual Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const = 0;

  virtual std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const = 0;

  // Removes events by id, for operators. Leaves no mark, so they may come again. Returns how many there were.
  virtual Result<uint64_t> Delete(std::span<const EventId> ids) = 0;

  // Returns the moment that has everything stored by now.
  virtual Result<Moment> Now() const = 0;
  // Visits every event that was stored after `after` and by `until`, for each origin in the order of arrival, until
  // `visit` returns false. Events saved meanwhile lie beyond `until`, so a scan of a store that grows has an end.
  virtual Status ScanAll(const Moment& after, const Moment& until,
                         const std::function<bool(Serial serial, EventView event)>& visit) const = 0;

  // Writes everything in memory to disk.
  virtual Status Flush() = 0;
  // Returns when all saved events are on disk, whatever the sync mode allows; at once if they are. May be called from
  // any thread.
  virtual Status Sync() const { return {}; }
  virtual StoreSizes Sizes() const = 0;  // without looking at the disk

  // Returns a sentence for the operator if events that were saved before are lost; empty if no loss is known.
  virtual std::string loss() const { return {}; }
};

// Turns a fault of the store, such as no memory, into an error of the work at hand: for a thread that has to go on.
template <typename Value, typename Do>
Result<Value> FaultsAsErrors(Do&& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return Status::Error(std::string("a fault: ") + e.what());
  }
}

// Returns the text of a store's error for strangers: it names no servers, files or database users.
std::string ErrorForStrangers(const Status& status);
// Begins the part of a database's error that is not for strangers; the part ends with the closing bracket.
inline constexpr std::string_view kForOperators = " (RocksDB: ";

// Estimates the work of the thread that saves an event, from its entries and the targets that it names.
Work SavingWorkOf(EventView event);
// The same with the event's share of log, flush and compaction. The write gate takes this as cost.
inline Work StoringWorkOf(EventView event) { return SavingWorkOf(event) + event.record().size() * kStoredByteWork; }

}  // namespace weir
