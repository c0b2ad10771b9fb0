// RocksDbMonitor: the LoadMonitor of a RocksDB. It measures how near RocksDB is to slowing down writes by itself.
//
//   weir::RocksDbMonitor monitor(db, handles, prepared);      // opened with PrepareRocksDb (rocksdb_options.h), or
//   weir::RocksDbMonitor monitor(db, handles, target_bytes);  // opened with any options
//   monitor.Start();
//   …
//   monitor.Detach();  // before the database is closed
//
// Its signals (load_sample.h); each of the first four is that of the column family in which it is highest:
//   memtables  how near RocksDB is to braking because flushes are too slow
//   l0         how near RocksDB is to braking because of the files in level 0; falls only gradually (drain_envelope.h)
//   score      how far the levels below 0 exceed their size, averaged over about 10 s; shown, limits nothing
//   debt       bytes that wait for compaction: 1.0 at the limit where RocksDB brakes, 0 up to an eighth of that
//   buffers    memory of all memtables together, near the size of the WriteBufferManager; only if the manager stops
//              writers when it is full (allow_stall): 1.0 shortly before it does so (shared_buffers.h). While brakes
//              are moved, the monitor flushes the largest memtables when all have three quarters of the manager
//   own        bytes that the program reported by AddOwnBytes / their budget
//   memory     memory of the whole process / the memory target
// When memtables, l0 or debt is 1.0, RocksDB begins to brake. If RocksDB never brakes for L0 or debt (automatic
// compactions are disabled, or for debt: it has no limit, or compaction is universal), the signal is 0 and limits
// nothing. The same holds for a column family with FIFO compaction: L0 is its whole tree, and only `memtables` counts.
// If PrepareRocksDb has moved the brakes, RocksDB brakes later because of memtables and L0; `l0` is then 1.0
// about midway between the numbers of files at which writes would have been slowed down and stopped
// (LsmGeometry::L0FilesAtOne).
//
// Options that the program changes by DB::SetOptions are noticed within about a second. If a brake is among them, that
// family's brakes are the program's from then on: weir moves and restores them no more. While the program disables
// automatic compactions, such as for a bulk load, `l0` and `debt` of that family are 0; MoveBrakes says what happens to
// the brakes.
//
// Closing: the monitor calls the database at every sample, so call Detach before the database is closed. Detach waits
// for a sample, a flush or a change of options that is under way. After Detach the monitor does not touch the database,
// and every sample fails with "database closed". Call RemoveFamily before a column family is dropped or its handle is
// destroyed.
//  * If the database was opened with options from PrepareRocksDb, which have a listener, the monitor may be left as it
//    is: it detaches when the database is closed (DB::Close or its destructor), and stops watching a family when its
//    handle is destroyed; both wait as Detach does. But a family that was dropped counts with its last level until its
//    handle is destroyed.
//  * Without that listener the program must call Detach and RemoveFamily. The monitor notices that the database was
//    closed before the next sample begins, unless the program set DBOptions::info_log; it cannot notice a closing
//    during a sample, a flush or a change of options, nor a handle that is destroyed, and then the behaviour is
//    undefined.
//
// Fork: in a child process that fork() made, the monitor does not touch the database; it may be destroyed there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"
#include "monitors/own_bytes.h"
#include "monitors/rocksdb_counters.h"
#include "monitors/rocksdb_options.h"

namespace weir {

struct RocksDbMonitorSettings {
  MonitorSettings monitor;
  uint64_t l0_threshold = 6;     // files, for the advice of ShouldThrottleWrites
  double score_threshold = 1.5;  // compaction score at which `score` is 1.0
  uint64_t own_budget_mb = 0;    // 0: an eighth of the memory target
  // Called with a sentence for the operator, in the thread that samples, when something happens that should not:
  // RocksDB brakes after MoveBrakes, which is told again only after ten seconds without a brake, or RocksDB does not
  // take its brakes. It may call Detach, but must neither stop nor destroy the monitor.
  std::function<void(const std::string& event)> on_event;
};
// Declares the settings, those of `monitor` included.
void Declare(SettingTable& table, RocksDbMonitorSettings& settings);
// Returns an error that names the first member, those of `monitor` included, that is not within its setting's range.
Status Check(const RocksDbMonitorSettings& settings);

// The figures from which the newest good sample was computed, for displays. A figure that says "highest" is that of the
// column family in which it is highest; the others are sums over the column families, or figures of the whole database.
struct RocksDbDetails {
  uint64_t l0_files = 0;       // highest
  double l0_files_at_one = 0;  // files at which `l0` of the same family is 1.0
  uint64_t immutable_memtables = 0;
  uint64_t debt_bytes = 0;
  double score = 0;                        // highest of the levels below 0
  std::vector<RocksDbLevel> levels;        // from L0 on; each score is the highest
  double l0_cycle_seconds = 0;             // time between two compactions of L0; highest
  double drain_bytes_per_second = 0;       // drain of L0 while busy, in bytes as the program wrote them
  double flush_bytes_per_second = 0;       // drain of the memtables while busy, in bytes as the program wrote them
  double background_bytes_per_second = 0;  // speed of flushes and compactions, in bytes on disk
  double disk_per_user_byte = 1;           // bytes of flushed files for each byte that the program wrote
  double delayed_bytes_per_second = 0;     // the rate to which RocksDB limits writers; 0: it does not
  bool writes_stopped = false;

  MemoryUse memory;
  uint64_t memory_target_bytes = 0;
  // The parts of `memory` that RocksDB uses. Memtables that are charged to the block cache are in both figures.
  uint64_t block_cache_bytes = 0;
  uint64_t block_cache_limit_bytes = 0;  // lower than the full size while memory is short; 0: weir knows no cache
  uint64_t pinned_bytes = 0;             // bytes of the block cache that are in use
  uint64_t memtable_bytes = 0;           // families that are not watched count, too
  // All memtables of the WriteBufferManager's databases, and the limit at which it stops their writers. Both are 0 if
  // the database has no manager that stops writers.
  uint64_t buffer_bytes = 0;
  uint64_t buffer_limit_bytes = 0;
  uint64_t table_reader_bytes = 0;
  uint64_t own_bytes = 0;  // bytes that AddOwnBytes reported

  uint64_t slowdowns = 0;  // RocksDB's counters: how often it recomputed a brake, not how often one began
  uint64_t stops = 0;
  // RocksDB's counters by cause. `write_buffer_manager` is weir's own: how often samples found that the manager had
  // begun to stop writers.
  std::map<std::string, uint64_t> stall_causes;
};

class RocksDbProbe;

class RocksDbMonitor final : public LoadMonitor {
 public:
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

  // `handles` are the column families to watch; if empty, the default one. The caller still owns the handles and the
  // database. Throws std::invalid_argument, with the mistake and the remedy, if a setting is out of its range, if the
  // database or a handle is null, if a handle belongs to another database, if two handles are of one family, or if a
  // family has no compaction (CheckCompaction). With `prepared`, the constructor also throws if the database was not
  // opened with the prepared options, or if the handle of a prepared family is missing.
  RocksDbMonitor(rocksdb::DB* db, Handles handles, const PreparedRocksDb& prepared,
                 const RocksDbMonitorSettings& settings = {}, const Clock& clock = Clock::System());
  RocksDbMonitor(rocksdb::DB* db, Handles handles, uint64_t memory_target_bytes,
                 const RocksDbMonitorSettings& settings = {}, const Clock& clock = Clock::System());

  // Makes the monitor stop using the database (see above), and restores a shrunk cache to its full size. A second call
  // does nothing.
  void Detach();
  // Returns false after Detach, and after the database was closed; if it has no listener and was not deleted, only
  // after the next sample. Never waits.
  bool attached() const;

  // Begins to watch a column family, such as one that was just created. If it has the options of a prepared family, its
  // brakes are moved, too. Returns an error if the family is watched already, for the reasons for which the constructor
  // throws, and if the database is closed.
  Status AddFamily(rocksdb::ColumnFamilyHandle* family);
  // Gives the brakes of the column family back and stops watching it. Call it before the family is dropped or its
  // handle is destroyed. Returns an error if the family is not watched, or if RocksDB does not take the brakes; in the
  // second case the family is not watched any more. Returns success if the database is closed.
  Status RemoveFamily(rocksdb::ColumnFamilyHandle* family);

  // For a program that begins or ends to limit its work while the database is open, as RocksDbThrottle does.
  // GiveBrakesBack puts the brakes of all families where the program's options had them; MoveBrakes puts them where
  // PrepareRocksDb did, if it moved them. Flushes merge as many memtables as before, because RocksDB cannot change that
  // number. After MoveBrakes the brakes for L0 and debt of a family are out of reach from the time when the program
  // disables its automatic compactions until, enabled again, they have worked the backlog off: RocksDB would otherwise
  // stop all writes at the moment they are enabled. Both return RocksDB's error if it does not take the brakes.
  Status MoveBrakes();
  Status GiveBrakesBack();

  // Reports memory of the program that grows with its load (queues, pinned iterators, output buffers): `bytes` when it
  // allocates them, and the same number below 0 when it frees them (own_bytes.h).
  void AddOwnBytes(int64_t bytes, OwnUse use = OwnUse::kHeld);
  uint64_t own_budget_bytes() const;

  // Returns the figures of the newest good sample.
  RocksDbDetails Details() const;

 private:
  RocksDbProbe& rocksdb_;  // the probe that LoadMonitor owns
};

}  // namespace weir
