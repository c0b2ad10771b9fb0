// StoreEdit: the questions that a save asks the store, and the changes that it makes there. SavePlan decides; each
// store has its own edit, which reads what many events need at once and writes all changes at once.
//
// A stored event goes by its handle, whose meaning is the store's. Answers are as of before the edit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/store/keys.h"

namespace weir {

class StoreEdit {
 public:
  using Handle = uint64_t;
  // Facts about an event that is to be saved.
  struct Known {
    std::optional<Handle> stored;  // the event itself
    std::optional<Handle> newest;  // the newest version at its address
    std::optional<uint64_t> address_deleted_until;
    bool is_deleted = false;  // one of its owners deleted its id (gift_wrap.h)
  };

  virtual ~StoreEdit() = default;

  // Looks up all these at once; `until` gets the moment up to which each author has vanished. Must be called first.
  virtual Status LookUp(std::span<const Event> events, std::span<const PublicKey> authors, std::vector<Known>* known,
                        std::vector<std::optional<uint64_t>>* until) = 0;
  virtual Result<std::optional<Handle>> Find(const EventId& id) = 0;
  virtual Result<std::optional<Handle>> NewestOf(const Address& address) = 0;
  virtual Result<std::optional<uint64_t>> DeletedUntil(const Address& address) = 0;
  // Returns true if this request to vanish stays when its author's events are removed: only the last request does.
  virtual Result<bool> RequestStays(const PublicKey& author, Handle request) = 0;
  // Returns false if the record cannot be read.
  virtual Result<bool> Read(Handle handle, std::string* record) = 0;

  virtual uint64_t TakeSerial() = 0;
  // Removes a stored event; doing so again changes nothing. `event` is what Read gave.
  virtual void Remove(Handle handle, EventView event) = 0;
  virtual bool IsRemoved(Handle handle) const = 0;
  virtual Work removal_work() const = 0;

  virtual void Add(EventView event, uint64_t serial) = 0;
  virtual void MarkDeleted(const EventId& id, const PublicKey& author) = 0;
  virtual void MarkDeleted(const Address& address, uint64_t until) = 0;
  virtual void MarkVanished(const PublicKey& author, uint64_t until, EventView request, uint64_t serial) = 0;
};

}  // namespace weir
