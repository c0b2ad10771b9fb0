// StoreEdit: what a save asks the store, and what it changes there. SavePlan decides; each store has its own edit,
// which reads all that many events need at once and writes all changes at once.
//
// A stored event goes by its handle, whose meaning is the store's. What is asked is answered as of before the edit.
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
  // What is known of an event that comes.
  struct Known {
    std::optional<Handle> stored;  // itself
    std::optional<Handle> newest;  // of its address
    std::optional<uint64_t> address_deleted_until;
    bool is_deleted = false;  // by its id, by one of its owners (gift_wrap.h)
  };

  virtual ~StoreEdit() = default;

  // Of all these at once; `until` gets the moment up to which each author has vanished. Comes before all else.
  virtual Status LookUp(std::span<const Event> events, std::span<const PublicKey> authors, std::vector<Known>* known,
                        std::vector<std::optional<uint64_t>>* until) = 0;
  virtual Result<std::optional<Handle>> Find(const EventId& id) = 0;
  virtual Result<std::optional<Handle>> NewestOf(const Address& address) = 0;
  virtual Result<std::optional<uint64_t>> DeletedUntil(const Address& address) = 0;
  // Whether this request to vanish is not to go with what its author left behind: the last one alone stays.
  virtual Result<bool> RequestStays(const PublicKey& author, Handle request) = 0;
  // False where it cannot be read.
  virtual Result<bool> Read(Handle handle, std::string* record) = 0;

  virtual uint64_t TakeSerial() = 0;
  // Takes a stored event out, whoever wants it removed; `event` is what Read gave.
  virtual void Remove(Handle handle, EventView event) = 0;
  virtual bool IsRemoved(Handle handle) const = 0;
  virtual Work removal_work() const = 0;

  virtual void Add(EventView event, uint64_t serial) = 0;
  virtual void MarkDeleted(const EventId& id, const PublicKey& author) = 0;
  virtual void MarkDeleted(const Address& address, uint64_t until) = 0;
  virtual void MarkVanished(const PublicKey& author, uint64_t until, EventView request, uint64_t serial) = 0;
};

}  // namespace weir
