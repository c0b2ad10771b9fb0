// EventStore: events on disk, and the questions that a relay asks of them.
//
// What changes the store is done in pieces of bounded work, so that whoever has the thread can let others between them:
// see SaveSome, RemoveVanished and RemoveExpired.
//
// Threads: what changes the store is called by one thread at a time (group_commit.h owns it);
// everything else may be called from any thread at any time. A Query belongs to one thread at a time and must not
// outlive its store.
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
  kSuperseded,  // the store has a newer version of what this would replace
  kDeleted,     // its author deleted it (NIP-09), maybe before it came
  kVanished,    // its author vanished (NIP-62), or it is wrapped for one who did
  kExpired,     // its time had passed (NIP-40)
};

struct SaveResult {
  SaveOutcome outcome = SaveOutcome::kSaved;
  Serial serial;  // of a saved event
  // Of a deletion that takes several pieces: how many of its tags were done. It is handed in again with the event.
  uint32_t tags_done = 0;
  Work removal = 0;       // what it took to remove what the event replaced or deleted
  bool vanishes = false;  // a request to vanish from here was saved: its author's events are owed (RemoveVanished)
  bool settled = false;   // by Save and what is like it, also where that failed further on: nothing is left to do
};

void NoteSettled(std::span<SaveResult> results);

// A piece of what has been promised and is not done yet.
struct OwedPiece {
  uint64_t removed = 0;  // events
  bool more = false;     // is owed
};

// How much a query may do before it lets others have the thread.
struct Slice {
  Work max_work = kTurnWork;        // seeks, entries and records looked at, matching or not, and the matching
  uint32_t max_bytes = 128 * 1024;  // of JSON handed out
};

enum class Progress : uint8_t { kMore, kDone };

// The stored events that match any of several filters, newest first and of equal age the lowest id first, each once. An
// event is in the answer if it is among the first `limit` matches of one of the filters. Answers as of the moment it
// was made, whatever is saved or deleted meanwhile; once it was suspended, what was deleted or replaced since is
// missing, the new version too: whoever hears of what is saved has that one, and a count is too low by it.
//
// Between slices it pins no block and no record.
class Query {
 public:
  using OnMatch = std::function<void(EventView event)>;  // the view is good during the call

  virtual ~Query() = default;

  // Goes on for one slice. On kMore there may be nothing more all the same.
  virtual Result<Progress> Next(const Slice& slice, const OnMatch& on_match) = 0;

  // When it was made: what was saved since is not in its answer. Known after the first slice.
  virtual const Moment& moment() const = 0;
  // When done: whether every stored match was handed out, or a limit cut them off (NIP-67).
  virtual bool complete() const = 0;
  // Index entries and records looked at so far.
  virtual uint64_t visits() const = 0;
  // What all of that has cost.
  virtual Work work() const = 0;

  // Lets go of the moment and of all memory but the filters and the key where it stands; Next goes on from there. For
  // whoever waits.
  virtual void Suspend() = 0;
  // What it holds between slices, the filters apart.
  virtual uint64_t held_bytes() const = 0;
};

struct QueryOptions {
  uint64_t now_seconds = 0;      // events that expired before are left out
  uint64_t default_limit = 500;  // for filters that name none
  uint64_t max_limit = 5000;
  bool fills_cache = true;  // false for who reads much and once: it is not to drive others' records out
  // Events that the asker may not see are passed over and count towards no limit. Null: all may be seen.
  std::function<bool(EventView event)> visible;
};

struct StoreSizes {
  uint64_t events = 0;
  uint64_t disk_bytes = 0;
};

class EventStore {
 public:
  virtual ~EventStore() = default;

  // Saves the first of these in one atomic write: the events with their index entries, and what they replace or delete;
  // about as many as `most` allows, and one at least. Returns how many were settled; results[i] belongs to events[i].
  // When it returns without error all of it is as durable as the sync mode says; on error nothing was saved.
  //
  // 0: the first one is a deletion of so much that only a part of it was done. What it names by then is gone and stays
  // so, itself it is saved with the last part: it is to be saved again, with its result as it is. A process that ends
  // meanwhile has promised nothing.
  //
  // Signatures were checked, ephemeral events are not for a store (a logic error).
  virtual Result<size_t> SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                                  std::span<SaveResult> results) = 0;
  // The same of history, which nobody waits for: it is no news to others who share the store.
  virtual Result<size_t> SaveSomeHistory(std::span<const Event> events, uint64_t now_seconds, Work most,
                                         std::span<SaveResult> results) {
    return SaveSome(events, now_seconds, most, results);
  }
  // All of them, in as many pieces as it takes, and what is owed to requests to vanish among them. On error those
  // before the piece that failed are settled.
  Status Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results);

  // Removes, in one atomic write, what authors left behind who asked to vanish, in this process or one before it; or
  // what expired. After an error the next call tries again.
  virtual Result<OwedPiece> RemoveVanished(Work most) = 0;
  virtual Result<OwedPiece> RemoveExpired(uint64_t now_seconds, Work most) = 0;

  // Does what the store needs to stay quick. The thread that saves calls this once a minute.
  virtual Status Upkeep() { return {}; }

  // Why nothing can be saved until the next start; ok where that is not so. From any thread.
  virtual Status Stuck() const { return {}; }

  // Whether events may still be stored that are to vanish. From any thread.
  virtual bool owes_vanishing() const { return false; }

  // Which of these are stored; cheap where they are not.
  virtual Result<std::vector<bool>> Stored(std::span<const EventId> ids) const = 0;
  Result<bool> Has(const EventId& id) const;
  // Which are stored with this very signature, which then need not be verified once more.
  virtual Result<std::vector<bool>> StoredSigned(std::span<const EventView> events) const = 0;

  virtual std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const = 0;

  // Removes events by id, for operators; no mark is left, they may come again. Returns how many there were.
  virtual Result<uint64_t> Delete(std::span<const EventId> ids) = 0;

  // What has been stored by now.
  virtual Result<Moment> Now() const = 0;
  // Visits every event that was stored after one moment and by another, of each origin in the order of arrival, until
  // `visit` returns false. What is saved meanwhile lies beyond `until`, so a scan of a store that grows has an end.
  virtual Status ScanAll(const Moment& after, const Moment& until,
                         const std::function<bool(Serial serial, EventView event)>& visit) const = 0;

  // What is in memory goes to disk.
  virtual Status Flush() = 0;
  // All that was saved is on disk when this returns, whatever the sync mode allows; at once where it is so already.
  // From any thread.
  virtual Status Sync() const { return {}; }
  virtual StoreSizes Sizes() const = 0;  // without looking at the disk

  // A sentence for the operator where something that was saved before is lost; empty: nothing is known to be.
  virtual std::string loss() const { return {}; }
};

// A fault of the store, out of memory say, as an error of what was being done: for a thread that has to go on.
template <typename Value, typename Do>
Result<Value> FaultsAsErrors(Do&& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return Status::Error(std::string("a fault: ") + e.what());
  }
}

// The text of a store's error without where its servers and its files are, and who asks them: for strangers.
std::string ErrorForStrangers(const Status& status);
// What comes behind this in an error of the database's is not for them; it ends with the bracket's end.
inline constexpr std::string_view kForOperators = " (RocksDB: ";

// Estimates the work of the thread that saves an event, from its entries and from what it names.
Work SavingWorkOf(EventView event);
// The same with its share of log, flush and compaction. The write gate takes this as cost.
inline Work StoringWorkOf(EventView event) { return SavingWorkOf(event) + event.record().size() * kStoredByteWork; }

}  // namespace weir
