#include "throttle/rocksdb/throttled_transaction_db.h"

#include <utility>

namespace weir {
namespace {

// Returns `old` after it began again, or a new transaction. `begin` makes RocksDB begin with its own object, or null.
template <typename Begin>
rocksdb::Transaction* BegunTransaction(rocksdb::Transaction* old, WriteAsker& asker, AskAt ask_at,
                                       NamedTransactions* named, Begin begin) {
  if (old == nullptr) {
    return new ThrottledTransaction(std::unique_ptr<rocksdb::Transaction>(begin(nullptr)), asker, ask_at, named);
  }
  static_cast<ThrottledTransaction*>(old)->BeginAgain(begin);
  return old;
}

}  // namespace

rocksdb::Status ThrottledTransactionDb::Open(const rocksdb::Options& options,
                                             const rocksdb::TransactionDBOptions& transactions, const std::string& path,
                                             uint64_t memory_target_bytes, std::unique_ptr<ThrottledTransactionDb>* db,
                                             const Options& throttled) {
  const auto open = [&](const rocksdb::Options& prepared, std::unique_ptr<rocksdb::TransactionDB>* opened) {
    rocksdb::TransactionDB* raw = nullptr;
    Status status = rocksdb::TransactionDB::Open(prepared, transactions, path, &raw);
    opened->reset(raw);
    return status;
  };
  return OpenPrepared<ThrottledTransactionDb, rocksdb::TransactionDB>(options, memory_target_bytes, throttled, db,
                                                                      open);
}

rocksdb::Status ThrottledTransactionDb::Open(const rocksdb::DBOptions& options,
                                             const rocksdb::TransactionDBOptions& transactions, const std::string& path,
                                             const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                                             Families* handles, uint64_t memory_target_bytes,
                                             std::unique_ptr<ThrottledTransactionDb>* db, const Options& throttled) {
  const auto open = [&](const rocksdb::DBOptions& prepared, const auto& all,
                        std::unique_ptr<rocksdb::TransactionDB>* opened) {
    rocksdb::TransactionDB* raw = nullptr;
    Status status = rocksdb::TransactionDB::Open(prepared, transactions, path, all, handles, &raw);
    opened->reset(raw);
    return status;
  };
  return OpenPrepared<ThrottledTransactionDb, rocksdb::TransactionDB>(options, families, memory_target_bytes, throttled,
                                                                      handles, db, open);
}

rocksdb::Status ThrottledTransactionDb::Wrap(std::unique_ptr<rocksdb::TransactionDB>&& db,
                                             const PreparedRocksDb& prepared, const Families& handles,
                                             std::unique_ptr<ThrottledTransactionDb>* throttled,
                                             const Options& options) {
  return WrapPrepared(std::move(db), prepared, handles, throttled, options);
}

ThrottledTransactionDb::~ThrottledTransactionDb() {
  for (ThrottledTransaction* transaction : named_.Left())
    if (below().GetTransactionByName(transaction->GetName()) == transaction->inner()) delete transaction;
}

rocksdb::Transaction* ThrottledTransactionDb::BeginTransaction(const WriteOptions& o,
                                                               const rocksdb::TransactionOptions& transaction,
                                                               rocksdb::Transaction* old) {
  const auto begin = [&](rocksdb::Transaction* own) { return below().BeginTransaction(o, transaction, own); };
  return BegunTransaction(old, asker(), AskAt::kFirstLock, &named_, begin);
}

rocksdb::Transaction* ThrottledTransactionDb::GetTransactionByName(const rocksdb::TransactionName& name) {
  rocksdb::Transaction* const found = below().GetTransactionByName(name);
  return found == nullptr ? nullptr : named_.Of(found);
}

void ThrottledTransactionDb::GetAllPreparedTransactions(std::vector<rocksdb::Transaction*>* transactions) {
  below().GetAllPreparedTransactions(transactions);
  for (rocksdb::Transaction*& transaction : *transactions) transaction = named_.Of(transaction);
}

rocksdb::Status ThrottledOptimisticTransactionDb::Open(const rocksdb::Options& options, const std::string& path,
                                                       uint64_t memory_target_bytes,
                                                       std::unique_ptr<ThrottledOptimisticTransactionDb>* db,
                                                       const Options& throttled) {
  const auto open = [&](const rocksdb::Options& prepared, std::unique_ptr<rocksdb::OptimisticTransactionDB>* opened) {
    rocksdb::OptimisticTransactionDB* raw = nullptr;
    Status status = rocksdb::OptimisticTransactionDB::Open(prepared, path, &raw);
    opened->reset(raw);
    return status;
  };
  return OpenPrepared<ThrottledOptimisticTransactionDb, rocksdb::OptimisticTransactionDB>(options, memory_target_bytes,
                                                                                          throttled, db, open);
}

rocksdb::Status ThrottledOptimisticTransactionDb::Open(
    const rocksdb::DBOptions& options, const rocksdb::OptimisticTransactionDBOptions& transactions,
    const std::string& path, const std::vector<rocksdb::ColumnFamilyDescriptor>& families, Families* handles,
    uint64_t memory_target_bytes, std::unique_ptr<ThrottledOptimisticTransactionDb>* db, const Options& throttled) {
  const auto open = [&](const rocksdb::DBOptions& prepared, const auto& all,
                        std::unique_ptr<rocksdb::OptimisticTransactionDB>* opened) {
    rocksdb::OptimisticTransactionDB* raw = nullptr;
    Status status = rocksdb::OptimisticTransactionDB::Open(prepared, transactions, path, all, handles, &raw);
    opened->reset(raw);
    return status;
  };
  return OpenPrepared<ThrottledOptimisticTransactionDb, rocksdb::OptimisticTransactionDB>(
      options, families, memory_target_bytes, throttled, handles, db, open);
}

rocksdb::Status ThrottledOptimisticTransactionDb::Wrap(std::unique_ptr<rocksdb::OptimisticTransactionDB>&& db,
                                                       const PreparedRocksDb& prepared, const Families& handles,
                                                       std::unique_ptr<ThrottledOptimisticTransactionDb>* throttled,
                                                       const Options& options) {
  return WrapPrepared(std::move(db), prepared, handles, throttled, options);
}

rocksdb::Transaction* ThrottledOptimisticTransactionDb::BeginTransaction(
    const WriteOptions& o, const rocksdb::OptimisticTransactionOptions& transaction, rocksdb::Transaction* old) {
  auto& below = static_cast<rocksdb::OptimisticTransactionDB&>(*db_);
  const auto begin = [&](rocksdb::Transaction* own) { return below.BeginTransaction(o, transaction, own); };
  return BegunTransaction(old, asker(), AskAt::kCommit, nullptr, begin);
}

}  // namespace weir
