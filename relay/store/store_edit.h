// StoreEdit: the interface between SavePlan (save_plan.h), which decides what saving a batch of events changes, and a
// store. SavePlan asks an edit for stored events and marks, and passes the changes to it. Each store has its own class
// of edits (rocksdb_edit.h, postgres/postgres_edit.h), which reads data for many events together and writes all changes
// together, in one atomic write.
//
// A mark records that an event id or an address was deleted (NIP-09), or that an author has vanished (NIP-62). The
// functions that read the store do not see the changes of the edit itself; only IsRemoved does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/store/event_store.h"
#include "relay/store/keys.h"

namespace weir {

class StoreEdit {
 public:
  // Identifies a stored event within an edit. Each store gives the number its own meaning.
  using Handle = uint64_t;
  // The stored data about an event that is to be saved.
  struct Known {
    std::optional<Handle> stored;                   // the event itself, if it is stored
    std::optional<Handle> newest;                   // the newest stored version at its address (AddressOf in keys.h)
    std::optional<uint64_t> address_deleted_until;  // versions up to this created_at were deleted
    bool is_deleted = false;                        // one of its owners deleted its id (gift_wrap.h)
  };

  virtual ~StoreEdit() = default;

  // Looks up these events and authors together. `known` must be as long as `events`, and `until` as long as `authors`.
  // Sets each element of `until` to the created_at up to which the author has vanished, or nullopt. SavePlan calls it
  // for some hundred events at a time, before it calls the functions below for these events. The events must outlive
  // the edit.
  virtual Status LookUp(std::span<const Event> events, std::span<const PublicKey> authors, std::vector<Known>* known,
                        std::vector<std::optional<uint64_t>>* until) = 0;
  // The next three functions return nullopt if the store has no such event or mark.
  virtual Result<std::optional<Handle>> Find(const EventId& id) = 0;
  virtual Result<std::optional<Handle>> NewestOf(const Address& address) = 0;
  virtual Result<std::optional<uint64_t>> DeletedUntil(const Address& address) = 0;
  // Returns true if this stored request to vanish stays when its author's events are removed. Only the last request of
  // an author stays.
  virtual Result<bool> RequestStays(const PublicKey& author, Handle request) = 0;
  // Reads the record of a stored event. Returns false if the record is gone or damaged.
  virtual Result<bool> Read(Handle handle, std::string* record) = 0;

  // Returns the serial for the next event that is added.
  virtual uint64_t TakeSerial() = 0;
  // Removes a stored event; removing it again changes nothing. `event` is the record that Read returned.
  virtual void Remove(Handle handle, EventView event) = 0;
  virtual bool IsRemoved(Handle handle) const = 0;
  // Returns the work of adding the event (SavingWorkOf in event_store.h, and that of its words if it is searched).
  virtual Work adding_work(EventView event) const { return SavingWorkOf(event); }
  // Returns the work of all removals of this edit.
  virtual Work removal_work() const = 0;

  // Adds an event with a serial from TakeSerial. The event must outlive the edit.
  virtual void Add(EventView event, uint64_t serial) = 0;
  // Marks the event with this id as deleted by `author`, whether it is stored or not.
  virtual void MarkDeleted(const EventId& id, const PublicKey& author) = 0;
  // Marks all versions at `address` with a created_at up to `until` as deleted.
  virtual void MarkDeleted(const Address& address, uint64_t until) = 0;
  // Marks the events of `author`, and the gift wraps for `author`, with a created_at up to `until` as vanished.
  // `request` is the request to vanish, and `serial` its serial, or its handle if it is stored already; the request
  // itself is not removed.
  virtual void MarkVanished(const PublicKey& author, uint64_t until, EventView request, uint64_t serial) = 0;
};

}  // namespace weir
