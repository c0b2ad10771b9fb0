#include <array>
#include <cmath>

#include "config/text/parse.h"
#include "relay/doctor/check_words.h"
#include "relay/process/version.h"

namespace weir {
namespace {

using Find = std::optional<Finding> (*)(const Facts& facts, const InstanceFacts& instance);

// Calls `find` for each instance that answered, and returns the worst finding.
std::optional<Finding> OfEach(const Facts& facts, Find find) {
  return WorstOf(facts.instances, [&](const InstanceFacts& instance) -> std::optional<Finding> {
    return instance.problem.empty() ? find(facts, instance) : std::nullopt;
  });
}

std::string Since(const Facts& facts, const Scrape& metrics) {
  const std::optional<double> start = metrics.Find("process_start_time_seconds");
  return start ? " since it started " + InWords(facts.now_seconds - *start) + " ago" : "";
}

double UpSeconds(const Facts& facts, const InstanceFacts& instance) {
  return facts.now_seconds - instance.metrics.Get("process_start_time_seconds");
}

// Returns the severity of an event that happened `count` times. Fewer than ten times a day are advice: an operator may
// want to know, but need not be woken.
Severity OfCount(const Facts& facts, const InstanceFacts& instance, uint64_t count) {
  const double days = std::max(1.0, UpSeconds(facts, instance) / 86400);
  return static_cast<double>(count) < 10 * days ? Severity::kAdvice : Severity::kWarning;
}

// Adds a command that lowers the setpoint `name` from `now` to at most `usual`, unless the result would be below 0.2.
void AddLower(const char* name, double now, double usual, std::vector<std::string>* commands) {
  const double lower = std::round(100 * std::min(usual, now - 0.1)) / 100;
  if (lower >= 0.2) commands->push_back(name + ("=" + FormatNumber(lower)));
}

// Finds a database on this machine that no relay serves.
std::optional<Finding> RelayDown(const Facts& facts) {
  const bool has_database = facts.rocksdb && facts.rocksdb->exists;
  const bool answers = std::ranges::any_of(facts.instances, [](const InstanceFacts& i) { return i.problem.empty(); });
  if (!has_database || facts.rocksdb->holder || answers) return std::nullopt;
  return Finding{
      .severity = Severity::kWarning,
      .saw = "No relay runs on " + facts.rocksdb->path + ", and none answers at the address of the settings.",
      .why = "Clients cannot connect.",
      .act = "Start it; if it ended by itself, the end of its log says why.",
      .commands = {"systemctl status weir-relay", "journalctl -u weir-relay -n 50"}};
}

std::optional<Finding> Silent(const Facts& facts) {
  return WorstOf(facts.instances, [](const InstanceFacts& instance) -> std::optional<Finding> {
    if (instance.problem.empty()) return std::nullopt;
    return Finding{.severity = Severity::kBroken,
                   .saw = instance.url + " cannot be asked: " + instance.problem + ".",
                   .why = instance.is_local ? "Clients get no answer either." : "Its state is not known.",
                   .act = instance.is_local ? "If it is just starting or stopping, ask again. Otherwise see its log: "
                                              "SIGUSR1 makes it write its state to the log."
                                            : "See that it runs, and that the address is right: behind a proxy that "
                                              "blocks /metrics, use the address of the relay itself."};
  });
}

std::optional<Finding> PortTaken(const Facts& facts) {
  if (facts.stranger.empty()) return std::nullopt;
  return Finding{.severity = Severity::kBroken,
                 .saw = "A program that is not weir answers at " + facts.stranger + ".",
                 .why = "A relay or gate with these settings cannot listen there.",
                 .act = "See which program it is; stop it, or set WEIR_PORT.",
                 .commands = {"ss -ltnp"}};
}

std::optional<Finding> NotReady(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    if (i.ready || i.metrics.Get("weir_throttle_emergency") > 0) return std::nullopt;
    return Finding{.severity = Severity::kBroken,
                   .saw = i.url + "/readyz says: " + i.ready_text,
                   .why = "It cannot do its work now.",
                   .act = "Do what the sentence asks for; /readyz says when it is ready again."};
  });
}

std::optional<Finding> Emergency(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    if (i.metrics.Get("weir_throttle_emergency") <= 0) return std::nullopt;
    const auto target = i.metrics.Find("weir_memory_target_bytes");
    const auto used = i.metrics.Find("weir_memory_used_bytes");
    const double now = target.value_or(static_cast<double>(f.settings.memory_target_bytes));
    const std::optional<double> largest = LocalRelay(f) == &i ? LargestTarget(f) : std::nullopt;
    std::optional<double> more;
    if (largest && *largest > now) more = std::min(1.5 * now, *largest);
    return Finding{.severity = Severity::kBroken,
                   .saw = i.url + " is in an emergency of memory" +
                          (target && used ? ": " + Mebibytes(AsCount(*used)) + " of a target of " +
                                                Mebibytes(AsCount(*target)) + " are used"
                                          : "") +
                          ".",
                   .why =
                       "Imports are held, large requests are refused, and the clients that hold most lose their "
                       "connections.",
                   .act =
                       "The log has a page on what held memory when the emergency began; /live shows which clients "
                       "hold most. If emergencies are frequent, let one address hold less (WEIR_MAX_ADDRESS_MB), or "
                       "give the relay more memory" +
                       std::string(more      ? ":"
                                   : largest ? "; this machine has no more to give."
                                             : "."),
                   .commands = more ? std::vector{TargetOf(*more)} : std::vector<std::string>()};
  });
}

std::optional<Finding> SensorLost(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    if (i.metrics.Get("weir_throttle_sensor_lost") <= 0) return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = "The throttle of " + i.url + " has lost its sensor.",
                   .why =
                       "It cannot see the state of the engine, and does what WEIR_RATE_LIMIT_SENSOR_LOSS says, by the "
                       "last state that it knew.",
                   .act =
                       "SIGUSR1 makes the relay write the reason to its log. With PostgreSQL, see that it answers, and "
                       "that the role is in pg_monitor."};
  });
}

std::optional<Finding> WritesFailed(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    const uint64_t failed = AsCount(i.metrics.Get("weir_commit_failed_events_total"));
    if (failed == 0 || !i.ready) return std::nullopt;
    return Finding{.severity = OfCount(f, i, failed),
                   .saw = Count(failed, "event") + " could not be written" + Since(f, i.metrics) + ".",
                   .why = "Their senders were told so, and may not have tried again.",
                   .act = "The log says why, with \"events cannot be stored\"."};
  });
}

std::optional<Finding> EngineBraked(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    const uint64_t escapes = AsCount(i.metrics.Get("weir_throttle_escapes_total"));
    if (escapes == 0 || !i.metrics.Find("weir_rocksdb_l0_files")) return std::nullopt;
    const LimiterSettings& limiter = f.settings.relay.storage.limiter;
    std::vector<std::string> lower;
    AddLower("WEIR_IMPORT_SETPOINT", limiter.bulk.setpoint, 0.6, &lower);
    AddLower("WEIR_RATE_LIMIT_SETPOINT", limiter.write.setpoint, 0.75, &lower);
    return Finding{
        .severity = static_cast<double>(escapes) > UpSeconds(f, i) / 3600 ? Severity::kWarning : Severity::kAdvice,
        .saw = "RocksDB braked by itself " + Count(escapes, "time") + Since(f, i.metrics) +
               ", although the throttle is there to brake before.",
        .why = "Each time all clients wait, for seconds.",
        .act =
            "Leave the engine more room: hold imports at a lower level, and clients too if that is not enough. A "
            "faster disk lowers the level itself.",
        .commands = std::move(lower)};
  });
}

// The advice for each signal that limits.
struct Remedy {
  std::string_view signal;
  const char* act;
};
constexpr std::array<Remedy, 8> kRemedies = {{
    {"memtables",
     "The disk is slower than the incoming writes: see sync-slow and disk-pressure, or get a faster disk."},
    {"l0", "Compaction is behind: it needs a faster disk, or one more core."},
    {"debt", "Compaction is behind: it needs a faster disk, or one more core."},
    {"memory", "The relay needs more memory: raise WEIR_RATE_LIMIT_TARGET_MEMORY_MB."},
    {"own", "Clients make the relay hold much: lower WEIR_MAX_ADDRESS_MB, or raise WEIR_RATE_LIMIT_OWN_BUDGET_MB."},
    {"wal", "The checkpoints of PostgreSQL are behind: use a faster disk there, or a larger max_wal_size."},
    {"replica", "A standby is behind: see what slows it."},
    {"standby", "Commits wait for a standby that does not answer: see that it runs, and can be reached."},
}};

std::optional<Finding> ClientsHeld(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    if (i.metrics.Find("weir_throttle_open{class=\"interactive\"}").value_or(1) > 0) return std::nullopt;
    const std::string signal = i.metrics.Label("weir_throttle_limiting", "signal", "class=\"interactive\"");
    const auto remedy = std::ranges::find(kRemedies, signal, &Remedy::signal);
    if (signal.empty() || signal == "emergency" || signal == "sensor lost") return std::nullopt;  // for other checks
    return Finding{
        .severity = Severity::kAdvice,
        .saw = "Clients' writes are held to " +
               ReadableBytes(AsCount(i.metrics.Get("weir_throttle_limit_bytes_per_second{class=\"interactive\"}"))) +
               "/s by the signal " + signal + ", whose level is " +
               Percent(i.metrics.Get("weir_throttle_level{class=\"interactive\"}")) +
               " of the level at which the engine brakes.",
        .why = "They wait, or are answered rate-limited:, so that reads stay fast.",
        .act = remedy != kRemedies.end() ? remedy->act : "See what it measures: monitors/README.md."};
  });
}

std::optional<Finding> ClientsRefused(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    const double refused = i.metrics.Get("weir_refusals_total{prefix=\"rate-limited\"}");
    const double asked = i.metrics.Get("nostr_client_messages_total{verb=\"EVENT\"}") +
                         i.metrics.Get("nostr_client_messages_total{verb=\"REQ\"}") +
                         i.metrics.Get("nostr_client_messages_total{verb=\"COUNT\"}");
    if (refused < 100 || refused < 0.01 * asked) return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = Count(AsCount(refused), "answer") + " to " + Count(AsCount(asked), "request") +
                          " of clients were rate-limited:" + Since(f, i.metrics) + ".",
                   .why = "Many clients do not try again.",
                   .act = "See at /live what limits, and whether single addresses ask too much."};
  });
}

std::optional<Finding> ConnectionsRefused(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    const uint64_t refused = AsCount(i.metrics.Get("weir_sockets_refused_total{reason=\"connections\"}"));
    if (refused < 10) return std::nullopt;
    const uint64_t most = f.settings.relay.server.max_connections;
    return Finding{.severity = OfCount(f, i, refused),
                   .saw = Count(refused, "connection") + " were turned away" + Since(f, i.metrics) +
                          ", because all were in use (WEIR_MAX_CONNECTIONS, here " + std::to_string(most) + ").",
                   .why = "Clients could not connect.",
                   .act = "Allow more, if memory suffices: an idle one holds some 6 KB, with TLS 23 KB.",
                   .commands = {"WEIR_MAX_CONNECTIONS=" + std::to_string(2 * most)}};
  });
}

std::optional<Finding> AddressFull(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    const double refused = i.metrics.Get("weir_sockets_refused_total{reason=\"connections_per_address\"}");
    const double accepted = i.metrics.Get("weir_sockets_accepted_total");
    if (refused < 10 || refused < 0.05 * accepted) return std::nullopt;
    return Finding{
        .severity = Severity::kWarning,
        .saw = Count(AsCount(refused), "connection") + " of " + ShortNumber(AsCount(accepted)) + " were turned away" +
               Since(f, i.metrics) +
               ", because their address had as many as one address may have "
               "(WEIR_MAX_CONNECTIONS_PER_ADDRESS, here " +
               std::to_string(f.settings.relay.server.max_connections_per_address) + ").",
        .why = "Either one client opens too many connections, or all clients of a proxy count as one address.",
        .act = "Behind a proxy, name the proxy, so that its X-Forwarded-For is trusted:",
        .commands = {"WEIR_TRUSTED_PROXIES=127.0.0.1,::1"}};
  });
}

std::optional<Finding> FilesFull(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    const double open = i.metrics.Get("process_open_fds");
    const double most = i.metrics.Get("process_max_fds");
    if (most <= 0 || open < 0.8 * most) return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = i.url + " has " + ShortNumber(AsCount(open)) + " files and connections open, of " +
                          ShortNumber(AsCount(most)) + " that it may have.",
                   .why = "Connections beyond the limit wait in the kernel, unanswered.",
                   .act = "Raise the limit in the unit of systemd, or in the shell that starts it.",
                   .commands = {"LimitNOFILE=" + std::to_string(AsCount(2 * most))}};
  });
}

std::optional<Finding> SiblingsDeaf(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    const bool reads = i.metrics.Find("weir_siblings_reads").value_or(1) > 0;
    if (!reads && !i.ready) return std::nullopt;  // the check not-ready reports this
    if (reads && i.metrics.Find("weir_siblings_bus_up").value_or(1) > 0) return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = i.url + (reads ? " does not reach the other relays by the bus (WEIR_BUS)."
                                         : " cannot read what the other relays save."),
                   .why = reads
                              ? "Ephemeral events stay at the relay that received them, and stored ones arrive a "
                                "quarter of a second later."
                              : "Its subscribers miss events of other relays until it can; then they get those events.",
                   .act = "See that the database, or the Redis of the bus, answers; it tries again by itself."};
  });
}

std::optional<Finding> QuotaStoreIll(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    const bool away = i.metrics.Get("weir_quota_store_breaker") > 1;
    const bool problem = i.metrics.Get("weir_quota_store_problem") > 0;
    if (!away && !problem && i.metrics.Get("weir_quota_store_warning") <= 0) return std::nullopt;
    return Finding{.severity = away ? Severity::kBroken : Severity::kWarning,
                   .saw = "The store of the quotas at " + i.url +
                          (away      ? " does not answer"
                           : problem ? " has a problem"
                                     : " is not set up as it should be") +
                          (i.health_text.empty() ? "." : ": " + i.health_text),
                   .why = away ? "Decisions are made as WEIR_QUOTA_WHEN_STORE_AWAY says: refused, or not counted."
                               : "Counts may be lost, or may not be those of all programs that share the store.",
                   .act =
                       "See that the store runs and can be reached (WEIR_QUOTA_STORE); an administrator can read what "
                       "is wrong with it:",
                   .commands = {"curl -H \"Authorization: Bearer $WEIR_ADMIN_TOKEN\" " + i.url + "/v1/health"}};
  });
}

std::optional<Finding> KeyedStoreAway(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    if (i.metrics.Find("weir_keyed_store_up").value_or(1) > 0) return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = "The store of the windows of keys (WEIR_KEYED_STORE) does not answer " + i.url + ".",
                   .why = "Each process counts by itself, or requests are refused (WEIR_KEYED_WHEN_STORE_AWAY).",
                   .act = "See that this Redis runs and can be reached; it is then used again, without a restart."};
  });
}

std::optional<Finding> ConfigNotTaken(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    std::string limiters;
    for (const char* limiter : {"quota", "keyed", "queued", "ratelimit", "rules"})
      if (i.metrics.Find("weir_" + std::string(limiter) + "_config_good").value_or(1) <= 0)
        limiters.append(limiters.empty() ? "" : ", ").append(limiter);
    if (limiters.empty()) return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = i.url + " goes on with an older configuration than its file has: " + limiters + ".",
                   .why = "The changes in the file do not apply, and the next start would fail.",
                   .act =
                       "The log says what is wrong, with file:line:column; a corrected file is read without a "
                       "restart."};
  });
}

std::optional<Finding> QuotaNamesFull(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    const uint64_t dropped = AsCount(i.metrics.Get("weir_quota_dropped_entries_total"));
    if (dropped == 0) return std::nullopt;
    return Finding{
        .severity = OfCount(f, i, dropped),
        .saw = "The use of " + Count(dropped, "call") + " was not counted" + Since(f, i.metrics) +
               ", because there was no room for more names.",
        .why = "Limits of users, keys or models let through more than they say.",
        .act = "Make room, if memory suffices:",
        .commands = {
            "WEIR_QUOTA_MAX_MODELS=" + std::to_string(2 * f.settings.limiters.limiters.quota.store.max_models),
            "WEIR_QUOTA_MAX_TIER_KEYS=" + std::to_string(2 * f.settings.limiters.limiters.quota.store.max_tier_keys)}};
  });
}

std::optional<Finding> ServedCertificate(const Facts& facts) {
  return OfEach(facts, [](const Facts& f, const InstanceFacts& i) -> std::optional<Finding> {
    const std::optional<double> expires = i.metrics.Find("weir_tls_certificate_expiry_seconds");
    if (!expires || *expires - f.now_seconds > 14 * 86400) return std::nullopt;
    // If the certificate in the file expires no later, the check of the file reports it.
    if (f.settings.certificate_expires_at && static_cast<double>(*f.settings.certificate_expires_at) <= *expires)
      return std::nullopt;
    const double left = *expires - f.now_seconds;
    return Finding{.severity = left <= 0 ? Severity::kBroken : Severity::kWarning,
                   .saw = "The certificate that " + i.url + " shows " +
                          (left <= 0 ? "expired " + InWords(-left) + " ago." : "expires in " + InWords(left) + "."),
                   .why = "Clients refuse to connect once it has expired.",
                   .act =
                       "Renew it; if the file is newer than the certificate shown, the log says why it was not read, "
                       "and SIGHUP makes the program read it again."};
  });
}

std::optional<Finding> DiskBudgetFull(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    const uint64_t room = AsCount(i.metrics.Get("weir_disk_budget_room"));
    if (room == 0) return std::nullopt;
    static constexpr std::array<std::string_view, 3> kRefused = {"imports wait", "imports and strangers' events wait",
                                                                 "no event is taken"};
    return Finding{.severity = room >= kRefused.size() ? Severity::kBroken : Severity::kWarning,
                   .saw = "The store of " + i.url + " takes " +
                          ReadableBytes(AsCount(i.metrics.Get("weir_store_disk_bytes"))) + ", and its disk budget is " +
                          ReadableBytes(AsCount(i.metrics.Get("weir_disk_budget_bytes"))) + "; " +
                          std::string(kRefused[std::min<uint64_t>(room, kRefused.size()) - 1]) + ".",
                   .why =
                       "Events come faster than the relay may remove old ones, or all that is left is kept by rules "
                       "(relay.retention.keep).",
                   .act = "Raise the budget, keep less, or find at /live where the events come from."};
  });
}

std::optional<Finding> RetentionHindered(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    if (i.metrics.Get("weir_retention_hindered") <= 0 || i.metrics.Get("weir_disk_budget_room") > 0)
      return std::nullopt;
    return Finding{.severity = Severity::kWarning,
                   .saw = i.url + " does not remove all events that the rules or the disk budget say should go.",
                   .why = "The store grows beyond what was asked for.",
                   .act = "The table Retention at /live and the log say why."};
  });
}

std::optional<Finding> OtherVersion(const Facts& facts) {
  return OfEach(facts, [](const Facts&, const InstanceFacts& i) -> std::optional<Finding> {
    const std::string version = i.metrics.Label("weir_build_info", "version");
    if (version.empty() || version == Version()) return std::nullopt;
    return Finding{.severity = Severity::kAdvice,
                   .saw = i.url + " runs weir " + version + "; this program is " + std::string(Version()) + ".",
                   .why =
                       "A new version takes effect only after a restart, and this doctor may check things that the "
                       "running version does not have.",
                   .act = "Restart it, or run the doctor of the version that is running."};
  });
}

}  // namespace

std::span<const DoctorCheck> InstanceChecks() {
  static constexpr std::array<DoctorCheck, 22> kChecks = {{
      {"relay-down", RelayDown},
      {"instance-silent", Silent},
      {"port-taken", PortTaken},
      {"not-ready", NotReady},
      {"emergency", Emergency},
      {"sensor-lost", SensorLost},
      {"writes-failed", WritesFailed},
      {"engine-braked", EngineBraked},
      {"clients-held", ClientsHeld},
      {"clients-refused", ClientsRefused},
      {"connections-refused", ConnectionsRefused},
      {"address-full", AddressFull},
      {"files-full", FilesFull},
      {"siblings-deaf", SiblingsDeaf},
      {"quota-store", QuotaStoreIll},
      {"keyed-store", KeyedStoreAway},
      {"config-not-taken", ConfigNotTaken},
      {"quota-names-full", QuotaNamesFull},
      {"served-certificate-expires", ServedCertificate},
      {"disk-budget-full", DiskBudgetFull},
      {"retention-hindered", RetentionHindered},
      {"other-version", OtherVersion},
  }};
  return kChecks;
}

}  // namespace weir
