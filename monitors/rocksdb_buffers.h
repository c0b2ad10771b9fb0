// RocksDbBuffers: senses a WriteBufferManager of RocksDB, and helps it. A manager that was made with allow_stall stops
// the writers of all its databases while the memtables together are too large. No counter and no listener of RocksDB
// 7.8 tells of it.
//
// While writers stand, a call of DB::Flush stands behind them. So a flush that is to end this takes the limit off the
// manager until RocksDB has accepted it (WithoutLimit).
//
// All RocksDbBuffers of one manager, those of other databases included, share what they know of its limit: none of them
// takes a limit that another one has set for the program's.
//
// Threads: any thread may call any function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "config/status.h"
#include "monitors/shared_buffers.h"
#include "rocksdb/write_buffer_manager.h"

namespace weir {

// Returns true if this manager stops writers when it is full; a null manager does not. RocksDB has no function that
// says so, hence the manager gets a limit of one byte for an instant. If it is in use, a write that comes in this
// instant flushes one memtable.
bool StopsWriters(rocksdb::WriteBufferManager* manager);

class RocksDbBuffers {
 public:
  // `manager` may be null.
  explicit RocksDbBuffers(std::shared_ptr<rocksdb::WriteBufferManager> manager);

  // Returns true if the manager stops writers when it is full. Otherwise it only makes RocksDB flush; then there is no
  // signal, and no function here changes the manager.
  bool stops_writers() const { return limit_ != nullptr; }

  // Returns the manager's figures, and counts in stops() if writers stand that did not stand at the last call. The
  // limit is 0 if writers are not stopped, and after the program took the limit off.
  SharedBuffers Read();
  // Returns how often writers were found standing. A stop between two calls of Read is not counted.
  uint64_t stops() const;

  // Sets the limit that the manager needs, so that flushes can end a stop. `kept_bytes` is the memory of this database
  // that no flush frees. If all databases of the manager keep over half of the limit that the program set, what they
  // keep comes on top. A raised limit that is no longer needed falls as the memory is freed, so that writers do not
  // stand.
  void MakeRoom(uint64_t kept_bytes);
  // Returns true while the limit is raised by MakeRoom.
  bool is_raised() const;
  // Calls `flush` while the manager has no limit, so that writers that stand go on and `flush` does not wait for them.
  Status WithoutLimit(const std::function<Status()>& flush);
  // Forgets what this database keeps, and gives a raised limit back if the other databases do not need it. If the
  // memory is still in use, RocksDB then stops writers.
  void GiveBack();

 private:
  struct Limit;
  class Lift;

  static std::shared_ptr<Limit> LimitOf(const rocksdb::WriteBufferManager* manager);
  friend bool StopsWriters(rocksdb::WriteBufferManager* manager);

  const std::shared_ptr<rocksdb::WriteBufferManager> manager_;
  const std::shared_ptr<Limit> limit_;  // null: the manager stops no writers
  // The mutex of the limit guards these.
  uint64_t kept_bytes_ = 0;  // the part of this database in Limit::kept_bytes
  bool stopped_ = false;     // true if writers stood at the last call of Read
  uint64_t stops_ = 0;
};

}  // namespace weir
