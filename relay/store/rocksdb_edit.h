// RocksDbEdit: the StoreEdit (store_edit.h) of the store on RocksDB. It collects all changes in one WriteBatch. The
// handle of a stored event is its serial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/key_lookup.h"
#include "relay/store/removal.h"
#include "relay/store/sorted_entries.h"
#include "relay/store/store_edit.h"

namespace weir {

class RocksDbEdit final : public StoreEdit {
 public:
  // TakeSerial begins with `next_serial`. `database` must outlive the edit.
  RocksDbEdit(const Database& database, uint64_t next_serial) : database_(database), next_serial_(next_serial) {}

  Status LookUp(std::span<const Event> events, std::span<const PublicKey> authors, std::vector<Known>* known,
                std::vector<std::optional<uint64_t>>* until) override;
  Result<std::optional<Handle>> Find(const EventId& id) override;
  Result<std::optional<Handle>> NewestOf(const Address& address) override;
  Result<std::optional<uint64_t>> DeletedUntil(const Address& address) override;
  Result<bool> RequestStays(const PublicKey& author, Handle request) override;
  Result<bool> Read(Handle handle, std::string* record) override {
    return ReadRecord(database_, handle, record, ReadForRemoval());
  }

  uint64_t TakeSerial() override { return next_serial_++; }
  void Remove(Handle handle, EventView event) override { removals_.Add(database_, event, handle); }
  bool IsRemoved(Handle handle) const override { return removals_.Has(handle); }
  Work removal_work() const override { return removals_.work(); }

  void Add(EventView event, uint64_t serial) override;
  Work adding_work(EventView event) const override;
  void MarkDeleted(const EventId& id, const PublicKey& author) override;
  void MarkDeleted(const Address& address, uint64_t until) override;
  void MarkVanished(const PublicKey& author, uint64_t until, EventView request, uint64_t serial) override;

  // Returns all changes except those of the counters (keys.h). The batch belongs to the edit. Must be called once.
  rocksdb::WriteBatch* Finish();
  // Return the number of events that the edit adds and removes.
  uint64_t added() const { return added_; }
  uint64_t removed() const { return removals_.events(); }
  // Returns the serial that TakeSerial would give next.
  uint64_t next_serial() const { return next_serial_; }

 private:
  Result<std::optional<std::string>> IndexValue(const Key& key);

  const Database& database_;
  uint64_t next_serial_;
  uint64_t added_ = 0;
  rocksdb::WriteBatch batch_;
  SortedEntries entries_;  // index entries to be added
  SortedEntries words_;    // entries of the index of words to be added
  Removals removals_;      // stored events to be removed
  KeyLookup lookup_;
};

}  // namespace weir
