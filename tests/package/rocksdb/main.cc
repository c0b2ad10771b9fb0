// The example that throttle/EMBEDDING.md quotes (examples_are_quoted checks it).
#include <rocksdb/write_batch.h>
#include <weir/throttle/rocksdb/rocksdb_throttle.h>

#include <cstdio>

namespace {

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

}  // namespace

int main(int, char** argv) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::WriteBatch batch;
  if (!batch.Put("key", "value").ok()) return 1;
  const weir::Status stored = Store(options, std::string(argv[0]) + ".db", &batch);
  std::printf("%s\n", stored.ok() ? "stored" : stored.message().c_str());
  return stored.ok() ? 0 : 1;
}
