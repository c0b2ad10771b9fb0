#include "relay/store/postgres/schema.h"

#include <array>
#include <random>

#include "config/text/hex.h"
#include "config/text/parse.h"

namespace weir {
namespace {

constexpr std::string_view kMemoTable =
    "CREATE TABLE IF NOT EXISTS weir_memos (name text PRIMARY KEY, text text, revision bigint NOT NULL);"
    "CREATE INDEX IF NOT EXISTS weir_memos_revision ON weir_memos (revision ASC);"
    "INSERT INTO weir_memos VALUES ('', NULL, 0) ON CONFLICT DO NOTHING;";

std::string Tables(const std::string& token) {
  return std::string(kMemoTable) +
         "CREATE TABLE weir_meta (key text PRIMARY KEY, value text NOT NULL);"
         "CREATE TABLE weir_origins (origin int PRIMARY KEY, name text NOT NULL UNIQUE, owner text NOT NULL,"
         " serial bigint NOT NULL, events bigint NOT NULL, live boolean NOT NULL);"
         "CREATE TABLE weir_events (id bytea PRIMARY KEY, origin int NOT NULL, serial bigint NOT NULL, pubkey bytea "
         "NOT "
         "NULL,"
         " kind int NOT NULL, created_at bigint NOT NULL, expiration bigint, record bytea NOT NULL);"
         "CREATE INDEX weir_events_serial ON weir_events (origin ASC, serial ASC);"
         "CREATE INDEX weir_events_time ON weir_events (created_at DESC, id ASC);"
         "CREATE INDEX weir_events_author ON weir_events (pubkey ASC, created_at DESC, id ASC);"
         "CREATE INDEX weir_events_author_kind ON weir_events (pubkey ASC, kind ASC, created_at DESC, id ASC);"
         "CREATE INDEX weir_events_kind ON weir_events (kind ASC, created_at DESC, id ASC);"
         "CREATE INDEX weir_events_expiration ON weir_events (expiration ASC) WHERE expiration IS NOT NULL;"
         "CREATE TABLE weir_tags (tag bigint NOT NULL, kind int NOT NULL, created_at bigint NOT NULL, id bytea NOT "
         "NULL);"
         "CREATE INDEX weir_tags_time ON weir_tags (tag ASC, created_at DESC, id ASC);"
         "CREATE INDEX weir_tags_kind ON weir_tags (tag ASC, kind ASC, created_at DESC, id ASC);"
         "CREATE TABLE weir_addresses (address bytea PRIMARY KEY, id bytea NOT NULL);"
         "CREATE TABLE weir_deleted (id bytea NOT NULL, author bytea NOT NULL, PRIMARY KEY (id, author));"
         "CREATE TABLE weir_deleted_addresses (address bytea PRIMARY KEY, until bigint NOT NULL);"
         "CREATE TABLE weir_vanished (author bytea PRIMARY KEY, until bigint NOT NULL, request bytea NOT NULL,"
         " owed boolean NOT NULL);"
         "CREATE INDEX weir_vanished_owed ON weir_vanished (author ASC) WHERE owed;"
         "INSERT INTO weir_meta VALUES ('format', '1'), ('database', '" +
         token + "')";
}

// A new name gets the next number; if two processes add a name at the same time, one of them fails and tries again. The
// serials of a process begin with the time of the database's clock, in units of 2^-20 seconds. A standby that was
// promoted may lack the last serials, or the whole origin, although other relays have read the events up to them. The
// new serials are larger than these, because no origin assigns 2^20 serials a second.
constexpr PostgresStatement kTakeOrigin{
    "take_origin",
    "INSERT INTO weir_origins AS o (origin, name, owner, serial, events, live)"
    " SELECT coalesce(max(origin), 0) + 1, $1::text, $2::text, 0, 0, $3::int <> 0 FROM weir_origins"
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, live = excluded.live"
    " RETURNING o.origin, greatest(o.serial + (1 << 20), (extract(epoch FROM now()) * (1 << 20))::bigint)"};
constexpr int kMostNameTries = 10;

std::string RandomToken() {
  std::random_device random;
  std::array<uint32_t, 4> words{};
  for (uint32_t& word : words) word = random();
  return ToHex(reinterpret_cast<const uint8_t*>(words.data()), sizeof(words));
}

// Returns null if there are no tables.
Result<std::optional<int>> FormatOf(PostgresSession& session, Duration patience) {
  const Result<PostgresSession::Row> there = session.Ask("SELECT to_regclass('weir_meta')", patience);
  if (!there.ok()) return there.status();
  if (there.value().empty() || !there.value()[0]) return std::optional<int>();
  const Result<PostgresSession::Row> row = session.Ask("SELECT value FROM weir_meta WHERE key = 'format'", patience);
  const bool is_foreign = !row.ok() && row.status().message().find("ERROR:  column") != std::string::npos;
  if (!row.ok() && !is_foreign) return row.status();
  if (row.ok() && !row.value().empty() && row.value()[0]) {
    const Result<int64_t> format = ParseInteger(*row.value()[0], {.min = 1, .max = 1e6});
    if (format.ok()) return std::optional<int>(static_cast<int>(format.value()));
  }
  return Status::Error("PostgreSQL: there is a table weir_meta that is not weir's; name another database");
}

Result<bool> HasMemos(PostgresSession& session, Duration patience) {
  const Result<PostgresSession::Row> there = session.Ask("SELECT to_regclass('weir_memos')", patience);
  if (!there.ok()) return there.status();
  return !there.value().empty() && there.value()[0].has_value();
}

}  // namespace

Status Tune(PostgresSession& session, Duration patience) {
  const std::string milliseconds =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(patience).count());
  // Sets only settings that the server knows: other databases with PostgreSQL's protocol lack some.
  const std::string settings =
      "('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), "
      "('enable_bitmapscan', 'off'), ('jit', 'off'), ('plan_cache_mode', 'force_generic_plan'), "
      "('statement_timeout', '" +
      milliseconds + "'), ('idle_in_transaction_session_timeout', '" + milliseconds + "')";
  return session
      .Ask("SELECT set_config(name, v.value, false) FROM (VALUES " + settings +
               ") AS v (name, value) JOIN pg_settings USING (name)",
           patience)
      .status();
}

Status MakeOnce(PostgresSession& session, const std::string& sql, const AreThere& are_there, const std::string& what,
                Duration patience) {
  const Result<bool> before = are_there(session, patience);
  if (!before.ok() || before.value()) return before.status();
  const Status made = session.Ask(sql, patience).status();
  if (made.ok()) return {};
  if (Status connected = session.Connect(patience); !connected.ok()) return connected;
  if (Status tuned = Tune(session, patience); !tuned.ok()) return tuned;
  const Result<bool> after = are_there(session, patience);
  return after.ok() && after.value() ? Status() : Status::Error("cannot make " + what + ": " + made.message());
}

Status OpenSchema(PostgresSession& session, bool create, Duration patience) {
  Result<std::optional<int>> format = FormatOf(session, patience);
  if (!format.ok()) return format.status();
  if (!format.value()) {
    if (!create) return Status::Error("PostgreSQL: this database has no events; weir relay or weir import makes it");
    const Status made = session.Ask(Tables(RandomToken()), patience).status();
    if (made.ok()) return {};
    // Another process may just have made the tables.
    if (Status connected = session.Connect(patience); !connected.ok()) return connected;
    if (Status tuned = Tune(session, patience); !tuned.ok()) return tuned;
    format = FormatOf(session, patience);
    if (!format.ok() || !format.value()) return Status::Error("cannot make the tables: " + made.message());
  }
  if (*format.value() == kPostgresFormat) {
    return create ? MakeOnce(session, std::string(kMemoTable), HasMemos, "the table weir_memos", patience) : Status();
  }
  return Status::Error("PostgreSQL: the events have format " + std::to_string(*format.value()) +
                       " and this weir knows " + std::to_string(kPostgresFormat) +
                       "; it was written by a newer one: update this program");
}

Result<std::string> DatabaseToken(PostgresSession& session, Duration patience) {
  const Result<PostgresSession::Row> row = session.Ask("SELECT value FROM weir_meta WHERE key = 'database'", patience);
  if (!row.ok()) return row.status();
  if (row.value().empty() || !row.value()[0]) return Status::Error("PostgreSQL: weir_meta does not name this database");
  return *row.value()[0];
}

Result<PostgresOrigin> TakeOrigin(PostgresSession& session, const std::string& name, bool is_live, Duration patience) {
  PostgresOrigin origin{.name = name, .owner = RandomToken()};
  for (int tries = 1;; ++tries) {
    session.Queue(kTakeOrigin, PostgresValues().Bytes(origin.name).Bytes(origin.owner).Int32(is_live ? 1 : 0));
    const Result<std::vector<PostgresRows>> taken = session.Run(patience);
    if (taken.ok()) {
      origin.number = static_cast<uint32_t>(taken.value()[0].Int(0, 0));
      origin.serial = static_cast<uint64_t>(taken.value()[0].Int(0, 1));
      return origin;
    }
    if (session.error_code() != "23505" || tries == kMostNameTries) return taken.status();
  }
}

}  // namespace weir
