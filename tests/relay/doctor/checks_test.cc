// Each check on both sides of the point at which it begins to speak, with made-up facts.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "relay/doctor/check.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/doctor/healthy_facts.h"

namespace weir {
namespace {

constexpr uint64_t kMebi = uint64_t{1} << 20;

std::vector<std::string> Names(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& finding : findings) names.emplace_back(finding.name);
  return names;
}

std::string Printed(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += std::string(finding.name) + ": " + finding.saw + "\n";
  return text;
}

void Say(Facts& facts, const std::string& sample, double value) {
  // The newest sample of a name counts.
  facts.instances[0].metrics = Scrape(HealthyMetrics() + sample + " " + std::to_string(value) + "\n");
}

DirectoryFacts& Disk(Facts& facts) { return facts.directories[0]; }

struct Case {
  std::string name;  // the finding's
  Severity severity;
  std::string part;  // a part of what was seen, why, or what to do
  std::function<void(Facts& facts)> make;
  bool on_postgres = false;
};

std::vector<Case> CasesOfSettings() {
  constexpr auto kAdvice = Severity::kAdvice;
  constexpr auto kWarning = Severity::kWarning;
  constexpr auto kBroken = Severity::kBroken;
  return {
      {"settings-wrong", kBroken, "WEIR_PORT=x",
       [](Facts& f) { f.settings.wrong = {Status::Error("WEIR_PORT=x: not a number")}; }},
      {"setting-unknown", kWarning, "did you mean", [](Facts& f) { f.settings.unknown = {"X; did you mean Y?"}; }},
      {"settings-differ", kAdvice, "WEIR_DB_SYNC", [](Facts& f) { f.process->other_settings = {"WEIR_DB_SYNC"}; }},
      {"sync-off", kAdvice, "WEIR_DB_SYNC=off",
       [](Facts& f) { f.settings.relay.storage.rocksdb.sync = SyncMode::kOff; }},
      {"sync-off", kAdvice, "200 ms", [](Facts& f) { f.settings.relay.storage.rocksdb.sync = SyncMode::kInterval; }},
      {"throttle-off", kWarning, "throttled", [](Facts& f) { f.settings.relay.storage.limiter.enabled = false; }},
      {"relay-url-missing", kWarning, "0.0.0.0", [](Facts& f) { f.settings.relay.server.listen = "0.0.0.0"; }},
      {"proxy-not-trusted", kWarning, "WEIR_TRUSTED_PROXIES",
       [](Facts& f) { f.settings.relay.relay.url = "wss://relay.example"; }},
      {"certificate-expires", kWarning, "13 days",
       [](Facts& f) { f.settings.certificate_expires_at = 1'800'000'000 + 13 * 86400; }},
      {"certificate-expires", kBroken, "expired",
       [](Facts& f) { f.settings.certificate_expires_at = 1'800'000'000 - 60; }},
  };
}

std::vector<Case> CasesOfHost() {
  constexpr auto kAdvice = Severity::kAdvice;
  constexpr auto kWarning = Severity::kWarning;
  return {
      {"file-limit", kAdvice, "LimitNOFILE=11024", [](Facts& f) { Say(f, "process_max_fds", 1024); }},
      {"file-limit", kAdvice, "started here may have 1024",
       [](Facts& f) {
         f.instances.clear();
         f.rocksdb->holder.reset();
         f.host.most_files = 1024;
         f.rocksdb->exists = false;
       }},
      {"memory-limit-tight", kWarning, "1500 MiB",
       [](Facts& f) {
         f.host.room->cgroup_limit_bytes = 1500 * kMebi;
         f.host.room->cgroup_used_bytes = 0;
       }},
      {"memory-target-large", kWarning,
       "WEIR_RATE_LIMIT_TARGET_MEMORY_MB=", [](Facts& f) { f.host.room->host_available_bytes = 1000 * kMebi; }},
      {"memory-high", kWarning, "1600 MiB", [](Facts& f) { f.host.cgroup.memory_high_bytes = 1600 * kMebi; }},
      {"oom-killed", kWarning, "2 times", [](Facts& f) { f.host.cgroup.oom_kills = 2; }},
      {"cpu-throttled", kWarning, "20 %", [](Facts& f) { f.host.cgroup.throttled_periods = 2000; }},
      {"threads-beyond-quota", kAdvice, "WEIR_WORKER_THREADS=2",
       [](Facts& f) {
         f.host.cpus = 16;
         f.host.cgroup.cpus = 1.5;
       }},
      {"disk-pressure", kWarning, "20 %", [](Facts& f) { f.host.pressure->io_full = 20; }},
      {"memory-pressure", kWarning, "5.0 %", [](Facts& f) { f.host.pressure->memory_full = 5; }},
      {"cpu-pressure", kAdvice, "80 %", [](Facts& f) { f.host.pressure->cpu_some = 80; }},
      {"swapped", kWarning, "64 MiB", [](Facts& f) { f.process->swapped_bytes = 64 * kMebi; }},
      {"commit-limit", kWarning, "vm.overcommit_memory=2", [](Facts& f) { f.host.commit_left_bytes = 100 * kMebi; }},
      {"huge-pages", kAdvice, "madvise", [](Facts& f) { Say(f, "process_resident_memory_bytes", 900e6); }},
      {"clock-not-kept", kAdvice, "900 s", [](Facts& f) { f.host.clock_is_kept = false; }},
  };
}

std::vector<Case> CasesOfDisk() {
  constexpr auto kAdvice = Severity::kAdvice;
  constexpr auto kWarning = Severity::kWarning;
  constexpr auto kBroken = Severity::kBroken;
  using std::chrono::milliseconds;
  return {
      {"disk-full", kWarning, "1.07 GB free", [](Facts& f) { Disk(f).free_bytes = 1024 * kMebi - 1; }},
      {"disk-full", kBroken, "free of 107 GB", [](Facts& f) { Disk(f).free_bytes = 64 * kMebi - 1; }},
      {"disk-full", kWarning, "free of 1.10 TB",
       [](Facts& f) {
         Disk(f).bytes = uint64_t{1} << 40;
         Disk(f).free_bytes = 9000 * kMebi;
       }},
      {"disk-files", kWarning, "999", [](Facts& f) { Disk(f).free_files = 999; }},
      {"disk-files", kBroken, "9 more", [](Facts& f) { Disk(f).free_files = 9; }},
      {"disk-read-only", kBroken, "read-only", [](Facts& f) { Disk(f).read_only = true; }},
      {"directory-open", kWarning, "chmod go= /var/lib/weir", [](Facts& f) { Disk(f).others = 0055; }},
      {"directory-open", kWarning, "chmod go= '/var/a b'",
       [](Facts& f) {
         Disk(f).path = "/var/a b";
         Disk(f).others = 0055;
       }},
      {"directory-wrong", kBroken, "not a directory", [](Facts& f) { Disk(f).is_file = true; }},
      {"disk-hangs", kBroken, "has not answered", [](Facts& f) { Disk(f) = {.path = "/d", .hangs = true}; }},
      {"disk-forgets", kWarning, "tmpfs", [](Facts& f) { Disk(f).file_system = "tmpfs"; }},
      {"disk-on-network", kWarning, "NFS", [](Facts& f) { Disk(f).file_system = "NFS"; }},
      {"sync-slow", kAdvice, "20 ms", [](Facts& f) { Disk(f).syncs->median = milliseconds(20); }},
      {"sync-slow", kWarning, "100 ms", [](Facts& f) { Disk(f).syncs->median = milliseconds(100); }},
      {"sync-slow", kWarning, "1000 ms", [](Facts& f) { Disk(f).syncs->worst = milliseconds(1000); }},
      {"database-wrong", kBroken, "newer weir",
       [](Facts& f) { f.rocksdb->recognised = Status::Error("it was written by a newer weir"); }},
      {"database-corruption", kWarning, "block checksum mismatch",
       [](Facts& f) { f.rocksdb->corruption = "2027-01-14T08:00:00Z Corruption: block checksum mismatch"; }},
      {"database-log-large", kWarning, "1.07 GB", [](Facts& f) { f.rocksdb->log_bytes = 1024 * kMebi; }},
      {"clock-went-back", kWarning, "5 min ahead", [](Facts& f) { f.rocksdb->future_seconds = 300; }},
      {"disk-budget-too-large", kWarning, "WEIR_MAX_DISK_GB=48.82",
       [](Facts& f) { f.settings.relay.retention.max_disk_gb = 48.83; }},
  };
}

std::vector<Case> CasesOfPostgres() {
  constexpr auto kAdvice = Severity::kAdvice;
  constexpr auto kWarning = Severity::kWarning;
  constexpr auto kBroken = Severity::kBroken;
  std::vector<Case> cases = {
      {"postgres-unreachable", kBroken, "Connection refused",
       [](Facts& f) { f.postgres->reached = Status::Error("Connection refused"); }},
      {"postgres-standby-only", kBroken, "standby", [](Facts& f) { f.postgres->is_standby = true; }},
      {"postgres-tables", kBroken, "may not make them",
       [](Facts& f) { f.postgres->tables = Status::Error("weir may not make them"); }},
      {"postgres-rights", kWarning, "GRANT pg_monitor TO \"weir\";", [](Facts& f) { f.postgres->may_monitor = false; }},
      {"postgres-rights", kWarning, "GRANT pg_monitor TO \"my-\"\"role\";",
       [](Facts& f) {
         f.postgres->may_monitor = false;
         f.postgres->role = "my-\"role";
       }},
      {"postgres-standby-missing", kBroken, "none of those standbys",
       [](Facts& f) { f.postgres->standbys = f.postgres->synchronous_standbys = 0; }},
      {"postgres-standbys-asynchronous", kAdvice, "ANY 1 (*)", [](Facts& f) { f.postgres->names_standbys = false; }},
      {"postgres-standby-behind", kWarning, "64 MiB", [](Facts& f) { f.postgres->lag_bytes = 65 * kMebi; }},
      {"postgres-not-on-disk", kWarning, "synchronous_commit=off",
       [](Facts& f) {
         f.postgres->synchronous_commit = "off";
         f.postgres->names_standbys = true;
       }},
      {"postgres-not-on-disk", kWarning, "fsync=off", [](Facts& f) { f.postgres->fsync = false; }},
      {"postgres-wal-small", kAdvice, "max_wal_size = '4GB'",
       [](Facts& f) { f.postgres->requested_checkpoints = 101; }},
      {"postgres-connections", kBroken, "takes 7 to 37 connections", [](Facts& f) { f.postgres->max_connections = 6; }},
      {"postgres-connections", kWarning, "takes 7 to 37 connections",
       [](Facts& f) {
         f.postgres->max_connections = 36;
         f.postgres->connections = 7;
       }},
      {"postgres-connections", kBroken, "the role may have 5", [](Facts& f) { f.postgres->role_connections = 5; }},
      {"postgres-connections", kWarning, "90 of the server's 97", [](Facts& f) { f.postgres->connections = 90; }},
      {"postgres-far", kAdvice, "20 ms", [](Facts& f) { f.postgres->round_trip = std::chrono::milliseconds(20); }},
      {"postgres-clock", kAdvice, "3 s ahead", [](Facts& f) { f.postgres->clock_ahead_seconds = 3; }},
      {"postgres-clock", kWarning, "1 min behind", [](Facts& f) { f.postgres->clock_ahead_seconds = -60; }},
      {"postgres-names", kAdvice, "33 names", [](Facts& f) { f.postgres->origins = 33; }},
      {"postgres-partitions", kWarning, "CHECK (x)", [](Facts& f) { f.postgres->left_limit = "CHECK (x)"; }},
      {"postgres-search-kinds", kWarning, "WEIR_SEARCH_KINDS=1,42,30023",
       [](Facts& f) {
         f.settings.relay.relay.search_kinds = "30023,1";
         f.postgres->searched_kinds = {1, 42};
       }},
      {"postgres-search-kinds", kWarning, "is not set", [](Facts& f) { f.postgres->searched_kinds = {1}; }},
  };
  for (Case& c : cases) c.on_postgres = true;
  return cases;
}

std::vector<Case> CasesOfInstance() {
  constexpr auto kAdvice = Severity::kAdvice;
  constexpr auto kWarning = Severity::kWarning;
  constexpr auto kBroken = Severity::kBroken;
  const auto sample = [](const std::string& name, double value) {
    return [name, value](Facts& facts) { Say(facts, name, value); };
  };
  return {
      {"relay-down", kWarning, "No relay runs on /var/lib/weir/events",
       [](Facts& f) {
         f.rocksdb->holder.reset();
         f.instances.clear();
       }},
      {"instance-silent", kBroken, "no answer", [](Facts& f) { f.instances[0].problem = "no answer within 5 s"; }},
      {"port-taken", kBroken, "127.0.0.1:3334", [](Facts& f) { f.stranger = "127.0.0.1:3334"; }},
      {"not-ready", kBroken, "cannot be stored",
       [](Facts& f) {
         f.instances[0].ready = false;
         f.instances[0].ready_text = "events cannot be stored: No space left on device";
       }},
      {"emergency", kBroken, "WEIR_RATE_LIMIT_TARGET_MEMORY_MB=2100",
       [](Facts& f) {
         Say(f, "weir_throttle_emergency", 1);
         f.instances[0].ready = false;
       }},
      {"sensor-lost", kWarning, "sensor", sample("weir_throttle_sensor_lost", 1)},
      {"disk-budget-full", kWarning, "imports wait", sample("weir_disk_budget_room", 1)},
      {"disk-budget-full", kWarning, "strangers", sample("weir_disk_budget_room", 2)},
      {"disk-budget-full", kBroken, "no event is taken", sample("weir_disk_budget_room", 3)},
      {"retention-hindered", kWarning, "at /live", sample("weir_retention_hindered", 1)},
      {"config-not-taken", kWarning, "file has: rules", sample("weir_rules_config_good", 0)},
      {"emergency", kBroken, "this machine has no more to give",
       [](Facts& f) {
         Say(f, "weir_throttle_emergency", 1);
         f.host.room->host_available_bytes = 1300 * kMebi;
       }},
      {"writes-failed", kAdvice, "1 event could", sample("weir_commit_failed_events_total", 1)},
      {"writes-failed", kWarning, "10 events", sample("weir_commit_failed_events_total", 10)},
      {"engine-braked", kAdvice, "1 time since it started 1 h ago", sample("weir_throttle_escapes_total", 1)},
      {"engine-braked", kWarning, "2 times", sample("weir_throttle_escapes_total", 2)},
      {"engine-braked", kWarning, "WEIR_IMPORT_SETPOINT=0.3",
       [](Facts& f) {
         f.settings.relay.storage.limiter.bulk.setpoint = 0.4;
         f.settings.relay.storage.limiter.write.setpoint = 0.25;
         Say(f, "weir_throttle_escapes_total", 2);
       }},
      {"clients-held", kAdvice, "signal heap",
       [](Facts& f) {
         f.instances[0].metrics = Scrape(HealthyMetrics() +
                                         "weir_throttle_open{class=\"interactive\"} 0\n"
                                         "weir_throttle_limiting{class=\"interactive\",signal=\"heap\"} 1\n");
       }},
      {"clients-held", kAdvice, "signal memory",
       [](Facts& f) {
         f.instances[0].metrics = Scrape(HealthyMetrics() +
                                         "weir_throttle_open{class=\"interactive\"} 0\n"
                                         "weir_throttle_limiting{class=\"interactive\",signal=\"memory\"} 1\n");
       }},
      {"clients-refused", kWarning, "2.00k answers to 200k requests",
       sample("weir_refusals_total{prefix=\"rate-limited\"}", 2000)},
      {"connections-refused", kWarning, "WEIR_MAX_CONNECTIONS=20000",
       sample("weir_sockets_refused_total{reason=\"connections\"}", 10)},
      {"address-full", kWarning, "WEIR_TRUSTED_PROXIES",
       sample("weir_sockets_refused_total{reason=\"connections_per_address\"}", 50)},
      {"files-full", kWarning, "16.0k", sample("process_open_fds", 16000)},
      {"siblings-deaf", kWarning, "cannot read", sample("weir_siblings_reads", 0)},
      {"siblings-deaf", kWarning, "bus", sample("weir_siblings_bus_up", 0)},
      {"quota-store", kBroken, "does not answer", sample("weir_quota_store_breaker", 2)},
      {"quota-store", kWarning, "has a problem: the file",
       [](Facts& f) {
         Say(f, "weir_quota_store_problem", 1);
         f.instances[0].health_text = "the file cannot be written";
       }},
      {"quota-store", kWarning, "not set up", sample("weir_quota_store_warning", 1)},
      {"keyed-store", kWarning, "WEIR_KEYED_STORE", sample("weir_keyed_store_up", 0)},
      {"config-not-taken", kWarning, "keyed", sample("weir_keyed_config_good", 0)},
      {"quota-names-full", kAdvice, "WEIR_QUOTA_MAX_MODELS=200000", sample("weir_quota_dropped_entries_total", 4)},
      {"served-certificate-expires", kWarning, "1 h",
       sample("weir_tls_certificate_expiry_seconds", 1'800'000'000 + 3600)},
      {"served-certificate-expires", kBroken, "expired", sample("weir_tls_certificate_expiry_seconds", 1'799'999'000)},
      {"other-version", kAdvice, "runs weir 0.0.9",
       [](Facts& f) { f.instances[0].metrics = Scrape("weir_build_info{version=\"0.0.9\"} 1\n"); }},
  };
}

std::vector<Case> AllCases() {
  std::vector<Case> all;
  for (const auto& cases : {CasesOfSettings(), CasesOfHost(), CasesOfDisk(), CasesOfPostgres(), CasesOfInstance()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

TEST(DoctorChecks, AreSilentAboutAHealthyRelay) {
  EXPECT_EQ(Printed(Examine(HealthyFacts())), "");
  EXPECT_EQ(Printed(Examine(HealthyFactsOnPostgres())), "");
}

TEST(DoctorChecks, AreSilentAboutUnknownFacts) {
  EXPECT_EQ(Printed(Examine(Facts())), "");
  Facts gate;
  gate.has_relay = false;
  EXPECT_EQ(Printed(Examine(gate)), "");
}

TEST(DoctorChecks, EachSaysWhatItSawAndNothingElse) {
  for (const Case& c : AllCases()) {
    Facts facts = c.on_postgres ? HealthyFactsOnPostgres() : HealthyFacts();
    c.make(facts);
    const std::vector<Finding> findings = Examine(facts);
    ASSERT_EQ(Names(findings), std::vector<std::string>{c.name}) << c.part << "\n" << Printed(findings);
    const Finding& finding = findings[0];
    EXPECT_EQ(finding.severity, c.severity) << c.name << ": " << c.part;
    std::string all = finding.saw + "\n" + finding.why + "\n" + finding.act;
    for (const std::string& command : finding.commands) all += "\n" + command;
    EXPECT_TRUE(Has(all, c.part)) << c.name << ": " << c.part << "\n" << all;
  }
}

TEST(DoctorChecks, NameEachPathInACommandAsOneWordOfAShell) {
  const std::string path = "/srv/my data";
  static const std::regex quoted("'[^']*'");
  size_t named = 0;
  for (const Case& c : AllCases()) {
    Facts facts = c.on_postgres ? HealthyFactsOnPostgres() : HealthyFacts();
    c.make(facts);
    facts.settings.relay.data_dir = path;
    if (facts.rocksdb) facts.rocksdb->path = path + "/events";
    for (DirectoryFacts& directory : facts.directories) directory.path = path;
    for (const Finding& finding : Examine(facts)) {
      for (const std::string& command : finding.commands) {
        if (!Has(command, path)) continue;
        ++named;
        EXPECT_FALSE(Has(std::regex_replace(command, quoted, ""), path)) << c.name << ": " << c.part << "\n" << command;
      }
    }
  }
  EXPECT_GE(named, 9U);
}

TEST(DoctorChecks, EachHasACase) {
  std::set<std::string_view> tried;
  const std::vector<Case> cases = AllCases();
  for (const Case& c : cases) tried.insert(c.name);
  const std::vector<std::string_view> names = CheckNames();
  for (const std::string_view name : names) EXPECT_TRUE(tried.contains(name)) << name;
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size()) << "a name twice";
}

TEST(DoctorChecks, AreSilentJustBelowTheirLimits) {
  const std::vector<std::function<void(Facts&)>> cases = {
      [](Facts& f) { Disk(f).free_bytes = 10'240 * kMebi; },
      [](Facts& f) { Disk(f).free_files = 1000; },
      [](Facts& f) { Disk(f).syncs->median = std::chrono::microseconds(19'999); },
      [](Facts& f) { Disk(f).syncs->worst = std::chrono::milliseconds(999); },
      // A directory that has to be made is made for its owner alone.
      [](Facts& f) {
        Disk(f).exists = false;
        Disk(f).others = 0055;
      },
      [](Facts& f) { f.host.pressure->io_full = 19.9; },
      [](Facts& f) { f.host.cgroup = {.periods = 599, .throttled_periods = 599}; },
      [](Facts& f) { f.host.cgroup.throttled_periods = 999; },
      [](Facts& f) { f.process->swapped_bytes = 64 * kMebi - 1; },
      // Memory that the relay already has counts as room for it.
      [](Facts& f) { f.host.room->host_available_bytes = 1200 * kMebi; },
      // An import at its usual pace.
      [](Facts& f) { Say(f, "weir_throttle_open{class=\"bulk\"}", 0); },
      [](Facts& f) { Say(f, "weir_refusals_total{prefix=\"rate-limited\"}", 1999); },
      [](Facts& f) { Say(f, "weir_sockets_refused_total{reason=\"connections_per_address\"}", 49); },
      [](Facts& f) { Say(f, "process_open_fds", 15999); },
      [](Facts& f) { Say(f, "weir_sockets_refused_total{reason=\"connections\"}", 9); },
      // A database that is yet to be made.
      [](Facts& f) {
        f.rocksdb->holder.reset();
        f.rocksdb->exists = false;
        f.instances.clear();
      },
      [](Facts& f) { f.settings.certificate_expires_at = 1'800'000'000 + 14 * 86400 + 1; },
      [](Facts& f) { f.rocksdb->future_seconds = 299; },
      // A name that only this network knows needs no proxy.
      [](Facts& f) { f.settings.relay.relay.url = "ws://192.168.1.4:3334"; },
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    Facts facts = HealthyFacts();
    cases[i](facts);
    EXPECT_EQ(Printed(Examine(facts)), "") << "case " << i;
  }
}

TEST(DoctorChecks, DoNotJudgeRelaySettingsForAGateAlone) {
  Facts facts;
  facts.has_relay = false;
  facts.settings.relay.server.listen = "0.0.0.0";
  facts.settings.relay.storage.limiter.enabled = false;
  facts.settings.relay.storage.rocksdb.sync = SyncMode::kOff;
  facts.settings.memory_target_bytes = uint64_t{1400} << 20;
  facts.host.room = MemoryRoom{.host_available_bytes = 100 * kMebi};
  facts.host.most_files = 1024;
  EXPECT_EQ(Printed(Examine(facts)), "");
}

TEST(DoctorChecks, TheWorstComesFirstAndIsTheVerdict) {
  EXPECT_EQ(Worst({}), Severity::kFine);
  Facts facts = HealthyFacts();
  facts.host.clock_is_kept = false;
  EXPECT_EQ(Worst(Examine(facts)), Severity::kAdvice);
  facts.host.cgroup.oom_kills = 1;
  EXPECT_EQ(Worst(Examine(facts)), Severity::kWarning);
  facts.instances[0].problem = "no answer";
  const std::vector<Finding> findings = Examine(facts);
  EXPECT_EQ(Names(findings), (std::vector<std::string>{"instance-silent", "oom-killed", "clock-not-kept"}));
  EXPECT_EQ(Worst(findings), Severity::kBroken);
}

TEST(DoctorChecks, LeaveOutIgnoredFindings) {
  Facts facts = HealthyFacts();
  facts.host.clock_is_kept = false;
  facts.host.cgroup.oom_kills = 1;
  EXPECT_EQ(Names(Examine(facts, {"oom-killed"})), std::vector<std::string>{"clock-not-kept"});
  EXPECT_TRUE(Examine(facts, {"oom-killed", "clock-not-kept"}).empty());
}

TEST(DoctorChecks, ReportTheWorstOfSeveralDirectories) {
  Facts facts = HealthyFacts();
  DirectoryFacts quotas = Disk(facts);
  quotas.path = "/var/lib/quotas";
  quotas.holds = "the quotas";
  quotas.free_bytes = 1;
  Disk(facts).free_bytes = 500 * kMebi;
  facts.directories.push_back(quotas);
  const std::vector<Finding> findings = Examine(facts);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].severity, Severity::kBroken);
  EXPECT_TRUE(Has(findings[0].saw, "/var/lib/quotas")) << findings[0].saw;
}

}  // namespace
}  // namespace weir
