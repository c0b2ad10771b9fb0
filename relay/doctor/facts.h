// Facts: the data on which the checks of `weir doctor` (check.h) work. Gather (gather.h) fills in the facts; tests make
// them up. A fact that Gather could not find out stays empty, and no check reports anything about it.
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
  RelayConfiguration relay;  // from the environment; all defaults if a value there is not valid
  AllLimiterSettings limiters;
  size_t all = 0;                    // number of all settings
  size_t set = 0;                    // number of settings that the environment sets
  std::vector<Status> wrong;         // the errors with which a relay or `weir gate` would refuse to start
  std::vector<std::string> unknown;  // warnings about unknown names (SettingTable::UnknownNames)
  // The time at which the certificate of WEIR_TLS_CERT expires, in seconds since 1970.
  std::optional<int64_t> certificate_expires_at;
  uint64_t memory_target_bytes = 0;  // the memory target, also if the setting is 0 (a share); 0: not known
};

// The limits and counters of the cgroups (control groups of Linux) that contain the relay or, if its process is not
// known, this program.
struct CgroupFacts {
  std::optional<uint64_t> memory_high_bytes;  // memory.high, above which the kernel slows down allocations
  uint64_t oom_kills = 0;                     // number of processes that the kernel has killed for lack of memory
  double cpus = 0;                            // processors that the CPU quota allows; 0: there is no quota
  uint64_t periods = 0;                       // number of periods so far; each period has the quota anew
  uint64_t throttled_periods = 0;             // number of these periods in which the quota was used up
};

// The percentages of the last minute for which tasks of the machine waited (/proc/pressure). `some`: at least one task
// waited; `full`: all active tasks waited.
struct PressureFacts {
  double cpu_some = 0;
  double memory_full = 0;
  double io_full = 0;
};

struct HostFacts {
  unsigned cpus = 0;
  uint64_t memory_bytes = 0;
  std::optional<MemoryRoom> room;  // the free memory, and the limit of the cgroup
  // The bytes that programs can still allocate; nullopt if the kernel does not limit the sum of all allocations
  // (vm.overcommit_memory is not 2).
  std::optional<uint64_t> commit_left_bytes;
  bool huge_pages_always = false;
  std::optional<PressureFacts> pressure;
  std::optional<bool> clock_is_kept;  // true if the kernel says that a service synchronises the clock
  // The number of files that a relay of this user may have open; 0: any number. This is the hard limit, because a relay
  // raises its soft limit to the hard one.
  uint64_t most_files = 0;
  CgroupFacts cgroup;
};

// The process of the relay that has the data directory open, if it runs on this machine and this user may look at it.
struct ProcessFacts {
  int process = 0;  // the process id
  uint64_t swapped_bytes = 0;
  // The names of the settings whose values in the relay's environment and in this program's environment differ.
  std::vector<std::string> other_settings;
};

// The time that an fdatasync takes after an append of 4 KiB to a file, as a write-ahead log does it.
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
  unsigned others = 0;      // permissions of group and others (mode & 077); 0 if a directory above denies access
  bool read_only = false;
  std::string file_system;  // "tmpfs", "NFS" or "SMB"; empty for any other
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
  Status recognised;          // an error if weir cannot read the database; not always checked (LookAtRocksDb)
  uint64_t bytes = 0;         // size of all files
  uint64_t files = 0;         // number of files
  uint64_t log_bytes = 0;     // size of the write-ahead logs
  std::string corruption;     // the newest line of RocksDB's own log that reports corruption; empty if there is none
  double future_seconds = 0;  // time by which the newest file is ahead of the clock; 0: not ahead
};

struct PostgresFacts {
  std::string name;  // the address of the server, without the password
  Status reached;    // an error if the server was not reached; the members below are then unknown
  int version = 0;   // for example 150006
  std::string role;  // the role (user) as which weir connects
  bool is_standby = false;
  bool may_monitor = false;              // the role is a member of pg_monitor
  Status tables;                         // an error if weir's tables are wrong, or are missing and cannot be made
  uint64_t origins = 0;                  // number of names under which relays and imports have ever saved events
  std::string left_limit;                // the limit that an interrupted weir_cut has left; empty: none
  std::vector<uint16_t> searched_kinds;  // the kinds whose words the database has, sorted
  std::string synchronous_commit;
  bool fsync = true;
  bool names_standbys = false;  // synchronous_standby_names is not empty
  uint64_t standbys = 0;
  uint64_t synchronous_standbys = 0;
  uint64_t lag_bytes = 0;  // lag of the standby that is furthest behind
  uint64_t max_wal_bytes = 0;
  uint64_t timed_checkpoints = 0;
  uint64_t requested_checkpoints = 0;
  uint64_t max_connections = 0;    // connections that clients may have, without the reserved ones
  uint64_t connections = 0;        // connections of clients now
  int64_t role_connections = -1;   // connections that `role` may have; -1: any number
  double clock_ahead_seconds = 0;  // time by which the server's clock is ahead of this machine's
  std::chrono::duration<double> round_trip{};
};

// A running relay or gate (`weir gate`), as its answers over HTTP describe it.
struct InstanceFacts {
  std::string url;
  bool is_local = false;        // true if the instance runs on this machine
  std::string problem;          // why there is no usable answer of /metrics; empty if there is one
  bool nobody_listens = false;  // no connection could be made
  bool is_stranger = false;     // a program other than weir answered
  Scrape metrics;               // the answer of /metrics
  bool ready = true;            // whether /readyz answered with 200; true if it was not requested
  std::string ready_text;       // the answer of /readyz
  std::string health_text;      // the answer of /v1/health; empty if it was not requested or there is none

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
  std::string stranger;             // address of the settings, if a program other than weir answers there; else empty
  double now_seconds = 0;           // seconds since 1970
  std::vector<std::string> unseen;  // the things that Gather could not look at, and why

  // False if there is a gate on this machine and no sign of a relay.
  bool has_relay = true;
  // Returns true if a process, such as a relay, has the RocksDB database open, or if it is not known whether one has.
  // Returns false if the store is PostgreSQL.
  bool relay_may_run() const { return !postgres && (!rocksdb || rocksdb->holder.has_value()); }
};

// Returns the first relay that answered on this machine; null if there is none. Checks use it to compare the relay's
// metrics with the machine.
inline const InstanceFacts* LocalRelay(const Facts& facts) {
  for (const InstanceFacts& instance : facts.instances)
    if (instance.is_local && instance.is_relay()) return &instance;
  return nullptr;
}

}  // namespace weir
