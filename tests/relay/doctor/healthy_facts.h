// Makes facts for which the doctor reports no finding: those of a relay on a machine that has everything it needs.
#pragma once

#include <string>

#include "relay/doctor/facts.h"
#include "relay/process/version.h"

namespace weir {

inline std::string HealthyMetrics() {
  return "# HELP weir_build_info 1\n"
         "weir_build_info{version=\"" +
         std::string(Version()) +
         "\",rocksdb=\"7.8.3\"} 1\n"
         "process_start_time_seconds 1799996400\n"
         "process_resident_memory_bytes 300000000\n"
         "process_open_fds 40\n"
         "process_max_fds 20000\n"
         "nostr_client_messages_total{verb=\"EVENT\"} 100000\n"
         "nostr_client_messages_total{verb=\"REQ\"} 100000\n"
         "weir_refusals_total{prefix=\"rate-limited\"} 20\n"
         "weir_sockets_accepted_total 1000\n"
         "weir_throttle_emergency 0\n"
         "weir_throttle_sensor_lost 0\n"
         "weir_throttle_open{class=\"interactive\"} 1\n"
         "weir_throttle_open{class=\"bulk\"} 0\n"
         "weir_throttle_limiting{class=\"bulk\",signal=\"l0\"} 1\n"
         "weir_throttle_escapes_total 0\n"
         "weir_rocksdb_l0_files 2\n"
         "weir_memory_used_bytes 280000000\n"
         "weir_memory_target_bytes 1468006400\n"
         "weir_quota_config_good 1\n";
}

inline Facts HealthyFacts() {
  Facts facts;
  facts.now_seconds = 1'800'000'000;
  facts.settings.memory_target_bytes = uint64_t{1400} << 20;
  facts.host.cpus = 4;
  facts.host.memory_bytes = uint64_t{8} << 30;
  facts.host.room = MemoryRoom{.cgroup_limit_bytes = uint64_t{4} << 30,
                               .cgroup_used_bytes = uint64_t{1} << 30,
                               .host_available_bytes = uint64_t{6} << 30};
  facts.host.huge_pages_always = true;
  facts.host.pressure = PressureFacts{.cpu_some = 20, .memory_full = 0.1, .io_full = 3};
  facts.host.clock_is_kept = true;
  facts.host.most_files = 524288;
  facts.host.cgroup = {.memory_high_bytes = uint64_t{3} << 30, .cpus = 3, .periods = 10000, .throttled_periods = 20};
  facts.process = ProcessFacts{.process = 1234, .swapped_bytes = 1 << 20};
  facts.directories.push_back(
      {.path = "/var/lib/weir",
       .holds = "the events",
       .exists = true,
       .is_private = true,
       .bytes = uint64_t{100} << 30,
       .free_bytes = uint64_t{50} << 30,
       .files = 1'000'000,
       .free_files = 900'000,
       .syncs = SyncFacts{.count = 24, .median = std::chrono::milliseconds(1), .worst = std::chrono::milliseconds(9)}});
  facts.rocksdb = RocksDbFacts{.path = "/var/lib/weir/events",
                               .holder = LockHolder{.process = 1234, .name = "weir relay", .address = "http://x"},
                               .exists = true,
                               .bytes = 12'000'000,
                               .files = 14,
                               .log_bytes = 1'000'000};
  facts.instances.push_back(
      {.url = "http://127.0.0.1:3334", .is_local = true, .metrics = Scrape(HealthyMetrics()), .ready_text = "ready"});
  return facts;
}

// Returns such facts for a relay on a PostgreSQL that waits for a standby.
inline Facts HealthyFactsOnPostgres() {
  Facts facts = HealthyFacts();
  facts.rocksdb.reset();
  facts.settings.relay.storage.store = "postgres://weir@db1,db2/relay";
  facts.postgres = PostgresFacts{.name = "postgres://weir@db1,db2/relay",
                                 .version = 150006,
                                 .role = "weir",
                                 .may_monitor = true,
                                 .origins = 32,
                                 .synchronous_commit = "on",
                                 .names_standbys = true,
                                 .standbys = 1,
                                 .synchronous_standbys = 1,
                                 .lag_bytes = 1000,
                                 .max_wal_bytes = uint64_t{1} << 30,
                                 .timed_checkpoints = 100,
                                 .requested_checkpoints = 20,
                                 .max_connections = 97,
                                 .connections = 20,
                                 .clock_ahead_seconds = 0.01,
                                 .round_trip = std::chrono::milliseconds(1)};
  return facts;
}

}  // namespace weir
