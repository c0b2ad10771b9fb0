// EventStore: events on disk, and the questions that a relay asks of them. RocksDbStore is the implementation.
//
// Threads: Save, Delete and SweepExpired are called by one thread at a time (group_commit.h owns it); everything else
// may be called from any thread at any time. A Query belongs to one thread at a time and must not outlive its store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"

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
  uint64_t serial = 0;  // of a saved event: grows with every one
};

// How much a query may do before it lets others have the thread.
struct Slice {
  uint32_t max_visits = 1000;       // index entries and records looked at, matching or not
  uint32_t max_bytes = 128 * 1024;  // of JSON handed out
};

enum class Progress : uint8_t { kMore, kDone };

// The stored events that match any of several filters, newest first and of equal age the lowest id first, each once. An
// event is in the answer if it is among the first `limit` matches of one of the filters. Answers as of the moment it
// was made, whatever is saved or deleted meanwhile.
class Query {
 public:
  using OnMatch = std::function<void(EventView event)>;  // the view is good during the call

  virtual ~Query() = default;

  // Goes on for one slice. On kMore there may be nothing more all the same.
  virtual Result<Progress> Next(const Slice& slice, const OnMatch& on_match) = 0;

  // Events with a higher serial were saved after this query was made and are not in its answer.
  virtual uint64_t last_serial() const = 0;
  // When done: whether every stored match was handed out, or a limit cut them off (NIP-67).
  virtual bool complete() const = 0;
  // Index entries and records looked at so far.
  virtual uint64_t visits() const = 0;
};

struct QueryOptions {
  uint64_t now_seconds = 0;      // events that expired before are left out
  uint64_t default_limit = 500;  // for filters that name none
  uint64_t max_limit = 5000;
  // Events that the asker may not see are passed over and count towards no limit. Null: all may be seen.
  std::function<bool(EventView event)> visible;
};

struct StoreSizes {
  uint64_t events = 0;
  uint64_t disk_bytes = 0;
  uint64_t last_serial = 0;
};

class EventStore {
 public:
  virtual ~EventStore() = default;

  // One atomic write: the events with their index entries, and what they replace or delete. results[i] belongs to
  // events[i]. When it returns without error all of it is as durable as the sync mode says; on error nothing was saved.
  // Signatures were checked, ephemeral events are not for a store (a logic error).
  virtual Status Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results) = 0;

  // Whether the event is stored; cheap where it is not.
  virtual Result<bool> Has(const EventId& id) const = 0;
  // Whether it is stored with this very signature, which then need not be verified once more.
  virtual Result<bool> HasSigned(EventView event) const = 0;

  virtual std::unique_ptr<Query> Find(std::vector<Filter> filters, const QueryOptions& options) const = 0;

  // Removes events by id, for operators; no mark is left, they may come again. Returns how many there were.
  virtual Result<uint64_t> Delete(std::span<const EventId> ids) = 0;
  // Removes up to `max` events that expired; returns how many.
  virtual Result<uint64_t> SweepExpired(uint64_t now_seconds, uint32_t max) = 0;

  // Every event in the order of arrival from this serial on, until `visit` returns false.
  virtual Status ScanAll(uint64_t from_serial,
                         const std::function<bool(uint64_t serial, EventView event)>& visit) const = 0;

  // What is in memory goes to disk.
  virtual Status Flush() = 0;
  virtual StoreSizes Sizes() const = 0;
};

}  // namespace weir
