// What `weir doctor` knows before it judges: facts that were gathered (gather.h) or, in tests, made up. What could not
// be looked at is left empty, and no check says anything of it.
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
  RelayConfiguration relay;  // as the environment has it; defaults where that is wrong
  AllLimiterSettings limiters;
  size_t all = 0;                                 // settings that there are
  size_t set = 0;                                 // by the environment
  std::vector<Status> wrong;                      // relay and gate refuse to start for these
  std::vector<std::string> unknown;               // ready warnings (SettingTable::UnknownNames)
  std::optional<int64_t> certificate_expires_at;  // of WEIR_TLS_CERT
  uint64_t memory_target_bytes = 0;               // resolved; 0: cannot be
};

// Of the cgroups that bound the relay, or this program where no relay runs.
struct CgroupFacts {
  std::optional<uint64_t> memory_high_bytes;  // where the kernel begins to hold allocations back
  uint64_t oom_kills = 0;
  double cpus = 0;  // that the quota is worth; 0: none
  uint64_t periods = 0;
  uint64_t throttled_periods = 0;
};

// Shares of the last minute in which somebody waited, 0..100.
struct PressureFacts {
  double cpu_some = 0;
  double memory_full = 0;
  double io_full = 0;
};

struct HostFacts {
  unsigned cpus = 0;
  uint64_t memory_bytes = 0;
  std::optional<MemoryRoom> room;
  std::optional<uint64_t> commit_left_bytes;  // where the kernel counts promises of memory (overcommit_memory=2)
  bool huge_pages_always = false;
  std::optional<PressureFacts> pressure;
  std::optional<bool> clock_is_kept;  // by something that told the kernel so
  uint64_t most_files = 0;            // that a relay may have open: the hard limit, to which it raises its own
  CgroupFacts cgroup;
};

// The relay that has the data directory, where it is known to be a process of this machine and may be looked at.
struct ProcessFacts {
  int process = 0;
  uint64_t swapped_bytes = 0;
  std::vector<std::string> other_settings;  // names whose value at its start differs from this environment's
};

// fdatasync after each 4 KiB that are appended, as a log is written.
struct SyncFacts {
  int count = 0;
  std::chrono::duration<double> median{};
  std::chrono::duration<double> worst{};
};

struct DirectoryFacts {
  std::string path;
  std::string holds;        // "the events", "the quotas"
  bool hangs = false;       // its disk did not answer in time; nothing that follows is known
  bool is_file = false;     // or anything else that is no directory
  bool exists = false;      // else what follows is of the nearest directory above
  bool is_private = false;  // nobody else may look into it
  unsigned others = 0;      // permissions that group and others have, as far as they come to it
  bool read_only = false;
  std::string file_system;  // "tmpfs", "NFS", "SMB"; empty: one that needs no word
  uint64_t bytes = 0;
  uint64_t free_bytes = 0;  // for who is not root
  uint64_t files = 0;       // inodes; 0: not counted there
  uint64_t free_files = 0;
  std::optional<SyncFacts> syncs;
};

struct RocksDbFacts {
  std::string path;
  std::optional<LockHolder> holder;
  bool exists = false;
  Status recognised;  // what is wrong with it; only looked at where nobody holds it
  uint64_t bytes = 0;
  uint64_t files = 0;
  uint64_t log_bytes = 0;     // of write-ahead logs
  std::string corruption;     // the newest line of RocksDB's own log that speaks of one
  double future_seconds = 0;  // by which its newest file is ahead of the clock
};

struct PostgresFacts {
  std::string name;  // without the password
  Status reached;    // nothing that follows is known where it was not
  int version = 0;   // 150006
  std::string role;
  bool is_standby = false;
  bool may_monitor = false;
  Status tables;         // what is wrong with weir's, or with making them
  uint64_t origins = 0;  // names under which relays and imports have ever saved
  std::string synchronous_commit;
  bool fsync = true;
  bool names_standbys = false;  // synchronous_standby_names
  uint64_t standbys = 0;
  uint64_t synchronous_standbys = 0;
  uint64_t lag_bytes = 0;  // of the one that lags most
  uint64_t max_wal_bytes = 0;
  uint64_t timed_checkpoints = 0;
  uint64_t requested_checkpoints = 0;
  uint64_t max_connections = 0;   // without those reserved
  uint64_t connections = 0;       // of clients, now
  int64_t role_connections = -1;  // that the role may have; -1: any number
  double clock_ahead_seconds = 0;
  std::chrono::duration<double> round_trip{};
};

// A relay or gate that runs, by its answers over HTTP.
struct InstanceFacts {
  std::string url;
  bool is_local = false;  // of this machine
  std::string problem;    // why it could not be asked; empty: it was
  bool nobody_listens = false;
  bool is_stranger = false;  // something answered that is no weir
  Scrape metrics;
  bool ready = true;
  std::string ready_text;   // of /readyz
  std::string health_text;  // of /v1/health, where that may be asked

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
  std::string stranger;             // address of something else that answers where relay or gate would listen
  double now_seconds = 0;           // since 1970
  std::vector<std::string> unseen;  // what could not be looked at, and why

  // Whether a relay is or may be on this machine: else it has a gate alone.
  bool has_relay = true;
  // True also where this user may not see whether.
  bool relay_may_run() const { return !postgres && (!rocksdb || rocksdb->holder.has_value()); }
};

// Of the instances on this machine the relay's: where what it counts is to be set against what the machine has.
inline const InstanceFacts* LocalRelay(const Facts& facts) {
  for (const InstanceFacts& instance : facts.instances)
    if (instance.is_local && instance.is_relay()) return &instance;
  return nullptr;
}

}  // namespace weir
