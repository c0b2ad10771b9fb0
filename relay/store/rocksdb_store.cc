#include "relay/store/rocksdb_store.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include "relay/store/database.h"
#include "relay/store/query.h"
#include "relay/store/removal.h"
#include "relay/store/save_plan.h"
#include "relay/store/wal_sync.h"

namespace weir {
namespace {

Status ReadOnlyError() { return Status::Error("this database was opened for reading only"); }

uint64_t BytesUnder(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(path, error)) {
    const uint64_t size = file.file_size(error);
    // Files come and go while we look.
    if (!error) bytes += size;
    error.clear();
  }
  return bytes;
}

// With no counters, or wrong ones, serials would be given again and what is stored be overwritten.
Result<Counters> CountersAtOpen(const Database& database, const std::string& path) {
  Counters counters;
  std::string value;
  const rocksdb::Status status = database.db()->Get({}, database.index(), ToSlice(CountersKey()), &value);
  if (status.ok() && ReadCounters(value, &counters)) return counters;
  if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read the counters of " + path, status);
  const std::unique_ptr<rocksdb::Iterator> events(database.db()->NewIterator({}, database.events()));
  events->SeekToFirst();
  if (!events->status().ok()) return DatabaseError("cannot read " + path, events->status());
  if (status.ok() || events->Valid())
    return Status::Error(path + " holds events, but what counts them is damaged; restore a backup");
  return counters;
}

}  // namespace

struct RocksDbStore::Rep {
  explicit Rep(const StoreOptions& store_options) : options(store_options) {}

  // The batch and the counters after it, as one write.
  Status Write(rocksdb::WriteBatch* batch, const Counters& after, bool sync);
  Status Resume();
  Status Failed(const rocksdb::Status& status);
  bool NothingInMemory() const;
  WritePiece PieceWriter(bool sync);
  Status FinishVanishing();

  const StoreOptions options;
  std::unique_ptr<Database> database;
  std::unique_ptr<WalSync> wal_sync;

  // Of the thread that saves.
  uint64_t next_serial = 1;
  bool vanishing = false;    // begun, and maybe not finished
  bool failed = false;       // the last write
  uint64_t swept_until = 0;  // nothing in the store expired before

  // As last written.
  std::atomic<uint64_t> events = 0;
  std::atomic<uint64_t> last_serial = 0;
};

Status RocksDbStore::Rep::Write(rocksdb::WriteBatch* batch, const Counters& after, bool sync) {
  if (failed) {
    if (Status resumed = Resume(); !resumed.ok()) return resumed;
  }
  rocksdb::WriteOptions write;
  if (NothingInMemory()) {
    write.disableWAL = true;
    const Counters before{.events = events, .last_serial = last_serial};
    const rocksdb::Status put =
        database->db()->Put(write, database->index(), ToSlice(CountersKey()), WriteCounters(before));
    if (!put.ok()) return Failed(put);
    write.disableWAL = false;
  }
  batch->Put(database->index(), ToSlice(CountersKey()), WriteCounters(after));
  write.sync = sync && options.settings.sync == SyncMode::kBatch;
  const rocksdb::Status status = database->db()->Write(write, batch);
  if (!status.ok()) return Failed(status);
  if (wal_sync) wal_sync->Written();
  events = after.events;
  last_serial = after.last_serial;
  return {};
}

Status RocksDbStore::Rep::Failed(const rocksdb::Status& status) {
  failed = true;
  return DatabaseError("cannot save", status);
}

// A log whose disk was full takes nothing more, and RocksDB begins a new one when it flushes: so it must always have
// something to flush, were it what it has already (RocksDB 7.8; else it goes on with the broken log and aborts).
bool RocksDbStore::Rep::NothingInMemory() const {
  for (rocksdb::ColumnFamilyHandle* family : {database->index(), database->events()}) {
    uint64_t entries = 0;
    database->db()->GetIntProperty(family, rocksdb::DB::Properties::kNumEntriesActiveMemTable, &entries);
    if (entries > 0) return false;
  }
  return true;
}

// After an error RocksDB refuses all writes until it has recovered. It tries so by itself every few seconds; whoever
// saves need not wait for that.
Status RocksDbStore::Rep::Resume() {
  const rocksdb::Status status = database->db()->Resume();
  if (!status.ok() && !status.IsBusy()) return DatabaseError("cannot save", status);
  failed = false;
  return {};
}

WritePiece RocksDbStore::Rep::PieceWriter(bool sync) {
  return [this, sync](rocksdb::WriteBatch* batch, uint64_t removed) {
    return Write(batch, {.events = events - std::min<uint64_t>(events, removed), .last_serial = last_serial}, sync);
  };
}

Status RocksDbStore::Rep::FinishVanishing() {
  // What a crash undoes of it is begun again; the mark that says so is on disk.
  Status finished = weir::FinishVanishing(*database, PieceWriter(false));
  vanishing = !finished.ok();
  return finished;
}

RocksDbStore::RocksDbStore(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

Result<std::unique_ptr<RocksDbStore>> RocksDbStore::Open(const StoreOptions& options) {
  Result<std::unique_ptr<Database>> database = Database::Open(options);
  if (!database.ok()) return database.status();
  auto rep = std::make_unique<Rep>(options);
  rep->database = std::move(database).value();
  const Result<Counters> counters = CountersAtOpen(*rep->database, options.path);
  if (!counters.ok()) return counters.status();
  rep->events = counters.value().events;
  rep->last_serial = counters.value().last_serial;
  rep->next_serial = counters.value().last_serial + 1;
  if (!options.read_only) {
    if (options.settings.sync == SyncMode::kInterval)
      rep->wal_sync = std::make_unique<WalSync>(rep->database->db(), options.settings.sync_interval);
    // What could not be finished is tried again at every Save.
    (void)rep->FinishVanishing().ok();
  }
  return std::unique_ptr<RocksDbStore>(new RocksDbStore(std::move(rep)));
}

RocksDbStore::~RocksDbStore() {
  rep_->wal_sync.reset();
  if (!rep_->options.read_only) (void)Flush().ok();
}

Status RocksDbStore::Save(std::span<const Event> events, uint64_t now_seconds, std::span<SaveResult> results) {
  if (rep_->options.read_only) return ReadOnlyError();
  if (rep_->vanishing) (void)rep_->FinishVanishing().ok();
  SavePlan plan(*rep_->database, rep_->options.own_urls, now_seconds, rep_->next_serial);
  if (Status added = plan.Add(events, results); !added.ok()) return added;
  rocksdb::WriteBatch* batch = plan.Finish();
  if (batch->Count() == 0) return {};
  // Serials of a write that failed are not used again: it may be in the log all the same.
  rep_->next_serial = plan.next_serial();
  const Counters after{.events = rep_->events + plan.added() - plan.removed(), .last_serial = plan.next_serial() - 1};
  if (Status written = rep_->Write(batch, after, true); !written.ok()) return written;
  // The events are saved; what could not be removed is, at the next Save.
  if (plan.vanishing()) (void)rep_->FinishVanishing().ok();
  return {};
}

Result<bool> RocksDbStore::Has(const EventId& id) const {
  const Database& database = *rep_->database;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = database.db()->Get({}, database.index(), ToSlice(IdKey(id)), &value);
  if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read the index", status);
  return status.ok();
}

Result<bool> RocksDbStore::HasSigned(EventView event) const {
  const Database& database = *rep_->database;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = database.db()->Get({}, database.index(), ToSlice(IdKey(event.id())), &value);
  if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read the index", status);
  IndexEntry entry;
  if (!status.ok() || !ReadIdValue(ToView(value), &entry)) return false;
  std::string record;
  const Result<bool> found = ReadRecord(database, entry.serial, &record);
  if (!found.ok()) return found.status();
  return found.value() && EventView::WellFormed(record) && EventView(record).signature() == event.signature();
}

std::unique_ptr<Query> RocksDbStore::Find(std::vector<Filter> filters, const QueryOptions& options) const {
  return std::make_unique<StoreQuery>(*rep_->database, std::move(filters), options);
}

Result<uint64_t> RocksDbStore::Delete(std::span<const EventId> ids) {
  if (rep_->options.read_only) return ReadOnlyError();
  return RemoveByIds(*rep_->database, ids, rep_->PieceWriter(true));
}

Result<uint64_t> RocksDbStore::SweepExpired(uint64_t now_seconds, uint32_t max) {
  if (rep_->options.read_only) return ReadOnlyError();
  if (now_seconds < rep_->swept_until) rep_->swept_until = 0;
  Result<uint64_t> removed =
      RemoveExpired(*rep_->database, now_seconds, max, rep_->swept_until, rep_->PieceWriter(true));
  // From there on the next sweep need not pass over what this one deleted.
  if (removed.ok() && removed.value() < max) rep_->swept_until = now_seconds;
  return removed;
}

Status RocksDbStore::ScanAll(uint64_t from_serial,
                             const std::function<bool(uint64_t serial, EventView event)>& visit) const {
  const Database& database = *rep_->database;
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = 1 << 20;
  const std::unique_ptr<rocksdb::Iterator> at(database.db()->NewIterator(options, database.events()));
  for (at->Seek(ToSlice(EventKey(from_serial))); at->Valid(); at->Next()) {
    const std::string_view record = ToView(at->value());
    if (at->key().size() != 8 || !EventView::WellFormed(record))
      return Status::Error("a stored event is damaged; `weir check` says more");
    if (!visit(ReadNumber(at->key().data(), 8), EventView(record))) return {};
  }
  return at->status().ok() ? Status() : DatabaseError("cannot read the events", at->status());
}

Status RocksDbStore::Flush() {
  if (rep_->options.read_only) return {};
  const rocksdb::Status status = rep_->database->db()->Flush(rocksdb::FlushOptions(), rep_->database->families());
  return status.ok() ? Status() : DatabaseError("cannot write what is in memory", status);
}

StoreSizes RocksDbStore::Sizes() const {
  return {.events = rep_->events, .disk_bytes = BytesUnder(rep_->options.path), .last_serial = rep_->last_serial};
}

rocksdb::DB* RocksDbStore::db() const { return rep_->database->db(); }
const std::vector<rocksdb::ColumnFamilyHandle*>& RocksDbStore::families() const { return rep_->database->families(); }
const PreparedRocksDb& RocksDbStore::prepared() const { return rep_->database->prepared(); }

}  // namespace weir
