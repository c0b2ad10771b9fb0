// WriteAsker: asks a limiter before each write to a RocksDB, in the calling thread. It decides what a write costs, to
// which class of work it belongs and what a refusal becomes. ThrottledDb, ThrottledTransactionDb and
// ThrottledOptimisticTransactionDb (throttled_db.h, throttled_transaction_db.h) share it.
//
//  * Class. A write is bulk work if its WriteOptions::low_pri is set, if its thread is inside a BulkThread
//    (throttled_marks.h), or if all its records belong to families of WriteRules::bulk_families. All other writes are
//    interactive.
//  * Wait. A write that may not pass yet waits in its thread, at most for the longest wait of its class. With
//    WriteOptions::no_slowdown it does not wait: it fails with Status::Incomplete, as it does in RocksDB.
//  * Refusal. A refused write fails with Status::Busy, which names the reason and the time after which to try again.
//    One that is too large to be admitted within the longest wait fails with Status::InvalidArgument: split it.
//    RefusedWrites::kPass makes both wait and pass instead; other writes then wait for what they wrote.
//
// Threads: every function may be called from any thread. The limiter must outlive the asker.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/mutex.h"
#include "rocksdb/db.h"
#include "rocksdb/wide_columns.h"
#include "rocksdb/write_batch.h"
#include "throttle/adaptive_limiter.h"
#include "throttle/rocksdb/throttled_marks.h"

namespace weir {

// The fate of a write that the limiter refuses. kBusy: it fails (see above) and writes nothing. kPass: at the latest
// after the longest wait of its class it passes, and is charged (AdaptiveLimiter::ThrottleOne); with
// WriteOptions::no_slowdown it still fails. Use kPass for a program that cannot try again.
enum class RefusedWrites : uint8_t { kBusy, kPass };

struct WriteRules {
  // Names of column families. A write of which all records belong to them is bulk work. The name of a family that does
  // not exist has no effect until the family is created through the same database object.
  std::set<std::string> bulk_families;
  // A bulk WriteBatch of more than this many bytes is written in several pieces, each of about this size, so that no
  // interactive write waits in RocksDB behind the whole batch. The batch is then NOT ATOMIC: a reader may find some of
  // its pieces without the others, as may the program after a crash or an error of RocksDB. Each piece asks for itself,
  // but only the first can be refused, so a batch that weir refuses has written nothing. 0: every batch stays whole. A
  // batch with WriteOptions::no_slowdown always does, because its later pieces could not wait. Usual sizes are 256 KiB
  // to 1 MiB.
  uint64_t split_bulk_batches_over_bytes = 0;
  RefusedWrites refused = RefusedWrites::kBusy;
};

// Returns the bytes of the names and values of an entity.
inline uint64_t BytesOf(const rocksdb::WideColumns& columns) {
  uint64_t bytes = 0;
  for (const rocksdb::WideColumn& column : columns) bytes += column.name().size() + column.value().size();
  return bytes;
}

class WriteAsker {
 public:
  WriteAsker(AdaptiveLimiter& limiter, WriteRules rules) : limiter_(limiter), rules_(std::move(rules)) {}

  WorkClass ClassOf(const rocksdb::WriteOptions& options) const { return ClassIf(options.low_pri || IsBulkThread()); }
  WorkClass ClassOf(const rocksdb::WriteOptions& options, rocksdb::ColumnFamilyHandle* family) const {
    return ClassIf(options.low_pri || IsBulkThread() || IsBulkFamily(family));
  }
  WorkClass ClassOf(const rocksdb::WriteOptions& options, const rocksdb::WriteBatch& batch) const {
    return ClassIf(options.low_pri || IsBulkThread() ||
                   (ids_.load(std::memory_order_acquire) != nullptr && HasOnlyBulkFamilies(batch)));
  }
  // Returns true if `family` (null: the default one) is one of WriteRules::bulk_families.
  bool IsBulkFamily(rocksdb::ColumnFamilyHandle* family) const {
    const Ids* const ids = ids_.load(std::memory_order_acquire);
    return ids != nullptr && ids->contains(family == nullptr ? 0 : family->GetID());
  }
  // Tells the asker of a family that was opened or created. Without this call the family is not one of the bulk ones.
  void Learn(rocksdb::ColumnFamilyHandle* family);

  // Asks for `bytes` bytes and waits. Returns OK if the write may proceed.
  rocksdb::Status Ask(uint64_t bytes, WorkClass work_class, const rocksdb::WriteOptions& options = {}) {
    if (rules_.refused == RefusedWrites::kPass && !options.no_slowdown) {
      limiter_.ThrottleOne(Operation::kWrite, {bytes}, PartyOfThread(work_class));
      return rocksdb::Status::OK();
    }
    Admission admission = limiter_.Admit(Operation::kWrite, {bytes}, PartyOfThread(work_class));
    if (admission.admitted()) [[likely]]
      return rocksdb::Status::OK();
    return Settle(std::move(admission), options);
  }
  // Charges bytes that are written already, and waits, unless WriteOptions::no_slowdown is set. Cannot be refused.
  void Pay(uint64_t bytes, WorkClass work_class, const rocksdb::WriteOptions& options);

  // Asks for the batch, then calls `write` with it; or asks and writes in pieces (WriteRules).
  template <typename DoWrite>  // rocksdb::Status(rocksdb::WriteBatch*)
  rocksdb::Status Write(const rocksdb::WriteOptions& options, rocksdb::WriteBatch* batch, DoWrite write) {
    if (batch == nullptr) return write(batch);  // RocksDB says what is wrong
    const WorkClass work_class = ClassOf(options, *batch);
    const uint64_t bytes = batch->GetDataSize();
    if (IsSplit(bytes, work_class) && !options.no_slowdown) return WriteInPieces(options, batch, write);
    if (rocksdb::Status s = Ask(bytes, work_class, options); !s.ok()) return s;
    return write(batch);
  }

 private:
  using Ids = std::set<uint32_t>;
  using Writer = std::function<rocksdb::Status(rocksdb::WriteBatch*)>;

  static WorkClass ClassIf(bool bulk) { return bulk ? WorkClass::kBulk : WorkClass::kInteractive; }
  bool HasOnlyBulkFamilies(const rocksdb::WriteBatch& batch) const;
  bool IsSplit(uint64_t bytes, WorkClass work_class) const {
    const uint64_t most = rules_.split_bulk_batches_over_bytes;
    return most > 0 && bytes > most && work_class == WorkClass::kBulk;
  }
  rocksdb::Status WriteInPieces(const rocksdb::WriteOptions& options, rocksdb::WriteBatch* batch, const Writer& write);
  static rocksdb::Status Settle(Admission admission, const rocksdb::WriteOptions& options);

  AdaptiveLimiter& limiter_;
  const WriteRules rules_;
  // The newest set of ids of the bulk families; null: no such family is open. A writer may still read an older set, so
  // all of them are kept; there are as many as bulk families.
  std::atomic<const Ids*> ids_{nullptr};
  Mutex mutex_;
  std::vector<std::unique_ptr<const Ids>> all_ids_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
