// The facts from which `weir doctor` judges: gathered (gather.h) or, in tests, made up. Facts that could not be looked
// at are left empty, and no check says anything about them.
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
  RelayConfiguration relay;  // from the environment; defaults if that is wrong
  AllLimiterSettings limiters;
  size_t all = 0;                                 // number of settings
  size_t set = 0;                                 // number that the environment sets
  std::vector<Status> wrong;                      // relay and gate refuse to start for these
  std::vector<std::string> unknown;               // ready warnings (SettingTable::UnknownNames)
  std::optional<int64_t> certificate_expires_at;  // that of WEIR_TLS_CERT
  uint64_t memory_target_bytes = 0;               // resolved; 0 if it cannot be
};

// Facts about the cgroups that bound the relay, or this program if no relay runs.
struct CgroupFacts {
  std::optional<uint64_t> memory_high_bytes;  // from here on the kernel holds allocations back
  uint64_t oom_kills = 0;
  double cpus = 0;  // processors that the quota allows; 0: no quota
  uint64_t periods = 0;
  uint64_t throttled_periods = 0;
};

// Shares of the last minute in which tasks waited, 0..100.
struct PressureFacts {
  double cpu_some = 0;
  double memory_full = 0;
  double io_full = 0;
};

struct HostFacts {
  unsigned cpus = 0;
  uint64_t memory_bytes = 0;
  std::optional<MemoryRoom> room;
  std::optional<uint64_t> commit_left_bytes;  // if the kernel counts promises of memory (overcommit_memory=2)
  bool huge_pages_always = false;
  std::optional<PressureFacts> pressure;
  std::optional<bool> clock_is_kept;  // true if a time service told the kernel so
  uint64_t most_files = 0;            // files that a relay may have open: the hard limit, to which it raises its own
  CgroupFacts cgroup;
};

// The relay that has the data directory, if it is known to be a process of this machine and this user may look at it.
struct ProcessFacts {
  int process = 0;
  uint64_t swapped_bytes = 0;
  std::vector<std::string> other_settings;  // names whose value at its start differs from this environment's
};

// Times of an fdatasync after each 4 KiB that are appended, as a log is written.
struct SyncFacts {
  int count = 0;
  std::chrono::duration<double> median{};
  std::chrono::duration<double> worst{};
};

struct DirectoryFacts {
  std::string path;
  std::string holds;        // "the events", "the quotas"
  bool hangs = false;       // its disk did not answer in time; the members below are unknown
  bool is_file = false;     // it is a file, or anything else that is no directory
  bool exists = false;      // if not, the members below describe the nearest directory above
  bool is_private = false;  // no other user should be able to look into it
  unsigned others = 0;      // permissions that group and others have, if they can come to it
  bool read_only = false;
  std::string file_system;  // "tmpfs", "NFS", "SMB"; empty for one that needs no word
  uint64_t bytes = 0;
  uint64_t free_bytes = 0;  // for users other than root
  uint64_t files = 0;       // inodes; 0 if they are not counted there
  uint64_t free_files = 0;
  std::optional<SyncFacts> syncs;
};

struct RocksDbFacts {
  std::string path;
  std::optional<LockHolder> holder;
  bool exists = false;
  Status recognised;  // an error says what is wrong with it; checked only if no process holds it
  uint64_t bytes = 0;
  uint64_t files = 0;
  uint64_t log_bytes = 0;     // in write-ahead logs
  std::string corruption;     // the newest line of RocksDB's own log that speaks of one
  double future_seconds = 0;  // how far its newest file is ahead of the clock
};

struct PostgresFacts {
  std::string name;  // without the password
  Status reached;    // on an error the members below are unknown
  int version = 0;   // 150006
  std::string role;
  bool is_standby = false;
  bool may_monitor = false;
  Status tables;         // an error says what is wrong with weir's tables, or with making them
  uint64_t origins = 0;  // names under which relays and imports have ever saved
  std::string synchronous_commit;
  bool fsync = true;
  bool names_standbys = false;  // synchronous_standby_names
  uint64_t standbys = 0;
  uint64_t synchronous_standbys = 0;
  uint64_t lag_bytes = 0;  // that of the standby that lags most
  uint64_t max_wal_bytes = 0;
  uint64_t timed_checkpoints = 0;
  uint64_t requested_checkpoints = 0;
  uint64_t max_connections = 0;   // without reserved ones
  uint64_t connections = 0;       // clients' connections now
  int64_t role_connections = -1;  // connections that the role may have; -1: any number
  double clock_ahead_seconds = 0;
  std::chrono::duration<double> round_trip{};
};

// A relay or gate that runs, by its answers over HTTP.
struct InstanceFacts {
  std::string url;
  bool is_local = false;  // on this machine
  std::string problem;    // why it could not be asked; empty if it could
  bool nobody_listens = false;
  bool is_stranger = false;  // another program than weir answered
  Scrape metrics;
  bool ready = true;
  std::string ready_text;   // the answer of /readyz
  std::string health_text;  // the answer of /v1/health, if that may be asked

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
  std::string stranger;             // address where another program answers in place of relay or gate
  double now_seconds = 0;           // since 1970
  std::vector<std::string> unseen;  // things that could not be looked at, and why

  // True if a relay is or may be on this machine; else it has only a gate.
  bool has_relay = true;
  // True also if this user may not see whether one runs.
  bool relay_may_run() const { return !postgres && (!rocksdb || rocksdb->holder.has_value()); }
};

// Returns the relay on this machine, for checks that compare its metrics with the machine; null if there is none.
inline const InstanceFacts* LocalRelay(const Facts& facts) {
  for (const InstanceFacts& instance : facts.instances)
    if (instance.is_local && instance.is_relay()) return &instance;
  return nullptr;
}

}  // namespace weir
