// SavePlan: works out what saving a batch of events changes, before anything is written.
//
// The outcome is that of saving the events one after the other. For each it is the first of these that holds:
//
//   kDuplicate   it is stored, or was saved before in this batch, and not removed since
//   kExpired     its time has passed (NIP-40)
//   kVanished    its author, or the recipient of a gift wrap, asked to vanish at its time or later (NIP-62)
//   kDeleted     an owner (gift_wrap.h) deleted it, or its author deleted its address, then or later (NIP-09)
//   kSuperseded  a newer version is stored that has not expired; at equal age, one with a lower id
//   kSaved
//
// Deletions (kind 5) and requests to vanish (kind 62) cannot be deleted, but every event can vanish. A mark is kept for
// each thing that is deleted, so that it holds for events that come later.
//
// A plan bounds the work of its write, both saving and removing: it settles as many events as fit. Of a deletion that
// does not fit alone it does the part that fits, with its marks. The deletion itself is saved with its last part, so
// everything acknowledged is done.
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
  // `urls` are the relay's own. All must outlive the plan.
  SavePlan(StoreEdit& edit, const std::vector<std::string>& urls, uint64_t now_seconds, Work most)
      : edit_(edit), urls_(urls), now_seconds_(now_seconds), most_(most) {}

  // Puts all changes into the edit. To be called once. Returns how many it settled, see EventStore::SaveSome.
  Result<size_t> Add(std::span<const Event> events, std::span<SaveResult> results);

 private:
  struct Pending {
    EventView event;
    uint64_t serial;
    bool alive = true;
  };
  // The version of an address after the events so far: pending, stored, or none.
  struct Version {
    size_t pending = SIZE_MAX;
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
  void ApplyVanish(EventView request);
  Result<Version> CurrentVersion(const Address& address);
  Result<bool> ReadStored(StoreEdit::Handle handle);
  void RemoveStored(StoreEdit::Handle handle, EventView event);
  void Finish();
  Work work() const { return work_ + edit_.removal_work(); }

  StoreEdit& edit_;
  const std::vector<std::string>& urls_;
  const uint64_t now_seconds_;
  const Work most_;
  Work work_ = 0;  // without the removals

  std::vector<Pending> pending_;
  std::unordered_map<EventId, size_t, Hash> pending_ids_;
  std::unordered_map<Address, Version, Hash> versions_;
  std::unordered_set<std::string> deletion_marks_;  // id and author
  std::unordered_map<Address, uint64_t, Hash> address_marks_;
  // Until when each author has vanished who was looked up or vanishes now; null: has not.
  std::unordered_map<PublicKey, std::optional<uint64_t>, Hash> vanished_;

  std::unordered_set<PublicKey, Hash> vanishing_;  // authors who ask for it in this batch

  std::vector<Known> known_;
  std::vector<PublicKey> authors_;
  std::vector<std::optional<uint64_t>> until_;
  std::string record_;
};

}  // namespace weir
