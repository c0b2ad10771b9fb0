// RocksDbBuffers: senses a WriteBufferManager of RocksDB, and helps it. A manager that was made with allow_stall stops
// the writers of all its databases while the memtables together are too large. No counter and no listener of RocksDB
// 7.8 tells of it.
//
// While writers stand, a call of DB::Flush stands behind them. So a flush that is to end this takes the limit off the
// manager until RocksDB has accepted it (WithoutLimit).
//
// Not thread-safe, but other threads may use the manager.
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
  bool stops_writers() const { return stops_writers_; }

  // Returns the manager's figures, and counts in stops() if writers stand that did not stand at the last call. Gives a
  // raised limit back as soon as flushes would start below the limit that the program set.
  SharedBuffers Read();
  // Returns how often writers were found standing. A stop between two calls of Read is not counted.
  uint64_t stops() const { return stops_; }

  // Raises the limit if memory that no flush frees takes too much of it (SharedBuffers::NeededLimit).
  void MakeRoom(uint64_t unflushed_bytes);
  // Calls `flush` while the manager has no limit, so that writers that stand go on and `flush` does not wait for them.
  Status WithoutLimit(const std::function<Status()>& flush);
  // Gives a raised limit back. If the memory is still in use, RocksDB then stops writers.
  void GiveBack();

 private:
  // Returns the limit that the program set. While the manager has the limit that MakeRoom set, this is the last one
  // before that.
  uint64_t GivenLimit();

  const std::shared_ptr<rocksdb::WriteBufferManager> manager_;
  const bool stops_writers_;
  uint64_t given_bytes_ = 0;   // the limit that the program set, as last seen
  uint64_t raised_bytes_ = 0;  // the limit that MakeRoom set; 0: none
  bool stopped_ = false;       // true if writers stood at the last call of Read
  uint64_t stops_ = 0;
};

}  // namespace weir
