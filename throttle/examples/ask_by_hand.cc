// ask_by_hand: a program that keeps its rocksdb::DB, and asks the throttle before each write itself.
//
//   ask_by_hand DIRECTORY
#include <rocksdb/write_batch.h>
#include <weir/monitors/rocksdb_version.h>
#include <weir/throttle/rocksdb/rocksdb_throttle.h>
#include <weir/throttle/rocksdb/throttled_db.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace {

// example: gate a RocksDB
struct Gated {
  std::unique_ptr<rocksdb::DB> db;
  std::unique_ptr<weir::RocksDbThrottle> throttle;
};

weir::Result<Gated> Open(rocksdb::Options options, const std::string& path) {
  const auto prepared = weir::PrepareRocksDb(1400ull << 20, &options);  // memory for the whole program
  if (!prepared.ok()) return prepared.status();
  weir::OpenedRocksDb opened = nullptr;  // a rocksdb::DB*, or from RocksDB 10 on a std::unique_ptr
  if (const auto s = rocksdb::DB::Open(options, path, &opened); !s.ok()) return weir::Status::Error(s.ToString());
  Gated gated{.db = weir::OwnerOf(&opened)};
  auto throttle = weir::RocksDbThrottle::Attach(gated.db.get(), prepared.value());
  if (!throttle.ok()) return throttle.status();
  gated.throttle = std::move(throttle.value());
  return gated;
}

weir::Status Store(Gated& gated, rocksdb::WriteBatch* batch, uint64_t client) {
  auto admission = gated.throttle->Admit(weir::Operation::kWrite, {batch->GetDataSize()}, {.id = client});
  if (admission.Wait() == weir::Admission::State::kRefused) return weir::Status::Error(std::string(admission.reason()));
  const rocksdb::Status written = gated.db->Write({}, batch);
  return written.ok() ? weir::Status() : weir::Status::Error(written.ToString());
}
// end of example

// example: write without a wrapper
rocksdb::Status Save(weir::RocksDbThrottle& throttle, rocksdb::DB* db, rocksdb::WriteBatch* batch, uint64_t client) {
  return weir::Write(throttle, *db, batch, {.id = client});
}
// end of example

// Stores one record and saves another, and returns how many the database has then.
weir::Result<int> StoreAndSave(const std::string& path) {
  rocksdb::Options options;
  options.create_if_missing = true;
  auto gated = Open(options, path);
  if (!gated.ok()) return gated.status();
  rocksdb::WriteBatch first;
  rocksdb::WriteBatch second;
  rocksdb::Status s = first.Put("stored", "value");
  if (s.ok()) s = second.Put("saved", "value");
  if (!s.ok()) return weir::Status::Error(s.ToString());
  if (weir::Status stored = Store(gated.value(), &first, 7); !stored.ok()) return stored;
  s = Save(*gated.value().throttle, gated.value().db.get(), &second, 8);
  if (!s.ok()) return weir::Status::Error(s.ToString());

  int records = 0;
  const std::unique_ptr<rocksdb::Iterator> all(gated.value().db->NewIterator({}));
  for (all->SeekToFirst(); all->Valid(); all->Next()) ++records;
  return records;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: ask_by_hand DIRECTORY\n");
    return 2;
  }
  const auto records = StoreAndSave(argv[1]);
  if (!records.ok()) {
    std::fprintf(stderr, "ask_by_hand: %s\n", records.status().message().c_str());
    return 1;
  }
  std::printf("the database has %d records of two clients\n", records.value());
  return 0;
}
