// ThrottledTransactionDb and ThrottledOptimisticTransactionDb: a TransactionDB and an OptimisticTransactionDB whose
// writes and transactions ask the throttle by themselves, as those of a ThrottledDb do (throttled_db.h).
//
//   std::unique_ptr<weir::ThrottledTransactionDb> db;  // is a rocksdb::TransactionDB
//   rocksdb::Status s = weir::ThrottledTransactionDb::Open(options, {}, path, 1400ull << 20, &db);
//   std::unique_ptr<rocksdb::Transaction> txn(db->BeginTransaction({}));
//   s = txn->Put("key", "value");  // asks before its first lock; a refusal is Status::Busy, like a conflict
//   if (s.ok()) s = txn->Commit();
//
// No transaction waits for its turn with locks held; throttled_transaction.h says when it asks, and for how much. A
// TransactionDB that was opened by TransactionDB::WrapDB is given to Wrap.
#pragma once

#include "throttle/rocksdb/throttled_transaction.h"
#include "throttle/rocksdb/throttled_writes.h"

namespace weir {

class ThrottledTransactionDb final : public ThrottledWrites<rocksdb::TransactionDB> {
 public:
  using Options = ThrottledDbOptions;

  // These mean the same as in ThrottledDb.
  static rocksdb::Status Open(const rocksdb::Options& options, const rocksdb::TransactionDBOptions& transactions,
                              const std::string& path, uint64_t memory_target_bytes,
                              std::unique_ptr<ThrottledTransactionDb>* db, const Options& throttled = {});
  static rocksdb::Status Open(const rocksdb::DBOptions& options, const rocksdb::TransactionDBOptions& transactions,
                              const std::string& path, const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                              Families* handles, uint64_t memory_target_bytes,
                              std::unique_ptr<ThrottledTransactionDb>* db, const Options& throttled = {});
  static rocksdb::Status Wrap(std::unique_ptr<rocksdb::TransactionDB>&& db, const PreparedRocksDb& prepared,
                              const Families& handles, std::unique_ptr<ThrottledTransactionDb>* throttled,
                              const Options& options = {});
  ThrottledTransactionDb(std::unique_ptr<rocksdb::TransactionDB> db, AdaptiveLimiter& limiter,
                         const WriteRules& rules = {}, const Families& handles = {})
      : ThrottledWrites(std::move(db), limiter, rules, handles) {}
  // Deletes the named transactions that neither ended nor were deleted, as RocksDB does.
  ~ThrottledTransactionDb() override;

  using ThrottledWrites::Write;
  Status Write(const WriteOptions& o, const rocksdb::TransactionDBWriteOptimizations& optimizations,
               rocksdb::WriteBatch* batch) override {
    return asker().Write(o, batch, [&](rocksdb::WriteBatch* piece) { return below().Write(o, optimizations, piece); });
  }
  rocksdb::Transaction* BeginTransaction(const WriteOptions& o, const rocksdb::TransactionOptions& transaction = {},
                                         rocksdb::Transaction* old = nullptr) override;
  rocksdb::Transaction* GetTransactionByName(const rocksdb::TransactionName& name) override;
  void GetAllPreparedTransactions(std::vector<rocksdb::Transaction*>* transactions) override;

  std::unordered_multimap<uint32_t, rocksdb::KeyLockInfo> GetLockStatusData() override {
    return below().GetLockStatusData();
  }
  std::vector<rocksdb::DeadlockPath> GetDeadlockInfoBuffer() override { return below().GetDeadlockInfoBuffer(); }
  void SetDeadlockInfoBufferSize(uint32_t size) override { below().SetDeadlockInfoBufferSize(size); }
  std::pair<Status, std::shared_ptr<const rocksdb::Snapshot>> CreateTimestampedSnapshot(
      rocksdb::TxnTimestamp ts) override {
    return below().CreateTimestampedSnapshot(ts);
  }
  std::shared_ptr<const rocksdb::Snapshot> GetTimestampedSnapshot(rocksdb::TxnTimestamp ts) const override {
    return below().GetTimestampedSnapshot(ts);
  }
  void ReleaseTimestampedSnapshotsOlderThan(rocksdb::TxnTimestamp ts) override {
    below().ReleaseTimestampedSnapshotsOlderThan(ts);
  }
  Status GetTimestampedSnapshots(rocksdb::TxnTimestamp from, rocksdb::TxnTimestamp to,
                                 std::vector<std::shared_ptr<const rocksdb::Snapshot>>& snapshots) const override {
    return below().GetTimestampedSnapshots(from, to, snapshots);
  }

 private:
  friend class ThrottledWrites<rocksdb::TransactionDB>;
  using ThrottledWrites::ThrottledWrites;

  rocksdb::TransactionDB& below() const { return static_cast<rocksdb::TransactionDB&>(*db_); }

  NamedTransactions named_{asker()};
};

class ThrottledOptimisticTransactionDb final : public ThrottledWrites<rocksdb::OptimisticTransactionDB> {
 public:
  using Options = ThrottledDbOptions;

  // These mean the same as in ThrottledDb.
  static rocksdb::Status Open(const rocksdb::Options& options, const std::string& path, uint64_t memory_target_bytes,
                              std::unique_ptr<ThrottledOptimisticTransactionDb>* db, const Options& throttled = {});
  static rocksdb::Status Open(const rocksdb::DBOptions& options,
                              const rocksdb::OptimisticTransactionDBOptions& transactions, const std::string& path,
                              const std::vector<rocksdb::ColumnFamilyDescriptor>& families, Families* handles,
                              uint64_t memory_target_bytes, std::unique_ptr<ThrottledOptimisticTransactionDb>* db,
                              const Options& throttled = {});
  static rocksdb::Status Wrap(std::unique_ptr<rocksdb::OptimisticTransactionDB>&& db, const PreparedRocksDb& prepared,
                              const Families& handles, std::unique_ptr<ThrottledOptimisticTransactionDb>* throttled,
                              const Options& options = {});
  ThrottledOptimisticTransactionDb(std::unique_ptr<rocksdb::OptimisticTransactionDB> db, AdaptiveLimiter& limiter,
                                   const WriteRules& rules = {}, const Families& handles = {})
      : ThrottledWrites(std::move(db), limiter, rules, handles) {}

  rocksdb::Transaction* BeginTransaction(const WriteOptions& o,
                                         const rocksdb::OptimisticTransactionOptions& transaction = {},
                                         rocksdb::Transaction* old = nullptr) override;

 private:
  friend class ThrottledWrites<rocksdb::OptimisticTransactionDB>;
  using ThrottledWrites::ThrottledWrites;
};

}  // namespace weir
