// SavePlan: decides what saving a batch of events changes in a store, and puts the changes into a StoreEdit. Nothing is
// written before the edit writes it.
//
// The outcomes are the same as if the events were saved one after the other. The outcome of an event is the first one
// in this list that applies:
//
//   kDuplicate   it is stored or came earlier in this batch, and has not been removed since. If it is stored, but has
//                to vanish and only waits for its removal, the outcome is kVanished. A stored request to vanish that
//                was not meant for this relay when it was saved, but is now (`urls`), is carried out
//   kExpired     it has expired (NIP-40)
//   kVanished    its author, or the recipient of a gift wrap, asked to vanish at the event's time or later (NIP-62)
//   kDeleted     an owner (gift_wrap.h) deleted its id, or its author deleted its address up to its time or later
//                (NIP-09)
//   kSuperseded  a newer version is stored that has not expired and is not damaged; of versions of the same age, the
//                one with the lower id is kept
//   kSaved       none of the above
//
// Deletions (kind 5) and requests to vanish (kind 62) cannot be deleted. Every event can vanish, except its author's
// last request to vanish. The store keeps a mark for each id and address that is deleted, so the deletion also holds
// for events that come later.
//
// A plan bounds the work of its write (saving and removing), and settles as many events as fit, but at least one,
// unless that is a large deletion. An event is settled when its outcome is final. If the targets of a deletion do not
// fit into the rest of the write, the plan carries out the part that fits, including its marks. The deletion itself is
// saved with its last part, so a deletion that is acknowledged has been carried out completely.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relay/store/event_store.h"
#include "relay/store/store_edit.h"

namespace weir {

class SavePlan {
 public:
  // `urls` are the relay's own addresses; a request to vanish is carried out if it names one of them, or ALL_RELAYS.
  // `most` is the most work of the write. `edit` and `urls` must outlive the plan.
  SavePlan(StoreEdit& edit, const std::vector<std::string>& urls, uint64_t now_seconds, Work most)
      : edit_(edit), urls_(urls), now_seconds_(now_seconds), most_(most) {}

  // Decides the outcomes of the events and puts all changes into the edit. Returns the number of events that are
  // settled, counted from the first (EventStore::SaveSome). After an error the caller must drop the edit. Must be
  // called once. `events` must outlive the edit. Throws std::logic_error if `results` is not as long as `events`, or if
  // an event is ephemeral.
  Result<size_t> Add(std::span<const Event> events, std::span<SaveResult> results);

 private:
  // An event of this batch that is to be saved.
  struct Pending {
    EventView event;
    uint64_t serial;
    bool alive = true;  // false: a later event of the batch removed it
  };
  // The newest version at an address after the events that were decided so far. It is an event of this batch or a
  // stored event, or there is none.
  struct Version {
    size_t pending = SIZE_MAX;  // index in pending_; SIZE_MAX: not in this batch
    std::optional<StoreEdit::Handle> stored;
  };
  struct Hash {
    template <size_t kBytes>
    size_t operator()(const std::array<uint8_t, kBytes>& bytes) const {
      size_t hash;
      std::memcpy(&hash, bytes.data(), sizeof(hash));
      return hash;
    }
  };

  using Known = StoreEdit::Known;

  Result<size_t> Settle(std::span<const Event> events, std::span<SaveResult> results);
  Status LookUp(std::span<const Event> events);
  Result<bool> Settle(EventView event, const Known& known, SaveResult* result);
  Result<std::optional<SaveOutcome>> Decide(EventView event, const Known& known, SaveResult* result);
  bool IsPending(EventView event) const;
  Result<bool> IsYetToVanish(EventView event, const Known& known);
  bool HasVanished(EventView event) const;
  bool IsDeleted(EventView event, const Known& known) const;
  Result<bool> Supersedes(EventView event, const Known& known);
  void Store(EventView event);
  Result<bool> ApplyDeletion(EventView deletion, SaveResult* result);
  Status DeleteById(EventView deletion, std::string_view id_hex);
  Status DeleteByAddress(EventView deletion, std::string_view name);
  bool AsksToVanish(EventView event) const;
  void ApplyVanish(EventView request, uint64_t serial);
  Result<Version> CurrentVersion(const Address& address);
  Result<bool> ReadStored(StoreEdit::Handle handle);
  void RemoveStored(StoreEdit::Handle handle, EventView event);
  void Finish();
  Work work() const { return work_ + edit_.removal_work(); }

  StoreEdit& edit_;
  const std::vector<std::string>& urls_;
  const uint64_t now_seconds_;
  const Work most_;
  Work work_ = 0;  // without the work of removals

  std::vector<Pending> pending_;
  std::unordered_map<EventId, size_t, Hash> pending_ids_;
  std::unordered_map<Address, Version, Hash> versions_;
  std::unordered_set<std::string> deletion_marks_;  // id and author
  std::unordered_map<Address, uint64_t, Hash> address_marks_;
  // The created_at up to which each author has vanished, for authors that were looked up or vanish in this batch; null:
  // the author has not vanished.
  std::unordered_map<PublicKey, std::optional<uint64_t>, Hash> vanished_;

  std::unordered_map<PublicKey, EventId, Hash> vanishing_;  // authors who ask to vanish in this batch: the last request

  std::vector<Known> known_;
  std::vector<PublicKey> authors_;
  std::vector<std::optional<uint64_t>> until_;
  std::string record_;
};

}  // namespace weir
