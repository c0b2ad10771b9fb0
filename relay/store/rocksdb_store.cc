#include "relay/store/rocksdb_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "relay/store/database.h"
#include "relay/store/id_query.h"
#include "relay/store/idle_merge.h"
#include "relay/store/key_lookup.h"
#include "relay/store/query.h"
#include "relay/store/read_ahead.h"
#include "relay/store/removal.h"
#include "relay/store/rocksdb_edit.h"
#include "relay/store/save_plan.h"
#include "relay/store/search/search_query.h"
#include "relay/store/wal_sync.h"

namespace weir {
namespace {

Status ReadOnlyError() { return Status::Error("this database was opened for reading only"); }

// Reads the counters. Returns an error if the database has events but no valid counters, because the store would then
// assign serials twice and overwrite events.
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

Status RocksDbStore::Write(rocksdb::WriteBatch* batch, const Counters& after, Synced synced) {
  if (failed_) {
    if (Status resumed = Resume(); !resumed.ok()) return resumed;
  }
  rocksdb::WriteOptions write;
  if (NothingInMemory()) {
    write.disableWAL = true;
    const Counters before{.events = events_, .last_serial = last_serial_};
    const rocksdb::Status put =
        database_->db()->Put(write, database_->index(), ToSlice(CountersKey()), WriteCounters(before));
    if (!put.ok()) return Failed(put);
    write.disableWAL = false;
  }
  batch->Put(database_->index(), ToSlice(CountersKey()), WriteCounters(after));
  write.sync = synced == Synced::kAlways || (synced == Synced::kAsSet && options_.settings.sync == SyncMode::kBatch);
  const rocksdb::Status status = database_->db()->Write(write, batch);
  if (!status.ok()) return Failed(status);
  if (wal_sync_) wal_sync_->Written();
  events_ = after.events;
  last_serial_ = after.last_serial;
  database_->SetLastSerial(after.last_serial);
  return {};
}

// Calls Resume to find out whether RocksDB can ever write again. After a full disk it can, so then only the next save
// calls Resume.
Status RocksDbStore::Failed(const rocksdb::Status& status) {
  failed_ = true;
  if (!status.IsNoSpace()) {
    if (Status resumed = Resume(); !resumed.ok()) return resumed;
  }
  return DatabaseError("cannot save", status);
}

Status RocksDbStore::Stuck() const {
  const MutexLock lock(stuck_mutex_);
  return stuck_;
}

// After a full disk RocksDB cannot write to its log any more. It begins a new log only when it flushes, so it must
// always have something to flush, even if that is on disk already. Otherwise RocksDB 7.8 continues with the broken log
// and aborts.
bool RocksDbStore::NothingInMemory() const {
  for (rocksdb::ColumnFamilyHandle* family : {database_->index(), database_->events()}) {
    uint64_t entries = 0;
    database_->db()->GetIntProperty(family, rocksdb::DB::Properties::kNumEntriesActiveMemTable, &entries);
    if (entries > 0) return false;
  }
  return true;
}

// After an error RocksDB refuses all writes until it has recovered. It tries to recover by itself every few seconds,
// but a save need not wait for that.
Status RocksDbStore::Resume() {
  const rocksdb::Status status = database_->db()->Resume();
  if (status.ok() || status.IsBusy()) {
    failed_ = false;
    return {};
  }
  Status error = DatabaseError("cannot save", status);
  if (NeedsRestart(status)) {
    const MutexLock lock(stuck_mutex_);
    stuck_ = error;
  }
  return error;
}

Status RocksDbStore::WriteRemovals(RemovalPiece* piece, Synced synced) {
  piece->removals.AppendTo(*database_, &piece->batch);
  // An empty write that is synced makes earlier ones durable.
  if (piece->batch.Count() == 0 && synced == Synced::kNever) return {};
  const uint64_t left = events_ - std::min<uint64_t>(events_, piece->removals.events());
  return Write(&piece->batch, {.events = left, .last_serial = last_serial_}, synced);
}

// Does not sync the piece: if a crash undoes it, the store removes its events again after the restart.
template <typename Job, typename Next>
Result<OwedPiece> RocksDbStore::DoPiece(std::unique_ptr<Job>* job, Next next) {
  if (options_.read_only) return ReadOnlyError();
  if (*job == nullptr) *job = std::make_unique<Job>(*database_);
  Result<RemovalPiece> piece = next(**job);
  Status done = piece.status();
  if (done.ok()) done = WriteRemovals(&piece.value(), Synced::kNever);
  if (!done.ok()) {
    job->reset();
    return done;
  }
  return OwedPiece{.removed = piece.value().removals.events(), .more = piece.value().more};
}

RocksDbStore::RocksDbStore(const StoreOptions& options, std::unique_ptr<Database> database, const Counters& counters)
    : options_(options),
      database_(std::move(database)),
      next_serial_(counters.last_serial + 1),
      events_(counters.events),
      last_serial_(counters.last_serial) {
  database_->SetLastSerial(counters.last_serial);
  if (!options.read_only) idle_merge_ = std::make_unique<IdleMerge>(*database_);
  if (!options.read_only && options.settings.sync == SyncMode::kInterval)
    wal_sync_ = std::make_unique<WalSync>(database_->db(), options.settings.sync_interval);
}

Result<std::unique_ptr<RocksDbStore>> RocksDbStore::Open(const StoreOptions& options) {
  Result<std::unique_ptr<Database>> database = Database::Open(options);
  if (!database.ok()) return database.status();
  const Result<Counters> counters = CountersAtOpen(*database.value(), options.path);
  if (!counters.ok()) return counters.status();
  Status searched = database.value()->OpenSearch(options, counters.value().last_serial);
  if (!searched.ok()) return searched;
  return std::unique_ptr<RocksDbStore>(new RocksDbStore(options, std::move(database).value(), counters.value()));
}

RocksDbStore::~RocksDbStore() {
  wal_sync_.reset();
  if (!options_.read_only) (void)Flush().ok();
}

Status RocksDbStore::Upkeep() {
  if (options_.read_only) return {};
  Status flushed = FlushMemos();
  return flushed.ok() ? idle_merge_->Look() : flushed;
}

// Begins to write the memos into a table, so that RocksDB need not keep a log for them.
Status RocksDbStore::FlushMemos() {
  uint64_t entries = 0;
  rocksdb::DB* const db = database_->db();
  db->GetIntProperty(database_->memos(), rocksdb::DB::Properties::kNumEntriesActiveMemTable, &entries);
  if (entries == 0) return {};
  rocksdb::FlushOptions options;
  options.wait = false;
  const rocksdb::Status status = db->Flush(options, database_->memos());
  return status.ok() ? Status() : DatabaseError("cannot write the memos into a table", status);
}

Result<size_t> RocksDbStore::SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                                      std::span<SaveResult> results) {
  if (options_.read_only) return ReadOnlyError();
  RocksDbEdit edit(*database_, next_serial_);
  // Copied to `results` only after the batch is written.
  std::vector<SaveResult> planned(results.begin(), results.end());
  Result<size_t> settled = SavePlan(edit, options_.own_urls, now_seconds, most).Add(events, planned);
  if (!settled.ok()) return settled.status();
  rocksdb::WriteBatch* batch = edit.Finish();
  if (batch->Count() > 0) {
    // The serials of a write that failed are not used again, because the write may be in the log nevertheless.
    next_serial_ = edit.next_serial();
    const uint64_t before = events_;
    const Counters after{.events = before + edit.added() - std::min(before + edit.added(), edit.removed()),
                         .last_serial = edit.next_serial() - 1};
    if (std::ranges::any_of(planned, &SaveResult::vanishes)) {
      owes_vanishing_ = true;
      if (vanishing_) vanishing_->NoteRequest();
    }
    if (Status written = Write(batch, after, Synced::kAsSet); !written.ok()) return written;
  }
  std::ranges::copy(planned, results.begin());
  return settled;
}

Result<OwedPiece> RocksDbStore::RemoveVanished(Work most) {
  Result<OwedPiece> done = DoPiece(&vanishing_, [most](Vanishing& job) { return job.Next(most); });
  if (done.ok() && !done.value().more) owes_vanishing_ = false;
  return done;
}

Result<OwedPiece> RocksDbStore::RemoveExpired(uint64_t now_seconds, Work most) {
  return DoPiece(&expiry_, [&](Expiry& job) { return job.Next(now_seconds, most); });
}

// Does not sync the piece: a caller that must remove all events does so again after a crash.
Result<OwedPiece> RocksDbStore::RemoveAuthor(const PublicKey& author, std::string* resume, Work most) {
  if (options_.read_only) return ReadOnlyError();
  std::string next = *resume;
  Result<RemovalPiece> piece = PieceOfAuthor(*database_, author, most, &next);
  if (!piece.ok()) return piece.status();
  if (Status written = WriteRemovals(&piece.value(), Synced::kNever); !written.ok()) return written;
  *resume = std::move(next);
  return OwedPiece{.removed = piece.value().removals.events(), .more = piece.value().more};
}

// Does not sync the piece: if a crash undoes it, the next start makes it again.
Result<OwedPiece> RocksDbStore::BuildSearch(Work most) {
  SearchIndex* const index = database_->search();
  if (index == nullptr || index->unbuilt() == 0) return OwedPiece{};
  if (options_.read_only) return ReadOnlyError();
  rocksdb::WriteBatch batch;
  const Result<SearchPiece> piece = NextPiece(*database_, *index, most, &batch);
  if (!piece.ok()) return piece.status();
  Status written = Write(&batch, {.events = events_, .last_serial = last_serial_}, Synced::kNever);
  if (!written.ok()) return written;
  index->SetUnbuilt(piece.value().unbuilt);
  if (piece.value().unbuilt == 0) spdlog::info("search: the index of words has all events");
  return OwedPiece{.removed = piece.value().events, .more = piece.value().unbuilt > 0};
}

Work RocksDbStore::SearchWork(EventView event) const {
  const SearchIndex* const index = database_->search();
  return index == nullptr ? 0 : index->SavingWork(event);
}

Status RocksDbStore::WriteMemos(std::span<const Memo> changes) {
  if (options_.read_only) return ReadOnlyError();
  rocksdb::WriteBatch batch;
  for (const Memo& memo : changes) {
    const std::string key = std::string(kMemoPrefix) + memo.name;
    memo.text ? batch.Put(database_->memos(), key, *memo.text) : batch.Delete(database_->memos(), key);
  }
  return Write(&batch, {.events = events_, .last_serial = last_serial_}, Synced::kAlways);
}

Result<uint64_t> RocksDbStore::ReadMemos(uint64_t after, const std::function<void(const Memo& memo)>& visit) const {
  constexpr uint64_t kOnlyRevision = 1;
  if (after >= kOnlyRevision) return after;
  const std::unique_ptr<rocksdb::Iterator> at(database_->db()->NewIterator({}, database_->memos()));
  for (at->Seek(ToSlice(kMemoPrefix)); at->Valid() && ToView(at->key()).starts_with(kMemoPrefix); at->Next())
    visit({std::string(ToView(at->key()).substr(kMemoPrefix.size())), at->value().ToString()});
  if (!at->status().ok()) return DatabaseError("cannot read the memos", at->status());
  return kOnlyRevision;
}

Result<std::vector<bool>> RocksDbStore::Stored(std::span<const EventId> ids) const {
  KeyLookup lookup;
  for (const EventId& id : ids) lookup.Add(IdKey(id));
  if (Status found = lookup.Run(*database_, database_->index(), {}); !found.ok()) return found;
  std::vector<bool> stored(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) stored[i] = lookup.Value(i).has_value();
  return stored;
}

Result<std::vector<bool>> RocksDbStore::StoredSigned(std::span<const EventView> events) const {
  KeyLookup lookup;
  for (const EventView event : events) lookup.Add(IdKey(event.id()));
  if (Status found = lookup.Run(*database_, database_->index(), {}); !found.ok()) return found;
  std::vector<bool> stored(events.size());
  std::string record;
  for (size_t i = 0; i < events.size(); ++i) {
    IndexEntry entry;
    if (const auto value = lookup.Value(i); !value || !ReadIdValue(*value, &entry)) continue;
    const Result<bool> found = ReadRecord(*database_, entry.serial, &record);
    if (!found.ok()) return found.status();
    stored[i] = found.value() && EventView(record).signature() == events[i].signature();
  }
  return stored;
}

std::unique_ptr<Query> RocksDbStore::Find(std::vector<Filter> filters, const QueryOptions& options) const {
  if (std::ranges::any_of(filters, [](const Filter& filter) { return filter.search.has_value(); }))
    return std::make_unique<SearchQuery>(*database_, std::move(filters), options);
  if (IdQuery::CanAnswer(filters, options)) return std::make_unique<IdQuery>(*database_, std::move(filters), options);
  return std::make_unique<StoreQuery>(*database_, std::move(filters), options);
}

// Syncs only the last write, which syncs those before it, too.
Result<OwedPiece> RocksDbStore::DeleteSome(std::span<const EventId>* ids, Work most) {
  if (options_.read_only) return ReadOnlyError();
  std::span<const EventId> left = *ids;
  Result<RemovalPiece> piece = PieceOfIds(*database_, most, &left);
  if (!piece.ok()) return piece.status();
  if (Status written = WriteRemovals(&piece.value(), left.empty() ? Synced::kAsSet : Synced::kNever); !written.ok())
    return written;
  *ids = left;
  return OwedPiece{.removed = piece.value().removals.events(), .more = piece.value().more};
}

Result<Moment> RocksDbStore::Now() const {
  Moment now;
  now.Advance({.number = last_serial_});
  return now;
}

Status RocksDbStore::ScanAll(const Moment& after, const Moment& until,
                             const std::function<bool(Serial serial, EventView event)>& visit) const {
  const Database& database = *database_;
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  // Reads ahead no more than about the range needs: an event has 1 KiB or less.
  const uint64_t serials = until.NumberOf(0) - std::min(after.NumberOf(0), until.NumberOf(0));
  options.readahead_size = std::min<uint64_t>(serials, 1 << 10) << 10;
  const std::unique_ptr<rocksdb::Iterator> at(database.db()->NewIterator(options, database.events()));
  for (at->Seek(ToSlice(EventKey(after.NumberOf(0) + 1))); at->Valid(); at->Next()) {
    const std::string_view record = ToView(at->value());
    if (at->key().size() != 8 || !EventView::WellFormed(record))
      return Status::Error("a stored event is damaged; `weir check` says more");
    const Serial serial{.number = ReadNumber(at->key().data(), 8)};
    if (!until.Has(serial) || !visit(serial, EventView(record))) return {};
  }
  return at->status().ok() ? Status() : DatabaseError("cannot read the events", at->status());
}

Status RocksDbStore::Flush() {
  if (options_.read_only) return {};
  const rocksdb::Status status = database_->db()->Flush(rocksdb::FlushOptions(), database_->families());
  return status.ok() ? Status() : DatabaseError("cannot write what is in memory", status);
}

Status RocksDbStore::Sync() const {
  if (options_.read_only || options_.settings.sync == SyncMode::kBatch) return {};
  const rocksdb::Status status = database_->db()->SyncWAL();
  return status.ok() ? Status() : DatabaseError("cannot write the log to disk", status);
}

std::string RocksDbStore::loss() const { return database_->loss(); }

// Counts the tables and the memtables. The memtables stand for the log, which has the same entries.
StoreSizes RocksDbStore::Sizes() const {
  rocksdb::DB* const db = database_->db();
  uint64_t disk_bytes = 0;
  for (rocksdb::ColumnFamilyHandle* family : database_->families()) {
    for (const std::string& part :
         {rocksdb::DB::Properties::kLiveSstFilesSize, rocksdb::DB::Properties::kCurSizeAllMemTables}) {
      uint64_t bytes = 0;
      if (db->GetIntProperty(family, part, &bytes)) disk_bytes += bytes;
    }
  }
  StoreSizes sizes{.events = events_, .disk_bytes = disk_bytes, .damaged_reads = database_->damaged_reads()};
  if (const SearchIndex* const index = database_->search()) {
    sizes.unsearched = std::min<uint64_t>(index->unbuilt(), events_);
    db->GetIntProperty(database_->search_family(), rocksdb::DB::Properties::kLiveSstFilesSize, &sizes.search_bytes);
  }
  return sizes;
}

// Each deletion of a key hides one older entry of the same key, because a key is put once and deleted once. So of the
// entries that tables hold, as many are dead as there are deletions in tables and memtables. A table whose properties
// RocksDB has not read since the start counts as having no deletions.
uint64_t RocksDbStore::RemovedBytes() const {
  rocksdb::DB* const db = database_->db();
  double removed = 0;
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (rocksdb::ColumnFamilyHandle* family : {database_->events(), database_->index(), database_->search_family()}) {
    if (family == nullptr) continue;
    double bytes = 0;
    double puts = 0;
    double deletions = 0;
    for (const rocksdb::LiveFileMetaData& file : files) {
      if (file.column_family_name != family->GetName() || file.num_entries == 0) continue;
      bytes += static_cast<double>(file.size);
      puts += static_cast<double>(file.num_entries - std::min(file.num_entries, file.num_deletions));
      deletions += static_cast<double>(file.num_deletions);
    }
    for (const std::string& part :
         {rocksdb::DB::Properties::kNumDeletesActiveMemTable, rocksdb::DB::Properties::kNumDeletesImmMemTables}) {
      uint64_t count = 0;
      if (db->GetIntProperty(family, part, &count)) deletions += static_cast<double>(count);
    }
    if (puts > 0) removed += bytes * std::min(1.0, deletions / puts);
  }
  return static_cast<uint64_t>(removed);
}

std::vector<uint64_t> RocksDbStore::CachedRecords() const { return database_->record_cache().Serials(); }

std::unique_ptr<ReadAhead> RocksDbStore::NewReadAhead(std::vector<uint64_t> serials) const {
  return std::make_unique<ReadAhead>(*database_, std::move(serials));
}

rocksdb::DB* RocksDbStore::db() const { return database_->db(); }
const std::vector<rocksdb::ColumnFamilyHandle*>& RocksDbStore::families() const { return database_->families(); }
const PreparedRocksDb& RocksDbStore::prepared() const { return database_->prepared(); }

}  // namespace weir
