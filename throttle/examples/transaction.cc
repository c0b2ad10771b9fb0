// transaction: transactions that ask the throttle before they hold a lock. Each moves one value to another key.
//
//   transaction DIRECTORY
#include <weir/throttle/rocksdb/throttled_transaction_db.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

// example: transactions
rocksdb::Status Transfer(weir::ThrottledTransactionDb& db, const rocksdb::Slice& from, const rocksdb::Slice& to) {
  const std::unique_ptr<rocksdb::Transaction> transaction(db.BeginTransaction({}));
  rocksdb::Status s = transaction->Delete(from);  // asks before it locks `from`
  if (s.ok()) s = transaction->Put(to, "value");
  return s.ok() ? transaction->Commit() : s;  // Busy: refused, or a deadlock; roll back and try again
}
// end of example

// Moves the value from each of the accounts 0 to `count` - 1 to the next one.
rocksdb::Status TransferAlong(weir::ThrottledTransactionDb& db, int count) {
  rocksdb::Status s = db.Put({}, "account-0", "value");
  for (int i = 0; i < count && s.ok();) {
    s = Transfer(db, "account-" + std::to_string(i), "account-" + std::to_string(i + 1));
    if (s.ok()) ++i;
    if (s.IsBusy()) s = rocksdb::Status::OK();  // the transaction was rolled back: once more
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: transaction DIRECTORY\n");
    return 2;
  }
  constexpr int kTransfers = 100;
  rocksdb::Options options;
  options.create_if_missing = true;
  std::unique_ptr<weir::ThrottledTransactionDb> db;  // is a rocksdb::TransactionDB
  rocksdb::Status s = weir::ThrottledTransactionDb::Open(options, {}, argv[1], 1400ull << 20, &db);
  if (s.ok()) s = TransferAlong(*db, kTransfers);
  if (!s.ok()) {
    std::fprintf(stderr, "transaction: %s\n", s.ToString().c_str());
    return 1;
  }
  std::string holders;
  const std::unique_ptr<rocksdb::Iterator> all(db->NewIterator({}));
  for (all->SeekToFirst(); all->Valid(); all->Next()) holders += " " + all->key().ToString();
  std::printf("after %d transfers the value is at%s\n", kTransfers, holders.c_str());
  return 0;
}
