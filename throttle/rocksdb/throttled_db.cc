#include "throttle/rocksdb/throttled_db.h"

#include <utility>

namespace weir {

rocksdb::Status ThrottledDb::Open(const rocksdb::Options& options, const std::string& path,
                                  uint64_t memory_target_bytes, std::unique_ptr<ThrottledDb>* db,
                                  const Options& throttled) {
  const auto open = [&](const rocksdb::Options& prepared, std::unique_ptr<rocksdb::DB>* opened) {
    OpenedRocksDb raw{};
    rocksdb::Status status = rocksdb::DB::Open(prepared, path, &raw);
    *opened = OwnerOf(&raw);
    return status;
  };
  return OpenPrepared<ThrottledDb, rocksdb::DB>(options, memory_target_bytes, throttled, db, open);
}

rocksdb::Status ThrottledDb::Open(const rocksdb::DBOptions& options, const std::string& path,
                                  const std::vector<rocksdb::ColumnFamilyDescriptor>& families, Families* handles,
                                  uint64_t memory_target_bytes, std::unique_ptr<ThrottledDb>* db,
                                  const Options& throttled) {
  const auto open = [&](const rocksdb::DBOptions& prepared, const auto& all, std::unique_ptr<rocksdb::DB>* opened) {
    OpenedRocksDb raw{};
    rocksdb::Status status = rocksdb::DB::Open(prepared, path, all, handles, &raw);
    *opened = OwnerOf(&raw);
    return status;
  };
  return OpenPrepared<ThrottledDb, rocksdb::DB>(options, families, memory_target_bytes, throttled, handles, db, open);
}

rocksdb::Status ThrottledDb::Wrap(std::unique_ptr<rocksdb::DB>&& db, const PreparedRocksDb& prepared,
                                  const Families& handles, std::unique_ptr<ThrottledDb>* throttled,
                                  const Options& options) {
  return WrapPrepared(std::move(db), prepared, handles, throttled, options);
}

rocksdb::Status Write(AdaptiveLimiter& limiter, rocksdb::DB& db, rocksdb::WriteBatch* batch, Party party,
                      const rocksdb::WriteOptions& options) {
  if (batch == nullptr) return db.Write(options, batch);  // RocksDB says what is wrong
  if (options.low_pri) party.work_class = WorkClass::kBulk;
  const AsParty as(party.id, party.group);
  WriteAsker asker(limiter, {});
  rocksdb::Status asked = asker.Ask(batch->GetDataSize(), party.work_class, options);
  return asked.ok() ? db.Write(options, batch) : asked;
}

}  // namespace weir
