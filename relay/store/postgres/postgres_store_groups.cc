// The pages of the events' table as groups of a sample (EventStore::Groups). A row stays in its page, because the store
// does not update events, unless an operator rewrites the table meanwhile. Each statement reads one page, however large
// the table is, and at most 16 records. A random sample of the server (TABLESAMPLE) would look at the number of each
// page of the table, in one statement.
#include <algorithm>

#include "relay/store/postgres/postgres_store.h"

namespace weir {
namespace {

// Has a row for the table, or for each partition: its pages, and the first and the last created_at of its events, found
// as the view weir_partitions finds them (partitions.sql). The number of pages is NULL for a table on another server,
// and for a view.
constexpr PostgresStatement kPages{
    "pages",
    "SELECT CASE WHEN c.relkind = 'r' AND (bound IS NOT NULL OR NOT c.relispartition)"
    "  THEN pg_relation_size(c.oid) / current_setting('block_size')::bigint END,"
    " coalesce(nullif(bound[1], 'MINVALUE')::bigint, 0),"
    " coalesce(nullif(bound[2], 'MAXVALUE')::bigint - 1, 9223372036854775807)"
    " FROM pg_class c CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid),"
    "  'FROM \\(''?(\\w+)''?\\) TO \\(''?(\\w+)''?\\)') AS bound"
    " WHERE (c.oid = 'weir_events'::regclass AND c.relkind <> 'p')"
    " OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'weir_events'::regclass)"};
// Leaves the planner only the places of rows. Otherwise it may choose an index of times. Holds until the end of a Run.
constexpr PostgresStatement kNoIndex{"no_index", "SELECT set_config('enable_indexscan', 'off', true)"};
// The times tell the server in which partition the page is.
constexpr PostgresStatement kPage{
    "page",
    "SELECT (ctid::text::point)[1]::bigint, origin, serial, record FROM weir_events"
    " WHERE ctid > format('(%s,%s)', $1::bigint, $2::bigint)::tid AND ctid < format('(%s,0)', $1::bigint + 1)::tid"
    " AND created_at >= $3::bigint AND created_at <= $4::bigint ORDER BY 1 LIMIT $5::bigint"};

// Older servers would walk through the whole table for each page.
constexpr int kFirstWithRangesOfPlaces = 140000;
constexpr size_t kMostPageRecords = 16;  // two megabytes, if they are the largest
// Pays for the two statements, and for the way to a server on this machine.
constexpr Work kPageWork = 50'000;

void QueuePage(PostgresSession& session, uint64_t page, uint64_t after, int64_t first, int64_t last) {
  session.Queue(kNoIndex);
  session.Queue(kPage, PostgresValues()
                           .Int64(static_cast<int64_t>(page))
                           .Int64(static_cast<int64_t>(after))
                           .Int64(first)
                           .Int64(last)
                           .Int64(kMostPageRecords));
}

// Returns true for the errors by which a database says that it does not know places of rows (ctid): it does not
// support them, or has no such column, function or operator.
bool SaysThatItHasNoPlaces(const std::string& code) {
  return code == "0A000" || code == "42703" || code == "42883" || code == "42846";
}

}  // namespace

Result<std::vector<EventGroups>> PostgresStore::Groups(const Moment&) const {
  using Groups = std::vector<EventGroups>;
  return readers_.With<Groups>([this](PostgresSession& session) -> Result<Groups> {
    if (session.server_version() < kFirstWithRangesOfPlaces) return Groups();
    session.Queue(kPages);
    const Result<std::vector<PostgresRows>> answers = session.Run(options_.settings.timeout);
    if (!answers.ok()) return answers.status();
    const PostgresRows& tables = answers.value()[0];
    Groups groups;
    for (size_t i = 0; i < tables.size(); ++i) {
      if (tables.IsNull(i, 0)) return Groups();
      if (tables.Int(i, 0) == 0) continue;
      const auto read = [this, first = tables.Int(i, 1), last = tables.Int(i, 2)](uint64_t page, uint64_t after,
                                                                                  const EventGroups::Visit& visit) {
        return ReadPage(page, after, first, last, visit);
      };
      groups.push_back({.count = static_cast<uint64_t>(tables.Int(i, 0)), .read = read});
    }
    QueuePage(session, 0, 0, 0, 0);
    const Result<std::vector<PostgresRows>> tried = session.Run(options_.settings.timeout);
    if (tried.ok()) return groups;
    return SaysThatItHasNoPlaces(session.error_code()) ? Result<Groups>(Groups()) : tried.status();
  });
}

// Holds no connection while `visit` runs. The wait counts as work, because it takes a thread: a server that is far away
// gets fewer pages into a sample, which does not take longer.
Result<Work> PostgresStore::ReadPage(uint64_t page, uint64_t after, int64_t first, int64_t last,
                                     const EventGroups::Visit& visit) const {
  Work work = 0;
  for (bool more = true; more;) {
    const TimePoint begin = options_.clock->Now();
    const auto read = [&](PostgresSession& session) {
      QueuePage(session, page, after, first, last);
      return session.Run(options_.settings.timeout);
    };
    const Result<std::vector<PostgresRows>> answers = readers_.With<std::vector<PostgresRows>>(read);
    if (!answers.ok()) return answers.status();
    work += std::max(kPageWork, static_cast<Work>((options_.clock->Now() - begin).count()));
    const PostgresRows& rows = answers.value()[1];
    for (size_t i = 0; i < rows.size(); ++i) {
      after = static_cast<uint64_t>(rows.Int(i, 0));
      const std::string_view record = rows.Bytes(i, 3);
      if (!EventView::WellFormed(record)) continue;  // queries pass over it, too
      const Serial serial{static_cast<uint32_t>(rows.Int(i, 1)), static_cast<uint64_t>(rows.Int(i, 2))};
      if (!visit(after, serial, EventView(record))) return work;
    }
    more = rows.size() == kMostPageRecords;
  }
  return work;
}

}  // namespace weir
