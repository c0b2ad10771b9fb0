#include <algorithm>
#include <array>

#include "config/clock.h"
#include "config/text/parse.h"
#include "config/wire/postgres/postgres_session.h"
#include "relay/doctor/database_facts.h"
#include "relay/store/postgres/postgres_store.h"

namespace weir {
namespace {

constexpr Duration kPostgresPatience = std::chrono::seconds(2);
constexpr int kJourneys = 5;

constexpr const char* kWho =
    "SELECT current_user, pg_is_in_recovery()::int, pg_has_role(current_user, 'pg_monitor', 'member')::int,"
    " current_setting('synchronous_commit'), (current_setting('fsync') = 'on')::int,"
    " (current_setting('synchronous_standby_names') <> '')::int,"
    " (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user),"
    " (to_regclass('weir_meta') IS NOT NULL)::int,"
    " coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)::int";
constexpr const char* kFigures =
    "SELECT (SELECT count(*) FROM pg_stat_replication),"
    " (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),"
    " CASE WHEN pg_is_in_recovery() THEN 0 ELSE"
    " (SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), coalesce(replay_lsn, sent_lsn))), 0)::bigint"
    " FROM pg_stat_replication WHERE state <> 'backup') END,"
    " pg_size_bytes(current_setting('max_wal_size')),"
    " current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
    " - coalesce(current_setting('reserved_connections', true), '0')::int,"
    " (SELECT sum(numbackends)::bigint FROM pg_stat_database), ";
// This also reads the limit that an interrupted weir_cut (relay/SEVERAL.md) has left on the newest partition.
constexpr const char* kTables =
    "SELECT count(*), (SELECT pg_get_constraintdef(k.oid) FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid"
    " JOIN pg_constraint k ON k.conrelid = p.oid AND k.conname = 'until' WHERE i.inhparent = 'weir_events'::regclass"
    " AND pg_get_expr(p.relpartbound, p.oid) LIKE '%(MAXVALUE)') FROM weir_origins";
constexpr const char* kCheckpoints = "checkpoints_timed, checkpoints_req FROM pg_stat_bgwriter";
constexpr const char* kCheckpointsSince17 = "num_timed, num_requested FROM pg_stat_checkpointer";

int64_t Number(const PostgresSession::Row& row, size_t column) {
  if (column >= row.size()) return 0;
  const Result<int64_t> number = ParseInteger(row[column].value_or("0"), {.min = -1e18, .max = 1e18});
  return number.ok() ? number.value() : 0;
}

Status AskWho(PostgresSession& session, PostgresFacts* facts, bool* has_tables) {
  const Result<PostgresSession::Row> answer = session.Ask(kWho, kPostgresPatience);
  if (!answer.ok()) return answer.status();
  const PostgresSession::Row& row = answer.value();
  facts->role = row[0].value_or("");
  facts->is_standby = Number(row, 1) != 0;
  facts->may_monitor = Number(row, 2) != 0;
  facts->synchronous_commit = row[3].value_or("");
  facts->fsync = Number(row, 4) != 0;
  facts->names_standbys = Number(row, 5) != 0;
  facts->role_connections = Number(row, 6);
  *has_tables = Number(row, 7) != 0;
  if (!*has_tables && Number(row, 8) == 0)
    facts->tables = Status::Error("there are no tables of weir, and the role " + facts->role + " may not make them");
  return {};
}

Status AskFigures(PostgresSession& session, PostgresFacts* facts) {
  const bool new_names = facts->version >= 170000;
  const Result<PostgresSession::Row> answer =
      session.Ask(std::string(kFigures) + (new_names ? kCheckpointsSince17 : kCheckpoints), kPostgresPatience);
  if (!answer.ok()) return answer.status();
  const std::array<uint64_t*, 8> figures = {
      &facts->standbys,        &facts->synchronous_standbys, &facts->lag_bytes,         &facts->max_wal_bytes,
      &facts->max_connections, &facts->connections,          &facts->timed_checkpoints, &facts->requested_checkpoints};
  for (size_t i = 0; i < figures.size(); ++i)
    *figures[i] = static_cast<uint64_t>(std::max<int64_t>(0, Number(answer.value(), i)));
  return {};
}

// Compares the clocks by the quickest of several round trips, because the error may be half as long as the round trip.
Status MeasureJourneys(PostgresSession& session, PostgresFacts* facts) {
  std::vector<Duration> journeys;
  for (int i = 0; i < kJourneys; ++i) {
    const TimePoint begin = Clock::System().Now();
    const double before = ToSeconds(WallClock::System().Now().time_since_epoch());
    const Result<PostgresSession::Row> answer =
        session.Ask("SELECT extract(epoch FROM clock_timestamp())::float8", kPostgresPatience);
    if (!answer.ok()) return answer.status();
    journeys.push_back(Clock::System().Now() - begin);
    const Result<double> theirs = ParseNumber(answer.value()[0].value_or(""), {.min = 0, .max = 1e12});
    if (theirs.ok() && journeys.back() == *std::ranges::min_element(journeys))
      facts->clock_ahead_seconds = theirs.value() - before - ToSeconds(journeys.back()) / 2;
  }
  std::ranges::sort(journeys);
  facts->round_trip = journeys[journeys.size() / 2];
  return {};
}

Status AskOrigins(PostgresSession& session, PostgresFacts* facts) {
  const Result<PostgresSession::Row> answer = session.Ask(kTables, kPostgresPatience);
  if (!answer.ok()) return answer.status();
  facts->origins = static_cast<uint64_t>(Number(answer.value(), 0));
  facts->left_limit = answer.value()[1].value_or("");
  return {};
}

void LookAtTables(const StorageSettings& settings, PostgresFacts* facts) {
  PostgresStoreOptions options{.conninfo = settings.store, .settings = settings.postgres};
  options.settings.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kPostgresPatience);
  options.settings.connections = 1;
  options.read_only = true;
  options.create = false;
  const Result<std::unique_ptr<PostgresStore>> store = PostgresStore::Open(options);
  facts->tables = store.status();
  if (store.ok()) facts->searched_kinds = store.value()->searched_kinds();
}

}  // namespace

PostgresFacts LookAtPostgres(const StorageSettings& settings, std::vector<std::string>* unseen) {
  PostgresFacts facts{.name = StoreName(settings.store)};
  // Connects to a host that accepts writes, as a relay does. If that fails, connects to any host that answers.
  PostgresSession primary(WithWritableHost(settings.store));
  PostgresSession anybody(settings.store);
  facts.reached = primary.Connect(kPostgresPatience);
  const bool writable = facts.reached.ok();
  if (!writable && !anybody.Connect(kPostgresPatience).ok()) return facts;
  PostgresSession& session = writable ? primary : anybody;
  facts.version = session.server_version();
  bool has_tables = false;
  Status asked = AskWho(session, &facts, &has_tables);
  // The server was reached, although it is a standby, which accepts no writes.
  if (facts.is_standby) facts.reached = Status();
  if (!facts.reached.ok()) return facts;
  if (has_tables) LookAtTables(settings, &facts);
  if (asked.ok() && has_tables && facts.tables.ok()) asked = AskOrigins(session, &facts);
  if (asked.ok()) asked = AskFigures(session, &facts);
  if (asked.ok()) asked = MeasureJourneys(session, &facts);
  if (!asked.ok()) unseen->push_back("what PostgreSQL says of itself: " + asked.message());
  return facts;
}

}  // namespace weir
