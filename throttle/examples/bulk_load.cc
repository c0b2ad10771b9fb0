// bulk_load: a bulk load beside small, interactive writes, on a disk that is slower than the load. With weir only the
// load waits. Without it RocksDB stalls, and then every write waits.
//
//   bulk_load DIRECTORY [MEGABYTES [alone]]    alone: without weir, to see the difference
#include <rocksdb/rate_limiter.h>
#include <rocksdb/statistics.h>
#include <rocksdb/write_batch.h>
#include <weir/monitors/rocksdb_version.h>
#include <weir/throttle/rocksdb/throttled_db.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace {

// example: open a throttled database
rocksdb::Status Open(const rocksdb::Options& options, const std::string& path, std::unique_ptr<rocksdb::DB>* db) {
  std::unique_ptr<weir::ThrottledDb> throttled;                                           // is a rocksdb::DB
  rocksdb::Status s = weir::ThrottledDb::Open(options, path, 1400ull << 20, &throttled);  // memory of the program
  *db = std::move(throttled);
  return s;
}

rocksdb::Status Serve(rocksdb::DB& db, const std::string& key) {
  return db.Put({}, key, "value");  // waits while RocksDB would otherwise stall; IsBusy: refused, so try again later
}

rocksdb::Status Import(rocksdb::DB& db, rocksdb::WriteBatch* batch) {
  const weir::BulkThread bulk;  // until the end of the block, this thread does bulk work
  return db.Write({}, batch);
}
// end of example

rocksdb::Status OpenAlone(const rocksdb::Options& options, const std::string& path, std::unique_ptr<rocksdb::DB>* db) {
  weir::OpenedRocksDb opened = nullptr;
  rocksdb::Status s = rocksdb::DB::Open(options, path, &opened);
  if (s.ok()) *db = weir::OwnerOf(&opened);
  return s;
}

// A disk that takes 8 MB/s, and small write buffers, so that a small load is a large one.
rocksdb::Options SlowDisk() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(8 << 20));
  options.write_buffer_size = 1 << 20;
  options.max_bytes_for_level_base = 4 << 20;
  options.target_file_size_base = 1 << 20;
  options.statistics = rocksdb::CreateDBStatistics();
  return options;
}

// Imports records of 1 KiB in no order, 64 at a time.
rocksdb::Status ImportAll(rocksdb::DB& db, int records) {
  std::mt19937_64 random;
  const std::string value(1000, 'v');
  rocksdb::Status s;
  while (records > 0 && s.ok()) {
    rocksdb::WriteBatch batch;
    for (int i = 0; i < 64 && s.ok(); ++i, --records) s = batch.Put(std::to_string(random()), value);
    if (s.ok()) s = Import(db, &batch);
  }
  return s;
}

struct Served {
  int writes = 0;
  int refused = 0;
  std::chrono::duration<double, std::milli> slowest{};
};

// Serves 200 small writes a second until the import ends.
rocksdb::Status ServeBeside(const std::future<rocksdb::Status>& import, rocksdb::DB& db, Served* served) {
  while (import.wait_for(std::chrono::milliseconds(5)) == std::future_status::timeout) {
    const auto begin = std::chrono::steady_clock::now();
    rocksdb::Status s = Serve(db, "client-" + std::to_string(served->writes));
    served->slowest = std::max<decltype(served->slowest)>(served->slowest, std::chrono::steady_clock::now() - begin);
    if (!s.ok() && !s.IsBusy()) return s;
    ++(s.ok() ? served->writes : served->refused);
  }
  return rocksdb::Status::OK();
}

int CountRecords(rocksdb::DB& db) {
  int records = 0;
  const std::unique_ptr<rocksdb::Iterator> all(db.NewIterator({}));
  for (all->SeekToFirst(); all->Valid(); all->Next()) records += all->key().starts_with("client-") ? 0 : 1;
  return records;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bulk_load DIRECTORY [MEGABYTES [alone]]\n");
    return 2;
  }
  const int records = (argc > 2 ? std::atoi(argv[2]) : 32) * 1024;
  const rocksdb::Options options = SlowDisk();
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::Status s = argc > 3 ? OpenAlone(options, argv[1], &db) : Open(options, argv[1], &db);
  Served served;
  if (s.ok()) {
    auto import = std::async(std::launch::async, ImportAll, std::ref(*db), records);
    const rocksdb::Status beside = ServeBeside(import, *db, &served);
    s = import.get();
    if (s.ok()) s = beside;
  }
  if (!s.ok()) {
    std::fprintf(stderr, "bulk_load: %s\n", s.ToString().c_str());
    return 1;
  }
  std::printf("%d records imported beside %d small writes, of which %d were refused\n", CountRecords(*db),
              served.writes, served.refused);
  std::printf("the slowest small write took %.0f ms, and RocksDB stalled for %.1f s\n", served.slowest.count(),
              static_cast<double>(options.statistics->getTickerCount(rocksdb::STALL_MICROS)) / 1e6);
  return 0;
}
