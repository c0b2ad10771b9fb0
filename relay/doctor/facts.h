// Facts: all that `weir doctor` knows when it runs its checks (check.h). Gather (gather.h) fills them; tests make them
// up. A fact that could not be found out is left empty, and no check says anything about it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/held_file.h"
#include "config/status.h"
#include "monitors/memory_probe.h"
#include "relay/doctor/scrape.h"
#include "relay/limiters/served_limiters.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

struct SettingsFacts {
  RelayConfiguration relay;  // from the environment; all defaults if a value there cannot be read
  AllLimiterSettings limiters;
  size_t all = 0;                    // number of all settings
  size_t set = 0;                    // number of settings that the environment sets
  std::vector<Status> wrong;         // the errors for which a relay or a gate would refuse to start
  std::vector<std::string> unknown;  // warnings about unknown names (SettingTable::UnknownNames)
  // The time at which the certificate of WEIR_TLS_CERT expires, in seconds since 1970.
  std::optional<int64_t> certificate_expires_at;
  uint64_t memory_target_bytes = 0;  // the target in bytes, even if the setting is a share; 0 if it is not known
};

// The cgroups (control groups of Linux) that bound the relay or, if no relay runs, this program.
struct CgroupFacts {
  std::optional<uint64_t> memory_high_bytes;  // above this the kernel slows allocations down
  uint64_t oom_kills = 0;                     // number of processes that the kernel has killed for lack of memory
  double cpus = 0;                            // processors that the quota allows; 0: there is no quota
  uint64_t periods = 0;                       // number of periods of the quota so far
  uint64_t throttled_periods = 0;             // number of periods in which the quota was used up
};

// Shares of the last minute in which some or all tasks of the machine waited (/proc/pressure), in percent.
struct PressureFacts {
  double cpu_some = 0;
  double memory_full = 0;
  double io_full = 0;
};

struct HostFacts {
  unsigned cpus = 0;
  uint64_t memory_bytes = 0;
  std::optional<MemoryRoom> room;
  // Memory that can still be allocated, if the kernel bounds the sum of all allocations (overcommit_memory=2).
  std::optional<uint64_t> commit_left_bytes;
  bool huge_pages_always = false;
  std::optional<PressureFacts> pressure;
  std::optional<bool> clock_is_kept;  // true if the kernel says that a time service keeps the clock right
  // Number of files that a relay of this user may have open: the hard limit, to which a relay raises its own; 0: any.
  uint64_t most_files = 0;
  CgroupFacts cgroup;
};

// The process of the relay that uses the data directory, if it is a process of this machine and this user may look at
// it.
struct ProcessFacts {
  int process = 0;  // its id
  uint64_t swapped_bytes = 0;
  // The names of settings that had another value at the start of the process than in this environment.
  std::vector<std::string> other_settings;
};

// The time that an fdatasync takes after 4 KiB were appended to a file, as in a write-ahead log.
struct SyncFacts {
  int count = 0;  // number of measurements
  std::chrono::duration<double> median{};
  std::chrono::duration<double> worst{};
};

struct DirectoryFacts {
  std::string path;
  std::string holds;        // its contents, in words: "the events", "the quotas"
  bool hangs = false;       // true: the disk did not answer in time, and the members below are unknown
  bool is_file = false;     // true: the path is no directory
  bool exists = false;      // false: the members below describe the nearest directory above
  bool is_private = false;  // true: no other user should be able to look into the directory
  unsigned others = 0;      // permissions of group and others (mode & 077); 0 if a directory above keeps them out
  bool read_only = false;
  std::string file_system;  // "tmpfs", "NFS" or "SMB"; empty for others
  uint64_t bytes = 0;       // size of the disk
  uint64_t free_bytes = 0;  // free for users other than root
  uint64_t files = 0;       // inodes of the disk; 0 if the file system does not count them
  uint64_t free_files = 0;
  std::optional<SyncFacts> syncs;  // nullopt if nothing was measured
};

struct RocksDbFacts {
  std::string path;
  std::optional<LockHolder> holder;  // the process that has the database open
  bool exists = false;
  Status recognised;          // an error if weir cannot read the database; checked only if no process holds it
  uint64_t bytes = 0;         // size of all files
  uint64_t files = 0;         // number of files
  uint64_t log_bytes = 0;     // size of the write-ahead logs
  std::string corruption;     // the newest line of RocksDB's own log that reports corruption; empty if there is none
  double future_seconds = 0;  // time by which the newest file is ahead of the clock; 0 if it is not
};

struct PostgresFacts {
  std::string name;  // the address of the server, without the password
  Status reached;    // an error: the server was not reached, and the members below are unknown
  int version = 0;   // for example 150006
  std::string role;  // the role with which weir connects
  bool is_standby = false;
  bool may_monitor = false;  // the role is a member of pg_monitor
  Status tables;             // an error if weir's tables are wrong, or are missing and cannot be made
  uint64_t origins = 0;      // number of names under which relays and imports have ever saved
  std::string synchronous_commit;
  bool fsync = true;
  bool names_standbys = false;  // synchronous_standby_names is not empty
  uint64_t standbys = 0;
  uint64_t synchronous_standbys = 0;
  uint64_t lag_bytes = 0;  // lag of the standby that is furthest behind
  uint64_t max_wal_bytes = 0;
  uint64_t timed_checkpoints = 0;
  uint64_t requested_checkpoints = 0;
  uint64_t max_connections = 0;    // the most connections of clients, without the reserved ones
  uint64_t connections = 0;        // connections of clients now
  int64_t role_connections = -1;   // connections that the role may have; -1: any number
  double clock_ahead_seconds = 0;  // time by which the server's clock is ahead of this machine's
  std::chrono::duration<double> round_trip{};
};

// A running relay or gate, as its answers over HTTP describe it.
struct InstanceFacts {
  std::string url;
  bool is_local = false;        // it runs on this machine
  std::string problem;          // why the instance could not be asked; empty if it could
  bool nobody_listens = false;  // no connection could be made
  bool is_stranger = false;     // another program than weir answered
  Scrape metrics;               // the answer of /metrics
  bool ready = true;            // whether /readyz answered 200; true if it was not asked
  std::string ready_text;       // the answer of /readyz
  std::string health_text;      // the answer of /v1/health; empty if it was not asked or not answered

  // True for a relay, false for a gate.
  bool is_relay() const { return metrics.Find("weir_throttle_emergency").has_value(); }
};

struct Facts {
  SettingsFacts settings;
  HostFacts host;
  std::optional<ProcessFacts> process;
  std::vector<DirectoryFacts> directories;
  std::optional<RocksDbFacts> rocksdb;
  std::optional<PostgresFacts> postgres;
  std::vector<InstanceFacts> instances;
  std::string stranger;             // address at which another program answers in place of a relay or gate; empty: none
  double now_seconds = 0;           // seconds since 1970
  std::vector<std::string> unseen;  // things that could not be looked at, and why

  // True if a relay is, or may be, installed on this machine; false if there is only a gate.
  bool has_relay = true;
  // Returns true if a relay on RocksDB runs, and also if this user may not see whether one runs.
  bool relay_may_run() const { return !postgres && (!rocksdb || rocksdb->holder.has_value()); }
};

// Returns the relay on this machine, for checks that compare its metrics with the machine; null if there is none.
inline const InstanceFacts* LocalRelay(const Facts& facts) {
  for (const InstanceFacts& instance : facts.instances)
    if (instance.is_local && instance.is_relay()) return &instance;
  return nullptr;
}

}  // namespace weir
