// What saving a batch of events changes, worked out before it is written.
//
// The outcome is that of saving them one after the other. For each the first of these that holds:
//
//   kDuplicate   it is stored, or was saved before in this batch, and not removed since
//   kExpired     its time has passed (NIP-40)
//   kVanished    its author, or whom it is wrapped for, asked to vanish at its time or later (NIP-62)
//   kDeleted     its author deleted it, or its address at its time or later (NIP-09)
//   kSuperseded  there is a newer version of it; of equal age, one with a lower id
//   kSaved
//
// Deletions (kind 5) and requests to vanish (kind 62) cannot be deleted, but all can vanish. A mark is kept for each
// thing that is deleted, so that it holds for what comes later.
//
// A plan is bounded in the work of its write, what comes in and what goes out: it settles as many events as fit, and of
// a deletion that does not fit alone the part that does, with its marks. The deletion itself is saved with its last
// part, so whatever was acknowledged is done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/event_store.h"
#include "relay/store/index_lookup.h"
#include "relay/store/removal.h"
#include "relay/store/sorted_entries.h"

namespace weir {

class SavePlan {
 public:
  // `urls` are the relay's own; serials are given from `next_serial` on. All must outlive the plan.
  SavePlan(const Database& database, const std::vector<std::string>& urls, uint64_t now_seconds, uint64_t next_serial,
           Work most);

  // Once. Returns how many it settled, see EventStore::SaveSome.
  Result<size_t> Add(std::span<const Event> events, std::span<SaveResult> results);

  // Everything that changes but the counters.
  rocksdb::WriteBatch* Finish();
  uint64_t added() const { return added_; }
  uint64_t removed() const { return removals_.events(); }
  uint64_t next_serial() const { return next_serial_; }

 private:
  struct Pending {
    EventView event;
    uint64_t serial;
    bool alive = true;
  };
  // Where to find what the index knew of an event before this batch.
  struct Slots {
    size_t id;
    size_t deletion_mark;
    size_t address;
    size_t address_mark;
  };
  // The version of an address that this batch has come to: pending, stored, or none.
  struct Version {
    size_t pending = SIZE_MAX;
    uint64_t stored = 0;
  };
  struct Hash {
    template <size_t kBytes>
    size_t operator()(const std::array<uint8_t, kBytes>& bytes) const {
      size_t hash;
      std::memcpy(&hash, bytes.data(), sizeof(hash));
      return hash;
    }
  };

  Status LookUp(std::span<const Event> events);
  Result<bool> Settle(EventView event, const Slots& slots, SaveResult* result);
  Result<std::optional<SaveOutcome>> Decide(EventView event, const Slots& slots, SaveResult* result);
  bool IsPending(EventView event) const;
  Result<bool> IsYetToVanish(EventView event, const Slots& slots);
  bool IsStored(const Slots& slots) const;
  bool HasVanished(EventView event) const;
  bool IsDeleted(EventView event, const Slots& slots) const;
  Result<bool> Supersedes(EventView event, const Slots& slots);
  void Store(EventView event);
  Result<bool> ApplyDeletion(EventView deletion, SaveResult* result);
  Status DeleteById(EventView deletion, std::string_view id_hex);
  Status DeleteByAddress(EventView deletion, std::string_view name);
  void ApplyVanish(EventView request);
  Result<Version> CurrentVersion(const Address& address);
  Result<bool> ReadStored(uint64_t serial);
  void RemoveStored(uint64_t serial, EventView event);
  Work work() const { return work_ + removals_.work(); }
  Result<std::optional<std::string>> IndexValue(const Key& key);

  const Database& database_;
  const std::vector<std::string>& urls_;
  const uint64_t now_seconds_;
  uint64_t next_serial_;
  const Work most_;
  Work work_ = 0;  // but for the removals
  uint64_t added_ = 0;

  rocksdb::WriteBatch batch_;
  SortedEntries entries_;  // to be put
  std::vector<Pending> pending_;
  std::unordered_map<EventId, size_t, Hash> pending_ids_;
  std::unordered_map<Address, Version, Hash> versions_;
  Removals removals_;                               // of what was stored before
  std::unordered_set<std::string> deletion_marks_;  // keys
  std::unordered_map<Address, uint64_t, Hash> address_marks_;
  // Of all authors that were looked up or vanish now; null: has not.
  std::unordered_map<PublicKey, std::optional<uint64_t>, Hash> vanished_;

  std::unordered_set<PublicKey, Hash> vanishing_;  // who asks for it in this batch

  IndexLookup lookup_;
  std::vector<Slots> slots_;
  std::vector<std::pair<PublicKey, size_t>> vanish_slots_;
  std::string record_;
};

}  // namespace weir
