#include <algorithm>
#include <array>
#include <cmath>

#include "relay/doctor/check_words.h"
#include "relay/search/searched_kinds.h"

namespace weir {
namespace {

// The connections of a relay besides those that read: one each for saving events, for news from the other relays, for
// notifying them, for the decisions of administrators, and for the throttle.
constexpr uint64_t kConnectionsBeside = 5;
// Each relay saves events under one or two names, and imports use some more. Many names mean that machines get a new
// name at each start.
constexpr uint64_t kManyOrigins = 32;

// Returns null if PostgreSQL was not reached, because nothing is known about it then.
const PostgresFacts* Reached(const Facts& facts) {
  return facts.postgres && facts.postgres->reached.ok() ? &*facts.postgres : nullptr;
}

bool WaitsForStandbys(const PostgresFacts& p) {
  return p.names_standbys && p.synchronous_commit != "off" && p.synchronous_commit != "local";
}

// Returns the name in double quotes: SQL reads it as it is, whatever its letters are.
std::string Identifier(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::optional<Finding> Unreachable(const Facts& facts) {
  if (!facts.postgres || facts.postgres->reached.ok()) return std::nullopt;
  return Finding{.severity = Severity::kBroken,
                 .saw = facts.postgres->name + ": " + facts.postgres->reached.message(),
                 .why = "Without its database a relay stores nothing and serves nothing.",
                 .act =
                     "See that the server runs, that WEIR_STORE names it, and that pg_hba.conf lets this machine "
                     "in (relay/SEVERAL.md)."};
}

std::optional<Finding> StandbyOnly(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || !p->is_standby) return std::nullopt;
  return Finding{.severity = Severity::kBroken,
                 .saw = p->name + " leads to a standby, which accepts no writes.",
                 .why = "EVENTs are answered with an error.",
                 .act =
                     "Name the primary as well; weir takes the first host that can be written to. Or promote this "
                     "one, if the primary is gone.",
                 .commands = {"WEIR_STORE=postgres://user@host1,host2/database"}};
}

std::optional<Finding> TablesWrong(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->is_standby || p->tables.ok()) return std::nullopt;
  return Finding{.severity = Severity::kBroken,
                 .saw = p->name + ": " + p->tables.message(),
                 .why = "The relay does not start with it.",
                 .act = "Give the role " + p->role +
                        " a database of its own, or a schema in which it may CREATE; "
                        "tables of a newer weir need that weir."};
}

std::optional<Finding> NoMonitorRights(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->may_monitor) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The role " + p->role + " is not a member of pg_monitor.",
                 .why = "The throttle cannot see what the server waits for, and counts its sensor as lost.",
                 .act = "As a superuser of that server:",
                 .commands = {"GRANT pg_monitor TO " + Identifier(p->role) + ";"}};
}

std::optional<Finding> StandbyMissing(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->is_standby || !p->may_monitor || !WaitsForStandbys(*p) || p->synchronous_standbys > 0)
    return std::nullopt;
  return Finding{.severity = Severity::kBroken,
                 .saw = "synchronous_standby_names is set, and none of those standbys follows.",
                 .why = "Every commit waits for one, and EVENTs are refused after WEIR_POSTGRES_TIMEOUT_MS.",
                 .act = "Start a standby; until then, as a superuser, let commits proceed without one:",
                 .commands = {"ALTER SYSTEM SET synchronous_standby_names = '';", "SELECT pg_reload_conf();"}};
}

std::optional<Finding> StandbysAsynchronous(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->standbys == 0 || p->names_standbys) return std::nullopt;
  return Finding{
      .severity = Severity::kAdvice,
      .saw = Count(p->standbys, "standby") + " follow" + (p->standbys == 1 ? "s" : "") +
             ", and synchronous_standby_names is empty.",
      .why = "If the primary is lost, events that no standby had yet are lost too, although clients got an OK.",
      .act = "Unless that is intended, as a superuser:",
      .commands = {"ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)';", "SELECT pg_reload_conf();"}};
}

std::optional<Finding> StandbyBehind(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  const uint64_t budget = facts.settings.relay.storage.postgres_monitor.replica_budget_mb << 20;
  if (p == nullptr || p->lag_bytes <= budget) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The slowest standby has " + ReadableBytes(p->lag_bytes) + " to replay; " + Mebibytes(budget) +
                        " are its budget (WEIR_RATE_LIMIT_POSTGRES_REPLICA_BUDGET_MB).",
                 .why = "The throttle holds back imports and clients until it has caught up.",
                 .act =
                     "See whether its disk or the network is slower than the primary's, or whether a long query holds "
                     "its replay.",
                 .commands = {"SELECT application_name, state, replay_lag FROM pg_stat_replication;"}};
}

std::optional<Finding> CommitsNotOnDisk(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || (p->fsync && p->synchronous_commit != "off")) return std::nullopt;
  const std::string setting = p->fsync ? "synchronous_commit" : "fsync";
  return Finding{.severity = Severity::kWarning,
                 .saw = "PostgreSQL has " + setting + "=off.",
                 .why = p->fsync ? "A crash of the server loses events that were acknowledged."
                                 : "A crash of its machine loses acknowledged events, and may destroy the database.",
                 .act = "As a superuser, unless that is intended:",
                 .commands = {"ALTER SYSTEM SET " + setting + " = on;", "SELECT pg_reload_conf();"}};
}

std::optional<Finding> WalSmall(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->requested_checkpoints <= 10 || p->requested_checkpoints <= p->timed_checkpoints)
    return std::nullopt;
  const uint64_t gigabytes = std::max<uint64_t>(4, 2 * (p->max_wal_bytes >> 30));
  return Finding{.severity = Severity::kAdvice,
                 .saw = ShortNumber(p->requested_checkpoints) + " of " +
                        ShortNumber(p->requested_checkpoints + p->timed_checkpoints) +
                        " checkpoints came before their time; max_wal_size is " + ReadableBytes(p->max_wal_bytes) + ".",
                 .why =
                     "The log fills before a checkpoint is due: the throttle holds writes back for it, and pages are "
                     "logged whole more often.",
                 .act = "If the server's disk has room, as a superuser:",
                 .commands = {"ALTER SYSTEM SET max_wal_size = '" + std::to_string(gigabytes) + "GB';",
                              "SELECT pg_reload_conf();"}};
}

std::optional<Finding> FewConnections(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->max_connections == 0) return std::nullopt;
  const PostgresStoreSettings& pool = facts.settings.relay.storage.postgres;
  const uint64_t needed = std::min(pool.least_connections, pool.connections) + kConnectionsBeside;
  const uint64_t wanted = pool.connections + kConnectionsBeside;
  const bool by_role = p->role_connections >= 0 && static_cast<uint64_t>(p->role_connections) < p->max_connections;
  const uint64_t most = by_role ? static_cast<uint64_t>(p->role_connections) : p->max_connections;
  const bool cannot = needed > most;
  if (wanted <= most && 10 * p->connections < 9 * p->max_connections) return std::nullopt;
  return Finding{.severity = cannot ? Severity::kBroken : Severity::kWarning,
                 .saw = "A relay takes " + std::to_string(needed) + " to " + std::to_string(wanted) +
                        " connections (WEIR_POSTGRES_LEAST_CONNECTIONS to WEIR_POSTGRES_CONNECTIONS, and " +
                        std::to_string(kConnectionsBeside) + "); " + (by_role ? "the role" : "all roles together") +
                        " may have " + std::to_string(most) + ", and " + std::to_string(p->connections) +
                        " of the server's " + std::to_string(p->max_connections) + " are taken.",
                 .why = "Reads wait for each other's connections; a relay that starts may get no connection.",
                 .act = "Allow more (this needs a restart of the server), or let each relay have fewer.",
                 .commands = {"ALTER SYSTEM SET max_connections = " +
                              std::to_string(2 * std::max(p->max_connections, wanted)) + ";"}};
}

std::optional<Finding> Far(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->round_trip.count() < 0.02) return std::nullopt;
  return Finding{.severity = Severity::kAdvice,
                 .saw = "PostgreSQL answers a query that costs nothing in " + Milliseconds(p->round_trip.count()) + ".",
                 .why = "Saving takes three such round trips in sequence, and each page of a REQ takes one.",
                 .act = "Place the relay and the database near each other, or see why the server is slow."};
}

std::optional<Finding> ClocksDiffer(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || std::abs(p->clock_ahead_seconds) < 2) return std::nullopt;
  const double by = std::abs(p->clock_ahead_seconds);
  return Finding{.severity = by >= 60 ? Severity::kWarning : Severity::kAdvice,
                 .saw = "The clock of PostgreSQL's machine is " + InWords(by) +
                        (p->clock_ahead_seconds > 0 ? " ahead of" : " behind") + " this machine's.",
                 .why = "Relays with different clocks judge the dates of events differently; one of them is wrong.",
                 .act = "Find out which is wrong, and run a clock service on both.",
                 .commands = {"timedatectl"}};
}

std::optional<Finding> ManyNames(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->origins <= kManyOrigins || !facts.settings.relay.storage.postgres.origin.empty())
    return std::nullopt;
  return Finding{.severity = Severity::kAdvice,
                 .saw = "Relays and imports have saved under " + std::to_string(p->origins) +
                        " names in this database, and WEIR_ORIGIN is not set.",
                 .why =
                     "The name is then the machine's, and each start of a container has a new one. Every query reads "
                     "all names, and every deletion locks them.",
                 .act = "Give each relay a name that stays:",
                 .commands = {"WEIR_ORIGIN=relay-1"}};
}

std::optional<Finding> CutWasInterrupted(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->left_limit.empty()) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "The newest partition has the limit " + p->left_limit + ", but no partition follows it.",
                 .why =
                     "A call of weir_cut was interrupted, unless one runs now. From that time on the database takes no "
                     "new events.",
                 .act = "Call weir_cut again for the same time, or for a later one.",
                 .commands = {}};
}

std::optional<Finding> SearchKindsDiffer(const Facts& facts) {
  const PostgresFacts* p = Reached(facts);
  if (p == nullptr || p->searched_kinds.empty()) return std::nullopt;
  const Result<std::vector<uint16_t>> own = ParseSearchedKinds(facts.settings.relay.relay.search_kinds);
  if (!own.ok() || own.value() == p->searched_kinds) return std::nullopt;
  std::vector<uint16_t> all = p->searched_kinds;
  AddSorted(own.value(), &all);
  return Finding{.severity = Severity::kWarning,
                 .saw = "WEIR_SEARCH_KINDS is " + (own.value().empty() ? "not set" : ToText(own.value())) +
                        ", and the database has the words of the kinds " + ToText(p->searched_kinds) + ".",
                 .why =
                     "Relays with different kinds find different events, and the words of what one of them saves "
                     "have to be added by another.",
                 .act =
                     "Set the same kinds at every relay on this database. If no relay is to search the others any "
                     "more, stop all relays and let PostgreSQL run TRUNCATE weir_words, weir_searched; the next start "
                     "begins a new index.",
                 .commands = {"WEIR_SEARCH_KINDS=" + ToText(all)}};
}

}  // namespace

std::span<const DoctorCheck> PostgresChecks() {
  static constexpr std::array<DoctorCheck, 15> kChecks = {{
      {"postgres-unreachable", Unreachable},
      {"postgres-standby-only", StandbyOnly},
      {"postgres-tables", TablesWrong},
      {"postgres-rights", NoMonitorRights},
      {"postgres-standby-missing", StandbyMissing},
      {"postgres-standbys-asynchronous", StandbysAsynchronous},
      {"postgres-standby-behind", StandbyBehind},
      {"postgres-not-on-disk", CommitsNotOnDisk},
      {"postgres-wal-small", WalSmall},
      {"postgres-connections", FewConnections},
      {"postgres-far", Far},
      {"postgres-clock", ClocksDiffer},
      {"postgres-names", ManyNames},
      {"postgres-partitions", CutWasInterrupted},
      {"postgres-search-kinds", SearchKindsDiffer},
  }};
  return kChecks;
}

}  // namespace weir
