// ThrottledWrites<Base>: a database whose writes ask a limiter. Base is a rocksdb::StackableDB: that class itself, or
// TransactionDB or OptimisticTransactionDB. Programs use the three classes made of it (throttled_db.h,
// throttled_transaction_db.h).
//
// Every function that writes asks first (WriteAsker), then calls the same function of the database below; reads and
// maintenance call it directly. The cost of a write is the bytes of its keys and values; of a WriteBatch, its size; of
// an ingestion, the sizes of the files. The creation of a family by import does not ask: its files keep their levels,
// so no backlog grows.
//
// Threads: as in RocksDB.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "monitors/rocksdb_version.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/stackable_db.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "throttle/rocksdb/rocksdb_throttle.h"
#include "throttle/rocksdb/throttled_asker.h"

namespace weir {

struct ThrottledDbOptions {
  WriteRules writes;
  LimiterSettings limiter;
  RocksDbMonitorSettings monitor;
};

template <typename Base>
class ThrottledWrites : public Base {
 public:
  using Families = std::vector<rocksdb::ColumnFamilyHandle*>;
  using Family = rocksdb::ColumnFamilyHandle;
  using PinnableSlice = rocksdb::PinnableSlice;
  using ReadOptions = rocksdb::ReadOptions;
  using Slice = rocksdb::Slice;
  using Status = rocksdb::Status;
  using WriteOptions = rocksdb::WriteOptions;

  // Returns null if the program made the limiter itself.
  RocksDbThrottle* throttle() { return throttle_.get(); }

  using Base::Put;
  Status Put(const WriteOptions& o, Family* f, const Slice& key, const Slice& value) override {
    return Asked(o, f, key.size() + value.size(), [&] { return this->db_->Put(o, f, key, value); });
  }
  Status Put(const WriteOptions& o, Family* f, const Slice& key, const Slice& ts, const Slice& value) override {
    return Asked(o, f, key.size() + ts.size() + value.size(), [&] { return this->db_->Put(o, f, key, ts, value); });
  }

  using Base::PutEntity;
  Status PutEntity(const WriteOptions& o, Family* f, const Slice& key, const rocksdb::WideColumns& columns) override {
    return Asked(o, f, key.size() + BytesOf(columns), [&] { return this->db_->PutEntity(o, f, key, columns); });
  }
#if WEIR_ROCKSDB_FROM(8, 9)
  Status PutEntity(const WriteOptions& o, const Slice& key, const rocksdb::AttributeGroups& groups) override {
    uint64_t bytes = 0;
    bool bulk = !groups.empty();
    for (const rocksdb::AttributeGroup& group : groups) {
      bytes += key.size() + BytesOf(group.columns());
      bulk = bulk && asker_.IsBulkFamily(group.column_family());
    }
    const WorkClass c = bulk ? WorkClass::kBulk : asker_.ClassOf(o);
    return AskedAs(c, o, bytes, [&] { return this->db_->PutEntity(o, key, groups); });
  }
#endif

  using Base::Delete;
  Status Delete(const WriteOptions& o, Family* f, const Slice& key) override {
    return Asked(o, f, key.size(), [&] { return this->db_->Delete(o, f, key); });
  }
  Status Delete(const WriteOptions& o, Family* f, const Slice& key, const Slice& ts) override {
    return Asked(o, f, key.size() + ts.size(), [&] { return this->db_->Delete(o, f, key, ts); });
  }

  using Base::SingleDelete;
  Status SingleDelete(const WriteOptions& o, Family* f, const Slice& key) override {
    return Asked(o, f, key.size(), [&] { return this->db_->SingleDelete(o, f, key); });
  }
  Status SingleDelete(const WriteOptions& o, Family* f, const Slice& key, const Slice& ts) override {
    return Asked(o, f, key.size() + ts.size(), [&] { return this->db_->SingleDelete(o, f, key, ts); });
  }

  using Base::DeleteRange;
  Status DeleteRange(const WriteOptions& o, Family* f, const Slice& begin, const Slice& end) override {
    return Asked(o, f, begin.size() + end.size(), [&] { return this->db_->DeleteRange(o, f, begin, end); });
  }
  Status DeleteRange(const WriteOptions& o, Family* f, const Slice& begin, const Slice& end, const Slice& ts) override {
    return Asked(o, f, begin.size() + end.size() + ts.size(),
                 [&] { return this->db_->DeleteRange(o, f, begin, end, ts); });
  }

  using Base::Merge;
  Status Merge(const WriteOptions& o, Family* f, const Slice& key, const Slice& value) override {
    return Asked(o, f, key.size() + value.size(), [&] { return this->db_->Merge(o, f, key, value); });
  }
  Status Merge(const WriteOptions& o, Family* f, const Slice& key, const Slice& ts, const Slice& value) override {
    return Asked(o, f, key.size() + ts.size() + value.size(), [&] { return this->db_->Merge(o, f, key, ts, value); });
  }

  using Base::Write;
  Status Write(const WriteOptions& o, rocksdb::WriteBatch* batch) override {
    return asker_.Write(o, batch, [&](rocksdb::WriteBatch* piece) { return this->db_->Write(o, piece); });
  }
#if WEIR_ROCKSDB_FROM(9, 4)
  // The batch stays whole, because the callback is called once for it.
  Status WriteWithCallback(const WriteOptions& o, rocksdb::WriteBatch* batch,
                           rocksdb::UserWriteCallback* callback) override {
    if (batch == nullptr) return this->db_->WriteWithCallback(o, batch, callback);
    return AskedAs(asker_.ClassOf(o, *batch), o, batch->GetDataSize(),
                   [&] { return this->db_->WriteWithCallback(o, batch, callback); });
  }
#endif
#if WEIR_ROCKSDB_FROM(10, 2)
  Status IngestWriteBatchWithIndex(const WriteOptions& o, std::shared_ptr<rocksdb::WriteBatchWithIndex> wbwi) override {
    if (wbwi == nullptr) return this->db_->IngestWriteBatchWithIndex(o, wbwi);
    const rocksdb::WriteBatch& batch = *wbwi->GetWriteBatch();
    return AskedAs(asker_.ClassOf(o, batch), o, batch.GetDataSize(),
                   [&] { return this->db_->IngestWriteBatchWithIndex(o, wbwi); });
  }
#endif

  using Base::IngestExternalFile;
  Status IngestExternalFile(Family* f, const std::vector<std::string>& files,
                            const rocksdb::IngestExternalFileOptions& options) override {
    return Asked({}, f, SizeOf(files), [&] { return this->db_->IngestExternalFile(f, files, options); });
  }
  using Base::IngestExternalFiles;
  Status IngestExternalFiles(const std::vector<rocksdb::IngestExternalFileArg>& args) override {
    return AskedAs(ClassOf(args), {}, SizeOf(args), [&] { return this->db_->IngestExternalFiles(args); });
  }
#if WEIR_ROCKSDB_FROM(11, 5)
  // The commit of the handle does not ask again.
  using Base::PrepareFileIngestion;
  Status PrepareFileIngestion(const std::vector<rocksdb::IngestExternalFileArg>& args,
                              std::unique_ptr<rocksdb::FileIngestionHandle>* handle) override {
    return AskedAs(ClassOf(args), {}, SizeOf(args), [&] { return this->db_->PrepareFileIngestion(args, handle); });
  }
#endif

  // A new family is measured from now on, and is bulk at once if WriteRules::bulk_families names it. One that the
  // monitor refuses (CheckCompaction) is not measured.
  Status CreateColumnFamily(const rocksdb::ColumnFamilyOptions& options, const std::string& name,
                            Family** handle) override {
    return Learned(handle, this->db_->CreateColumnFamily(options, name, handle));
  }
  Status CreateColumnFamilies(const rocksdb::ColumnFamilyOptions& options, const std::vector<std::string>& names,
                              Families* handles) override {
    const Status created = this->db_->CreateColumnFamilies(options, names, handles);
    return Learned(*handles, created);
  }
  Status CreateColumnFamilies(const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                              Families* handles) override {
    const Status created = this->db_->CreateColumnFamilies(families, handles);
    return Learned(*handles, created);
  }
  using Base::CreateColumnFamilyWithImport;
  Status CreateColumnFamilyWithImport(const rocksdb::ColumnFamilyOptions& options, const std::string& name,
                                      const rocksdb::ImportColumnFamilyOptions& import,
                                      const rocksdb::ExportImportFilesMetaData& files, Family** handle) override {
    return Learned(handle, this->db_->CreateColumnFamilyWithImport(options, name, import, files, handle));
  }
#if WEIR_ROCKSDB_FROM(8, 4)
  Status CreateColumnFamilyWithImport(const rocksdb::ColumnFamilyOptions& options, const std::string& name,
                                      const rocksdb::ImportColumnFamilyOptions& import,
                                      const std::vector<const rocksdb::ExportImportFilesMetaData*>& files,
                                      Family** handle) override {
    return Learned(handle, this->db_->CreateColumnFamilyWithImport(options, name, import, files, handle));
  }
#endif
  Status DropColumnFamily(Family* family) override { return DropColumnFamilies({family}); }
  Status DropColumnFamilies(const Families& families) override {
    for (Family* family : families) Forget(family);
    Status dropped = this->db_->DropColumnFamilies(families);
    if (!dropped.ok()) Learn(families);
    return dropped;
  }
  // The monitor stops using a family by itself when its handle is destroyed, and the database when it is closed.
  Status Close() override {
    if (throttle_ != nullptr) throttle_->limiter().Stop();
    Status closed = this->db_->Close();
    // The database stays open while a snapshot is not released.
    if (closed.IsAborted() && throttle_ != nullptr) throttle_->limiter().Start();
    return closed;
  }

  // The StackableDB of some versions does not pass these on.
  Status Resume() override { return this->db_->Resume(); }
  using Base::GetStatsHistory;
  Status GetStatsHistory(uint64_t begin, uint64_t end,
                         std::unique_ptr<rocksdb::StatsHistoryIterator>* iterator) override {
    return this->db_->GetStatsHistory(begin, end, iterator);
  }
  void GetAllColumnFamilyMetaData(std::vector<rocksdb::ColumnFamilyMetaData>* metadata) override {
    this->db_->GetAllColumnFamilyMetaData(metadata);
  }
#if !WEIR_ROCKSDB_FROM(9, 0)
  using Base::Get;
  Status Get(const ReadOptions& o, Family* f, const Slice& key, PinnableSlice* value, std::string* ts) override {
    return this->db_->Get(o, f, key, value, ts);
  }
  using Base::MultiGet;
  std::vector<Status> MultiGet(const ReadOptions& o, const Families& families, const std::vector<Slice>& keys,
                               std::vector<std::string>* values, std::vector<std::string>* ts) override {
    return this->db_->MultiGet(o, families, keys, values, ts);
  }
  void MultiGet(const ReadOptions& o, Family* f, size_t n, const Slice* keys, PinnableSlice* values, std::string* ts,
                Status* statuses, bool sorted = false) override {
    this->db_->MultiGet(o, f, n, keys, values, ts, statuses, sorted);
  }
  void MultiGet(const ReadOptions& o, size_t n, Family** families, const Slice* keys, PinnableSlice* values,
                Status* statuses, bool sorted = false) override {
    this->db_->MultiGet(o, n, families, keys, values, statuses, sorted);
  }
  void MultiGet(const ReadOptions& o, size_t n, Family** families, const Slice* keys, PinnableSlice* values,
                std::string* ts, Status* statuses, bool sorted = false) override {
    this->db_->MultiGet(o, n, families, keys, values, ts, statuses, sorted);
  }
#endif
#if WEIR_ROCKSDB_FROM(8, 9) && !WEIR_ROCKSDB_FROM(9, 2)
  using Base::GetEntity;
  Status GetEntity(const ReadOptions& o, const Slice& key, rocksdb::PinnableAttributeGroups* groups) override {
    return this->db_->GetEntity(o, key, groups);
  }
  using Base::MultiGetEntity;
  void MultiGetEntity(const ReadOptions& o, size_t n, const Slice* keys,
                      rocksdb::PinnableAttributeGroups* groups) override {
    this->db_->MultiGetEntity(o, n, keys, groups);
  }
#endif

 protected:
  // Asks a limiter that the caller owns and that must outlive this object.
  ThrottledWrites(std::unique_ptr<rocksdb::DB> db, AdaptiveLimiter& limiter, const WriteRules& rules,
                  const Families& handles)
      : Base(ForBase(std::move(db))), asker_(limiter, rules) {
    for (Family* family : handles) asker_.Learn(family);
  }
  // Asks the throttle of this database, whose monitor knows the handles.
  ThrottledWrites(std::unique_ptr<rocksdb::DB> db, std::unique_ptr<RocksDbThrottle> throttle, const Families& handles,
                  const WriteRules& rules)
      : Base(ForBase(std::move(db))), asker_(throttle->limiter(), rules), throttle_(std::move(throttle)) {
    asker_.Learn(this->DefaultColumnFamily());  // `handles` may be empty
    for (Family* family : handles) asker_.Learn(family);
  }

  // Prepares the options, opens the database by `open(prepared options…, &db)`, and attaches a throttle to it.
  template <typename Throttled, typename Opened, typename Open>
  static Status OpenPrepared(rocksdb::Options options, uint64_t memory_target_bytes, const ThrottledDbOptions& o,
                             std::unique_ptr<Throttled>* db, Open open) {
    const Result<PreparedRocksDb> prepared =
        PrepareRocksDb(memory_target_bytes, &options, {.brakes = BrakesFor(o.limiter)});
    if (!prepared.ok()) return Status::InvalidArgument(prepared.status().message());
    std::unique_ptr<Opened> opened;
    if (Status s = open(options, &opened); !s.ok()) return s;
    return Throttled::Wrap(std::move(opened), prepared.value(), {}, db, o);
  }
  template <typename Throttled, typename Opened, typename Open>
  static Status OpenPrepared(rocksdb::DBOptions options, std::vector<rocksdb::ColumnFamilyDescriptor> families,
                             uint64_t memory_target_bytes, const ThrottledDbOptions& o, Families* handles,
                             std::unique_ptr<Throttled>* db, Open open) {
    const Result<PreparedRocksDb> prepared =
        PrepareRocksDb(memory_target_bytes, &options, &families, {.brakes = BrakesFor(o.limiter)});
    if (!prepared.ok()) return Status::InvalidArgument(prepared.status().message());
    std::unique_ptr<Opened> opened;
    if (Status s = open(options, families, &opened); !s.ok()) return s;
    Status wrapped = Throttled::Wrap(std::move(opened), prepared.value(), *handles, db, o);
    if (!wrapped.ok()) {
      for (Family* handle : *handles) opened->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
      handles->clear();
    }
    return wrapped;
  }
  // Attaches a throttle to an open database. `db` keeps the database if the status is not OK.
  template <typename Throttled, typename Opened>
  static Status WrapPrepared(std::unique_ptr<Opened>&& db, const PreparedRocksDb& prepared, const Families& handles,
                             std::unique_ptr<Throttled>* throttled, const ThrottledDbOptions& o) {
    auto throttle =
        RocksDbThrottle::Attach(db.get(), prepared, {.handles = handles, .monitor = o.monitor, .limiter = o.limiter});
    if (!throttle.ok()) return Status::InvalidArgument(throttle.status().message());
    throttled->reset(new Throttled(std::move(db), std::move(throttle.value()), handles, o.writes));
    return Status::OK();
  }

  WriteAsker& asker() { return asker_; }

 private:
  static EngineBrakes BrakesFor(const LimiterSettings& limiter) {
    return limiter.ReplacesBrakes() ? EngineBrakes::kMoved : EngineBrakes::kAsSet;
  }
  // The bases of different versions take the ownership of the database in different ways.
  static auto ForBase(std::unique_ptr<rocksdb::DB> db) {
#if WEIR_ROCKSDB_FROM(11, 0)
    if constexpr (std::is_same_v<Base, rocksdb::OptimisticTransactionDB>) {
      return db;
    } else {
      return db.release();
    }
#else
    return db.release();
#endif
  }

  template <typename DoWrite>
  Status Asked(const WriteOptions& o, Family* family, uint64_t bytes, DoWrite write) {
    return AskedAs(asker_.ClassOf(o, family), o, bytes, write);
  }
  template <typename DoWrite>
  Status AskedAs(WorkClass work_class, const WriteOptions& o, uint64_t bytes, DoWrite write) {
    Status asked = asker_.Ask(bytes, work_class, o);
    return asked.ok() ? write() : asked;
  }
  void Learn(const Families& families) {
    for (Family* family : families) {
      asker_.Learn(family);
      if (throttle_ != nullptr) (void)throttle_->AddFamily(family);
    }
  }
  Status Learned(Family* const* created, const Status& status) {
    if (status.ok()) Learn({*created});
    return status;
  }
  // Even after an error, some families may have been created.
  Status Learned(const Families& created, const Status& status) {
    Learn(created);
    return status;
  }
  void Forget(Family* family) {
    if (throttle_ != nullptr) (void)throttle_->RemoveFamily(family);
  }

  // A file whose size cannot be read costs nothing here; RocksDB then fails to ingest it and says why.
  uint64_t SizeOf(const std::vector<std::string>& files) {
    uint64_t bytes = 0;
    for (const std::string& file : files) {
      uint64_t size = 0;
      if (this->db_->GetEnv()->GetFileSize(file, &size).ok()) bytes += size;
    }
    return bytes;
  }
  uint64_t SizeOf(const std::vector<rocksdb::IngestExternalFileArg>& args) {
    uint64_t bytes = 0;
    for (const rocksdb::IngestExternalFileArg& arg : args) bytes += SizeOf(arg.external_files);
    return bytes;
  }
  // An ingestion is bulk work if its thread is, or if all its families are.
  WorkClass ClassOf(const std::vector<rocksdb::IngestExternalFileArg>& args) {
    bool bulk = !args.empty();
    for (const rocksdb::IngestExternalFileArg& arg : args) bulk = bulk && asker_.IsBulkFamily(arg.column_family);
    return bulk ? WorkClass::kBulk : asker_.ClassOf({});
  }

  WriteAsker asker_;
  std::unique_ptr<RocksDbThrottle> throttle_;  // ends before the base closes the database
};

}  // namespace weir
