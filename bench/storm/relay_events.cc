#include "bench/storm/relay_events.h"

#include <rocksdb/cache.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstring>

#include "bench/relay/event_maker.h"
#include "relay/nostr/event_parser.h"
#include "relay/store/database.h"
#include "relay/store/keys.h"
#include "relay/store/store_options.h"

namespace weir {
namespace {

constexpr size_t kDifferent = 500;
constexpr uint64_t kAuthors = 20'000;
constexpr uint64_t kFirstMoment = 1'700'000'000;
constexpr uint64_t kEventsPerSecond = 20;
constexpr uint64_t kLateSeconds = 600;  // the most that an event comes after its time
constexpr uint16_t kNote = 1;

// Returns the same bytes for the same seed.
Bytes32 RandomBytes(uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes32 bytes;
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, sizeof(word));
  }
  return bytes;
}

EventId IdOf(uint64_t serial) { return RandomBytes(serial); }
PublicKey AuthorOf(uint64_t number) { return RandomBytes(~number); }

StoreOptions OptionsOf(const StormShape& shape) { return {.memory_target_bytes = Bytes(shape.memory_target_mib)}; }

rocksdb::ColumnFamilyHandle* Events(const StormDatabase& database) { return database.families[1].get(); }
rocksdb::ColumnFamilyHandle* Index(const StormDatabase& database) { return database.families[2].get(); }

}  // namespace

RelayEvents::RelayEvents(uint64_t stored) : last_serial_(stored) {
  EventParser parser;
  MakeEvents({.purpose = "storm", .count = kDifferent, .day = kFirstMoment / 86400}, [&](const std::string& json) {
    const Result<Event> event = parser.Parse(json);
    if (event.ok()) records_.push_back(*event.value().record());
  });
}

std::string RelayEvents::RecordOf(uint64_t serial, std::mt19937_64& random) const {
  std::string record = records_[random() % records_.size()];
  const EventId id = IdOf(serial);
  const PublicKey author = AuthorOf(random() % kAuthors);
  const uint64_t created_at = kFirstMoment + serial / kEventsPerSecond - random() % kLateSeconds;
  std::memcpy(record.data() + RecordLayout::kId, id.data(), id.size());
  std::memcpy(record.data() + RecordLayout::kPubkey, author.data(), author.size());
  std::memcpy(record.data() + RecordLayout::kCreatedAt, &created_at, sizeof(created_at));
  return record;
}

void RelayEvents::AddInteractive(const StormDatabase& database, std::mt19937_64& random,
                                 rocksdb::WriteBatch* batch) const {
  const uint64_t serial = ++last_serial_;
  const std::string record = RecordOf(serial, random);
  batch->Put(Events(database), ToSlice(EventKey(serial)), record);
  ForEachEntry(EventView(record), serial, [&](std::string_view key, std::string_view value) {
    batch->Put(Index(database), ToSlice(key), ToSlice(value));
  });
}

void RelayEvents::AddBulk(const StormDatabase& database, std::mt19937_64& random, rocksdb::WriteBatch* batch) const {
  AddInteractive(database, random, batch);
}

rocksdb::Status RelayEvents::Get(const StormDatabase& database, std::mt19937_64& random) const {
  const uint64_t serial = 1 + random() % last_serial_;
  std::string value;
  rocksdb::Status status = database.db->Get({}, Index(database), ToSlice(IdKey(IdOf(serial))), &value);
  IndexEntry entry;
  if (status.ok() && !ReadIdValue(value, &entry)) return rocksdb::Status::Corruption("an entry of the index");
  if (status.ok()) status = database.db->Get({}, Events(database), ToSlice(EventKey(entry.serial)), &value);
  return status.IsNotFound() ? rocksdb::Status() : status;
}

rocksdb::Status RelayEvents::Scan(const StormDatabase& database, std::mt19937_64& random, int values) const {
  const Key range = KindRange(kNote);
  const uint64_t until = kFirstMoment + random() % last_serial_ / kEventsPerSecond;
  const std::unique_ptr<rocksdb::Iterator> it(database.db->NewIterator({}, Index(database)));
  std::string record;
  for (it->Seek(ToSlice(Key(range).Time(until))); it->Valid() && values > 0; it->Next(), --values) {
    IndexEntry entry;
    if (!it->key().starts_with(ToSlice(range))) break;
    if (!ReadEntry(ToView(it->key()), range.view().size(), &entry))
      return rocksdb::Status::Corruption("an entry of the index");
    rocksdb::Status read = database.db->Get({}, Events(database), ToSlice(EventKey(entry.serial)), &record);
    if (!read.ok()) return read;
  }
  return it->status();
}

rocksdb::DBOptions RelayDatabaseOptions(const StormShape& shape) { return DatabaseOptions(OptionsOf(shape)); }

std::vector<rocksdb::ColumnFamilyDescriptor> RelayFamilies(const StormShape& shape) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families = Families(OptionsOf(shape));
  const auto cache = rocksdb::NewLRUCache(Bytes(shape.cache_mib));
  for (const rocksdb::ColumnFamilyDescriptor& family : families)
    family.options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->block_cache = cache;
  return families;
}

}  // namespace weir
