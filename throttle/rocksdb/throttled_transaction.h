// ThrottledTransaction: a transaction of RocksDB that asks the limiter while it holds no lock. A transaction that waits
// for its turn with locks held makes all others that want these keys wait, and time out: 10 of 19 writers of one key
// did when each asked at its commit.
//
//  * AskAt::kFirstLock (TransactionDB): it asks before the operation that takes its first lock, for the bytes of that
//    operation. The rest, up to the size of its batch, it pays after Commit, when the locks are gone: this thread may
//    then wait once more, but is not refused. Prepare does not ask.
//  * AskAt::kCommit (OptimisticTransactionDB): it asks for the size of its batch when Commit is called, before Commit
//    validates or locks anything.
//
// After a refusal the operation has done nothing and may be tried again. A transaction asks once until it commits or
// rolls back. Its class is that of its WriteOptions, its thread, or the family of its first lock (kCommit, or if
// RocksDB recovered it: the families of its batch).
//
// Programs need not include this file. Threads: as rocksdb::Transaction, which one thread at a time may use.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/mutex.h"
#include "monitors/rocksdb_version.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "throttle/rocksdb/throttled_asker.h"

namespace weir {

enum class AskAt : uint8_t { kFirstLock, kCommit };

class ThrottledTransaction;

// Keeps the transactions with a name, by RocksDB's own object. RocksDB finds such a transaction again, by its name or
// as a prepared one, and a program must then get the object that it has already. Threads: any.
class NamedTransactions {
 public:
  explicit NamedTransactions(WriteAsker& asker) : asker_(asker) {}

  void Add(ThrottledTransaction* transaction);
  void Remove(ThrottledTransaction* transaction);
  // Returns the throttled transaction of `inner`; makes one if RocksDB recovered `inner` when it opened the database.
  ThrottledTransaction* Of(rocksdb::Transaction* inner);
  // Returns all that are left. Only for the destructor of the database.
  std::vector<ThrottledTransaction*> Left();

 private:
  WriteAsker& asker_;
  Mutex mutex_;
  std::unordered_map<rocksdb::Transaction*, ThrottledTransaction*> by_inner_ WEIR_GUARDED_BY(mutex_);
};

class ThrottledTransaction final : public rocksdb::Transaction {
 public:
  using Family = rocksdb::ColumnFamilyHandle;
  using Slice = rocksdb::Slice;
  using SliceParts = rocksdb::SliceParts;
  using Status = rocksdb::Status;
  using Statuses = std::vector<rocksdb::Status>;
  using ReadOptions = rocksdb::ReadOptions;

  // `named` knows this transaction if it has a name; null if it cannot have one.
  ThrottledTransaction(std::unique_ptr<rocksdb::Transaction> inner, WriteAsker& asker, AskAt ask_at,
                       NamedTransactions* named);
  ~ThrottledTransaction() override;

  rocksdb::Transaction* inner() const { return inner_.get(); }
  // For BeginTransaction with an old transaction. `begin` makes RocksDB begin again with its own object.
  template <typename Begin>
  void BeginAgain(Begin begin) {
    begin(inner_.get());
    Ended();
    CopyState();
  }

  void SetSnapshot() override { inner_->SetSnapshot(); }
  void SetSnapshotOnNextOperation(std::shared_ptr<rocksdb::TransactionNotifier> notifier) override {
    inner_->SetSnapshotOnNextOperation(std::move(notifier));
  }
  const rocksdb::Snapshot* GetSnapshot() const override { return inner_->GetSnapshot(); }
  std::shared_ptr<const rocksdb::Snapshot> GetTimestampedSnapshot() const override {
    return inner_->GetTimestampedSnapshot();
  }
  void ClearSnapshot() override { inner_->ClearSnapshot(); }

  Status Prepare() override { return Changed(inner_->Prepare()); }
  Status Commit() override;
  Status Rollback() override;
  void SetSavePoint() override { inner_->SetSavePoint(); }
  Status RollbackToSavePoint() override { return inner_->RollbackToSavePoint(); }
  Status PopSavePoint() override { return inner_->PopSavePoint(); }

  // Reads that lock nothing.
  Status Get(const ReadOptions& o, Family* f, const Slice& key, std::string* value) override {
    return inner_->Get(o, f, key, value);
  }
  Status Get(const ReadOptions& o, Family* f, const Slice& key, rocksdb::PinnableSlice* value) override {
    return inner_->Get(o, f, key, value);
  }
  Status Get(const ReadOptions& o, const Slice& key, std::string* value) override { return inner_->Get(o, key, value); }
  Status Get(const ReadOptions& o, const Slice& key, rocksdb::PinnableSlice* value) override {
    return inner_->Get(o, key, value);
  }
  Statuses MultiGet(const ReadOptions& o, const std::vector<Family*>& families, const std::vector<Slice>& keys,
                    std::vector<std::string>* values) override {
    return inner_->MultiGet(o, families, keys, values);
  }
  Statuses MultiGet(const ReadOptions& o, const std::vector<Slice>& keys, std::vector<std::string>* values) override {
    return inner_->MultiGet(o, keys, values);
  }
  void MultiGet(const ReadOptions& o, Family* f, size_t n, const Slice* keys, rocksdb::PinnableSlice* values,
                Status* statuses, bool sorted) override {
    inner_->MultiGet(o, f, n, keys, values, statuses, sorted);
  }
  rocksdb::Iterator* GetIterator(const ReadOptions& o) override { return inner_->GetIterator(o); }
  rocksdb::Iterator* GetIterator(const ReadOptions& o, Family* f) override { return inner_->GetIterator(o, f); }

  // Reads that lock. The base class passes their other overloads to these.
  using rocksdb::Transaction::GetForUpdate;
  Status GetForUpdate(const ReadOptions& o, Family* f, const Slice& key, std::string* value, bool exclusive,
                      bool validate) override {
    return Asked(f, key.size(), [&] { return inner_->GetForUpdate(o, f, key, value, exclusive, validate); });
  }
  Status GetForUpdate(const ReadOptions& o, Family* f, const Slice& key, rocksdb::PinnableSlice* value, bool exclusive,
                      bool validate) override {
    return Asked(f, key.size(), [&] { return inner_->GetForUpdate(o, f, key, value, exclusive, validate); });
  }
  Status GetForUpdate(const ReadOptions& o, const Slice& key, std::string* value, bool exclusive,
                      bool validate) override {
    return Asked(nullptr, key.size(), [&] { return inner_->GetForUpdate(o, key, value, exclusive, validate); });
  }
  Status GetRangeLock(Family* f, const rocksdb::Endpoint& begin, const rocksdb::Endpoint& end) override {
    return Asked(f, 0, [&] { return inner_->GetRangeLock(f, begin, end); });
  }
  Statuses MultiGetForUpdate(const ReadOptions& o, const std::vector<Family*>& families, const std::vector<Slice>& keys,
                             std::vector<std::string>* values) override;
  Statuses MultiGetForUpdate(const ReadOptions& o, const std::vector<Slice>& keys,
                             std::vector<std::string>* values) override;

  Status Put(Family* f, const Slice& key, const Slice& value, bool tracked) override {
    return Asked(f, key.size() + value.size(), [&] { return inner_->Put(f, key, value, tracked); });
  }
  Status Put(const Slice& key, const Slice& value) override {
    return Asked(nullptr, key.size() + value.size(), [&] { return inner_->Put(key, value); });
  }
  Status Put(Family* f, const SliceParts& key, const SliceParts& value, bool tracked) override {
    return Asked(f, SizeOf(key) + SizeOf(value), [&] { return inner_->Put(f, key, value, tracked); });
  }
  Status Put(const SliceParts& key, const SliceParts& value) override {
    return Asked(nullptr, SizeOf(key) + SizeOf(value), [&] { return inner_->Put(key, value); });
  }
  Status Merge(Family* f, const Slice& key, const Slice& value, bool tracked) override {
    return Asked(f, key.size() + value.size(), [&] { return inner_->Merge(f, key, value, tracked); });
  }
  Status Merge(const Slice& key, const Slice& value) override {
    return Asked(nullptr, key.size() + value.size(), [&] { return inner_->Merge(key, value); });
  }
  Status Delete(Family* f, const Slice& key, bool tracked) override {
    return Asked(f, key.size(), [&] { return inner_->Delete(f, key, tracked); });
  }
  Status Delete(const Slice& key) override {
    return Asked(nullptr, key.size(), [&] { return inner_->Delete(key); });
  }
  Status Delete(Family* f, const SliceParts& key, bool tracked) override {
    return Asked(f, SizeOf(key), [&] { return inner_->Delete(f, key, tracked); });
  }
  Status Delete(const SliceParts& key) override {
    return Asked(nullptr, SizeOf(key), [&] { return inner_->Delete(key); });
  }
  Status SingleDelete(Family* f, const Slice& key, bool tracked) override {
    return Asked(f, key.size(), [&] { return inner_->SingleDelete(f, key, tracked); });
  }
  Status SingleDelete(const Slice& key) override {
    return Asked(nullptr, key.size(), [&] { return inner_->SingleDelete(key); });
  }
  Status SingleDelete(Family* f, const SliceParts& key, bool tracked) override {
    return Asked(f, SizeOf(key), [&] { return inner_->SingleDelete(f, key, tracked); });
  }
  Status SingleDelete(const SliceParts& key) override {
    return Asked(nullptr, SizeOf(key), [&] { return inner_->SingleDelete(key); });
  }
  // These take a lock, too, although they do not validate.
  Status PutUntracked(Family* f, const Slice& key, const Slice& value) override {
    return Asked(f, key.size() + value.size(), [&] { return inner_->PutUntracked(f, key, value); });
  }
  Status PutUntracked(const Slice& key, const Slice& value) override {
    return Asked(nullptr, key.size() + value.size(), [&] { return inner_->PutUntracked(key, value); });
  }
  Status PutUntracked(Family* f, const SliceParts& key, const SliceParts& value) override {
    return Asked(f, SizeOf(key) + SizeOf(value), [&] { return inner_->PutUntracked(f, key, value); });
  }
  Status PutUntracked(const SliceParts& key, const SliceParts& value) override {
    return Asked(nullptr, SizeOf(key) + SizeOf(value), [&] { return inner_->PutUntracked(key, value); });
  }
  Status MergeUntracked(Family* f, const Slice& key, const Slice& value) override {
    return Asked(f, key.size() + value.size(), [&] { return inner_->MergeUntracked(f, key, value); });
  }
  Status MergeUntracked(const Slice& key, const Slice& value) override {
    return Asked(nullptr, key.size() + value.size(), [&] { return inner_->MergeUntracked(key, value); });
  }
  Status DeleteUntracked(Family* f, const Slice& key) override {
    return Asked(f, key.size(), [&] { return inner_->DeleteUntracked(f, key); });
  }
  Status DeleteUntracked(const Slice& key) override {
    return Asked(nullptr, key.size(), [&] { return inner_->DeleteUntracked(key); });
  }
  Status DeleteUntracked(Family* f, const SliceParts& key) override {
    return Asked(f, SizeOf(key), [&] { return inner_->DeleteUntracked(f, key); });
  }
  Status DeleteUntracked(const SliceParts& key) override {
    return Asked(nullptr, SizeOf(key), [&] { return inner_->DeleteUntracked(key); });
  }
  Status SingleDeleteUntracked(Family* f, const Slice& key) override {
    return Asked(f, key.size(), [&] { return inner_->SingleDeleteUntracked(f, key); });
  }
  Status SingleDeleteUntracked(const Slice& key) override {
    return Asked(nullptr, key.size(), [&] { return inner_->SingleDeleteUntracked(key); });
  }
  Status RebuildFromWriteBatch(rocksdb::WriteBatch* batch) override {
    return Asked(nullptr, batch->GetDataSize(), [&] { return inner_->RebuildFromWriteBatch(batch); });
  }

  void PutLogData(const Slice& blob) override { inner_->PutLogData(blob); }
  void DisableIndexing() override { inner_->DisableIndexing(); }
  void EnableIndexing() override { inner_->EnableIndexing(); }
  uint64_t GetNumKeys() const override { return inner_->GetNumKeys(); }
  uint64_t GetNumPuts() const override { return inner_->GetNumPuts(); }
  uint64_t GetNumDeletes() const override { return inner_->GetNumDeletes(); }
  uint64_t GetNumMerges() const override { return inner_->GetNumMerges(); }
  uint64_t GetElapsedTime() const override { return inner_->GetElapsedTime(); }
  rocksdb::WriteBatchWithIndex* GetWriteBatch() override { return inner_->GetWriteBatch(); }
  rocksdb::WriteBatch* GetCommitTimeWriteBatch() override { return inner_->GetCommitTimeWriteBatch(); }
  void SetLockTimeout(int64_t timeout_ms) override { inner_->SetLockTimeout(timeout_ms); }
  rocksdb::WriteOptions* GetWriteOptions() override { return inner_->GetWriteOptions(); }
  void SetWriteOptions(const rocksdb::WriteOptions& options) override { inner_->SetWriteOptions(options); }
  void UndoGetForUpdate(Family* f, const Slice& key) override { inner_->UndoGetForUpdate(f, key); }
  void UndoGetForUpdate(const Slice& key) override { inner_->UndoGetForUpdate(key); }

  void SetLogNumber(uint64_t log) override { inner_->SetLogNumber(log); }
  uint64_t GetLogNumber() const override { return inner_->GetLogNumber(); }
  Status SetName(const rocksdb::TransactionName& name) override;
  rocksdb::TransactionName GetName() const override { return inner_->GetName(); }
  rocksdb::TransactionID GetID() const override { return inner_->GetID(); }
  bool IsDeadlockDetect() const override { return inner_->IsDeadlockDetect(); }
  std::vector<rocksdb::TransactionID> GetWaitingTxns(uint32_t* family, std::string* key) const override {
    return inner_->GetWaitingTxns(family, key);
  }
  Status SetReadTimestampForValidation(rocksdb::TxnTimestamp ts) override {
    return inner_->SetReadTimestampForValidation(ts);
  }
  Status SetCommitTimestamp(rocksdb::TxnTimestamp ts) override { return inner_->SetCommitTimestamp(ts); }
  rocksdb::TxnTimestamp GetCommitTimestamp() const override { return inner_->GetCommitTimestamp(); }

#if WEIR_ROCKSDB_FROM(8, 7)
  Status CollapseKey(const ReadOptions& o, const Slice& key, Family* f) override {
    return Asked(f, key.size(), [&] { return inner_->CollapseKey(o, key, f); });
  }
#endif
#if WEIR_ROCKSDB_FROM(9, 3)
  Status GetEntity(const ReadOptions& o, Family* f, const Slice& key, rocksdb::PinnableWideColumns* columns) override {
    return inner_->GetEntity(o, f, key, columns);
  }
  void MultiGetEntity(const ReadOptions& o, Family* f, size_t n, const Slice* keys,
                      rocksdb::PinnableWideColumns* results, Status* statuses, bool sorted) override {
    inner_->MultiGetEntity(o, f, n, keys, results, statuses, sorted);
  }
  Status PutEntity(Family* f, const Slice& key, const rocksdb::WideColumns& columns, bool tracked) override {
    return Asked(f, key.size() + BytesOf(columns), [&] { return inner_->PutEntity(f, key, columns, tracked); });
  }
  Status PutEntityUntracked(Family* f, const Slice& key, const rocksdb::WideColumns& columns) override {
    return Asked(f, key.size() + BytesOf(columns), [&] { return inner_->PutEntityUntracked(f, key, columns); });
  }
  uint64_t GetNumPutEntities() const override { return inner_->GetNumPutEntities(); }
#endif
#if WEIR_ROCKSDB_FROM(9, 4)
  Status GetEntityForUpdate(const ReadOptions& o, Family* f, const Slice& key, rocksdb::PinnableWideColumns* columns,
                            bool exclusive, bool validate) override {
    return Asked(f, key.size(), [&] { return inner_->GetEntityForUpdate(o, f, key, columns, exclusive, validate); });
  }
#endif
#if WEIR_ROCKSDB_FROM(9, 8)
  std::unique_ptr<rocksdb::AttributeGroupIterator> GetAttributeGroupIterator(
      const ReadOptions& o, const std::vector<Family*>& families) override {
    return inner_->GetAttributeGroupIterator(o, families);
  }
#endif
#if WEIR_ROCKSDB_FROM(9, 9)
  std::unique_ptr<rocksdb::Iterator> GetCoalescingIterator(const ReadOptions& o,
                                                           const std::vector<Family*>& families) override {
    return inner_->GetCoalescingIterator(o, families);
  }
#endif
#if WEIR_ROCKSDB_FROM(10, 7)
  void SetDeadlockTimeout(int64_t timeout_ms) override { inner_->SetDeadlockTimeout(timeout_ms); }
#endif

 private:
  static uint64_t SizeOf(const SliceParts& parts);
  static uint64_t SizeOf(const std::vector<Slice>& keys);

  // Asks before the first lock, then does `operation`.
  template <typename Operation>
  Status Asked(Family* family, uint64_t bytes, Operation operation) {
    if (ask_at_ == AskAt::kFirstLock && !has_asked_) {
      const rocksdb::WriteOptions& options = *inner_->GetWriteOptions();
      if (Status s = Ask(bytes, asker_.ClassOf(options, family)); !s.ok()) return s;
    }
    return operation();
  }
  Status Ask(uint64_t bytes, WorkClass work_class);
  WorkClass ClassOfBatch() const;
  // Returns the bytes that Commit will write.
  uint64_t BatchBytes() const;
  // The next operation asks again.
  void Ended() {
    has_asked_ = false;
    asked_bytes_ = 0;
  }
  // Copies the state and the id of the inner transaction, which functions of the base class return that cannot be
  // overridden.
  void CopyState() {
    SetState(inner_->GetState());
    id_ = inner_->GetId();
  }
  Status Changed(Status status) {
    CopyState();
    return status;
  }

  std::unique_ptr<rocksdb::Transaction> inner_;
  WriteAsker& asker_;
  const AskAt ask_at_;
  NamedTransactions* const named_;
  bool is_named_ = false;  // `named_` knows it; it may still lack a name
  bool has_asked_ = false;
  uint64_t asked_bytes_ = 0;
  WorkClass class_ = WorkClass::kInteractive;  // the class for which it asked
};

}  // namespace weir
