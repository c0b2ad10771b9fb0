// The examples that throttle/EMBEDDING.md quotes (examples_are_quoted checks it).
#include <rocksdb/write_batch.h>
#include <weir/throttle/rocksdb/rocksdb_throttle.h>
#include <weir/throttle/rocksdb/throttled_db.h>
#include <weir/throttle/rocksdb/throttled_transaction_db.h>

#include <cstdio>

namespace {

// example: open a throttled database
rocksdb::Status Run(const rocksdb::Options& options, const std::string& path, rocksdb::WriteBatch* import) {
  std::unique_ptr<weir::ThrottledDb> db;                                           // is a rocksdb::DB
  rocksdb::Status s = weir::ThrottledDb::Open(options, path, 1400ull << 20, &db);  // memory for the whole program
  if (!s.ok()) return s;

  s = db->Put({}, "key", "value");  // waits while RocksDB would otherwise stall
  if (s.IsBusy()) return s;         // refused after the longest wait: nothing was written, try again later

  const weir::BulkThread bulk;  // from here on, this thread does bulk work
  return db->Write({}, import);
}
// end of example

// example: transactions
rocksdb::Status Transfer(weir::ThrottledTransactionDb& db, const rocksdb::Slice& from, const rocksdb::Slice& to) {
  const std::unique_ptr<rocksdb::Transaction> transaction(db.BeginTransaction({}));
  rocksdb::Status s = transaction->Delete(from);  // asks before it locks `from`
  if (s.ok()) s = transaction->Put(to, "value");
  return s.ok() ? transaction->Commit() : s;  // Busy: refused, or a deadlock; roll back and try again
}
// end of example

// example: write without a wrapper
rocksdb::Status Save(weir::RocksDbThrottle& throttle, rocksdb::DB* db, rocksdb::WriteBatch* batch, uint64_t client) {
  return weir::Write(throttle, *db, batch, {.id = client});
}
// end of example

// example: gate a RocksDB
weir::Status Store(rocksdb::Options options, const std::string& path, rocksdb::WriteBatch* batch) {
  const auto prepared = weir::PrepareRocksDb(1400ull << 20, &options);  // memory for the whole program
  if (!prepared.ok()) return prepared.status();
  rocksdb::DB* opened = nullptr;
  if (const auto s = rocksdb::DB::Open(options, path, &opened); !s.ok()) return weir::Status::Error(s.ToString());
  const std::unique_ptr<rocksdb::DB> db(opened);
  const auto throttle = weir::RocksDbThrottle::Attach(db.get(), prepared.value());
  if (!throttle.ok()) return throttle.status();

  auto admission = throttle.value()->Admit(weir::Operation::kWrite, {batch->GetDataSize()}, {.id = 7 /* whose */});
  if (admission.Wait() == weir::Admission::State::kRefused) return weir::Status::Error(std::string(admission.reason()));
  const rocksdb::Status written = db->Write({}, batch);
  return written.ok() ? weir::Status() : weir::Status::Error(written.ToString());
}
// end of example

// Runs the examples that need a database of their own, and returns the first error.
rocksdb::Status Others(const rocksdb::Options& options, const std::string& path, rocksdb::WriteBatch* batch) {
  std::unique_ptr<weir::ThrottledTransactionDb> db;
  rocksdb::Status s = weir::ThrottledTransactionDb::Open(options, {}, path, 1400ull << 20, &db);
  if (s.ok()) s = Transfer(*db, "from", "to");
  if (s.ok()) s = Save(*db->throttle(), db->GetBaseDB(), batch, 7);
  return s;
}

}  // namespace

int main(int, char** argv) {
  const std::string path = argv[0];
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::WriteBatch batch;
  if (!batch.Put("key", "value").ok()) return 1;
  rocksdb::Status s = Run(options, path + ".throttled", &batch);
  if (s.ok()) s = Others(options, path + ".transactions", &batch);
  const weir::Status stored = Store(options, path + ".db", &batch);
  std::printf("%s\n%s\n", s.ToString().c_str(), stored.ok() ? "stored" : stored.message().c_str());
  return s.ok() && stored.ok() ? 0 : 1;
}
