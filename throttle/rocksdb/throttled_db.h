// ThrottledDb: a RocksDB whose writes ask the throttle by themselves. Open it in place of rocksdb::DB; nothing else in
// the program changes.
//
//   std::unique_ptr<weir::ThrottledDb> db;  // is a rocksdb::DB
//   rocksdb::Status s = weir::ThrottledDb::Open(options, path, 1400ull << 20, &db);  // memory for the whole program
//   s = db->Put({}, "key", "value");        // waits here if RocksDB would otherwise stall; may be refused (IsBusy)
//
// throttled_asker.h says which writes are bulk work, how long they wait, and what a refusal becomes; throttled_marks.h
// has the marks of a thread. For a program that wants no wrapper there is Write, below.
//
// Only writes through this object ask: those through GetRootDB or GetBaseDB do not. Create and drop families through
// it, too: the throttle measures them from then on, or no longer.
#pragma once

#include "throttle/rocksdb/throttled_writes.h"

namespace weir {

class ThrottledDb final : public ThrottledWrites<rocksdb::StackableDB> {
 public:
  using Options = ThrottledDbOptions;

  // These do what DB::Open does, after PrepareRocksDb, and attach a RocksDbThrottle, which senses all families. The
  // program may use up to `memory_target_bytes` of memory. RocksDB's brakes are moved (EngineBrakes) unless the
  // settings of the limiter forbid it. A mistake in the options or settings is Status::InvalidArgument.
  static rocksdb::Status Open(const rocksdb::Options& options, const std::string& path, uint64_t memory_target_bytes,
                              std::unique_ptr<ThrottledDb>* db, const Options& throttled = {});
  static rocksdb::Status Open(const rocksdb::DBOptions& options, const std::string& path,
                              const std::vector<rocksdb::ColumnFamilyDescriptor>& families, Families* handles,
                              uint64_t memory_target_bytes, std::unique_ptr<ThrottledDb>* db,
                              const Options& throttled = {});

  // Does the rest of Open for a database of any kind that was opened with options from PrepareRocksDb. `handles` are
  // those of its families; if empty, only the default one is sensed. If the status is not OK, `db` keeps the database.
  static rocksdb::Status Wrap(std::unique_ptr<rocksdb::DB>&& db, const PreparedRocksDb& prepared,
                              const Families& handles, std::unique_ptr<ThrottledDb>* throttled,
                              const Options& options = {});

  // Asks a limiter that the program made and runs itself, and that must outlive this object. The families of
  // WriteRules::bulk_families are looked for among `handles`.
  ThrottledDb(std::unique_ptr<rocksdb::DB> db, AdaptiveLimiter& limiter, const WriteRules& rules = {},
              const Families& handles = {})
      : ThrottledWrites(std::move(db), limiter, rules, handles) {}

 private:
  friend class ThrottledWrites<rocksdb::StackableDB>;
  using ThrottledWrites::ThrottledWrites;
};

// Asks for the batch, waits if it must, and writes it: the throttle without a wrapper. The write is bulk work if the
// party or the options (low_pri) say so. A refusal is Status::Busy, one for the size of the batch is
// Status::InvalidArgument, and a wait that no_slowdown forbids is Status::Incomplete; all three write nothing.
rocksdb::Status Write(AdaptiveLimiter& limiter, rocksdb::DB& db, rocksdb::WriteBatch* batch, Party party = {},
                      const rocksdb::WriteOptions& options = {});
inline rocksdb::Status Write(RocksDbThrottle& throttle, rocksdb::DB& db, rocksdb::WriteBatch* batch, Party party = {},
                             const rocksdb::WriteOptions& options = {}) {
  return Write(throttle.limiter(), db, batch, party, options);
}

}  // namespace weir
