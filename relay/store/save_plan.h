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

namespace weir {

class SavePlan {
 public:
  // `urls` are the relay's own; serials are given from `next_serial` on. All must outlive the plan.
  SavePlan(const Database& database, const std::vector<std::string>& urls, uint64_t now_seconds, uint64_t next_serial);

  Status Add(std::span<const Event> events, std::span<SaveResult> results);

  // Everything that changes but the counters.
  rocksdb::WriteBatch* Finish();
  uint64_t added() const { return added_; }
  uint64_t removed() const { return removed_.size(); }
  uint64_t next_serial() const { return next_serial_; }
  // Whether authors vanish: FinishVanishing does it when this is written.
  bool vanishing() const { return !vanishing_.empty(); }

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
  Result<SaveOutcome> Decide(EventView event, const Slots& slots);
  bool IsPending(EventView event) const;
  bool IsStored(const Slots& slots) const;
  bool HasVanished(EventView event) const;
  bool IsDeleted(EventView event, const Slots& slots) const;
  Result<bool> Supersedes(EventView event, const Slots& slots);
  void Store(EventView event);
  Status ApplyDeletion(EventView deletion);
  Status DeleteById(EventView deletion, std::string_view id_hex);
  Status DeleteByAddress(EventView deletion, std::string_view name);
  void ApplyVanish(EventView request);
  Result<Version> CurrentVersion(const Address& address);
  Status RemoveStored(uint64_t serial, std::string_view record);
  Result<std::optional<std::string>> IndexValue(const Key& key);
  bool NamesUs(EventView request) const;

  const Database& database_;
  const std::vector<std::string>& urls_;
  const uint64_t now_seconds_;
  uint64_t next_serial_;
  uint64_t added_ = 0;

  rocksdb::WriteBatch batch_;
  std::vector<Pending> pending_;
  std::unordered_map<EventId, size_t, Hash> pending_ids_;
  std::unordered_map<Address, Version, Hash> versions_;
  std::unordered_set<uint64_t> removed_;            // serials of what was stored before
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
