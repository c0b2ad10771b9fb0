// PostgresWordBuild: makes the tables of the words of events (postgres_words.h), and adds the words that are missing.
//
//   | table         | one row for                                                                                  |
//   |---------------|----------------------------------------------------------------------------------------------|
//   | weir_words    | an event whose content is searched: its words. A transaction that removes the event removes  |
//   |               | the row, too; only that of an older weir may leave it, which no search finds                 |
//   | weir_searched | each origin (schema.h) whose events have words: `kinds`, the kinds that are searched, and    |
//   |               | the version of the words; `low` and `high`: events with a serial above `low`, up to `high`,  |
//   |               | have their words; `rest`: about how many events up to `low` there are                        |
//
// The tables are empty until a relay with WEIR_SEARCH_KINDS opens the database. A relay with this setting saves the
// words with its events, and raises `high` if the events before had words. Relays and imports without it, and those of
// an older weir, save only events; the build of any relay that searches then finds that `high` is behind the last
// serial of an origin. So no word is lost, whichever process saves. A build takes the events that came since first, and
// then older ones, the newest first. It writes the words of a piece and its progress in one transaction, so it goes on
// after a crash where it was, and several relays may build at the same time.
//
// Relays with different kinds share the index: it has all of their kinds. A new kind begins the build anew; what has
// its words already keeps them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/status.h"
#include "config/wire/postgres/postgres_session.h"
#include "relay/store/event_store.h"
#include "relay/store/postgres/postgres_edit.h"
#include "relay/store/search/searched_events.h"

namespace weir {

// Returns the next events of the origin $1 with a serial above $2, up to $3: until those that are searched, which have
// one of the kinds $4, have $5 bytes, but at least one event and at most $6. The records of others are empty.
inline constexpr PostgresStatement kNewerEvents{
    "newer_wordless",
    "SELECT serial, CASE WHEN kind = ANY($4::int[]) THEN record ELSE '' END FROM (SELECT serial, kind, record,"
    " sum(CASE WHEN kind = ANY($4::int[]) THEN octet_length(record) ELSE 0 END)"
    " OVER (ORDER BY serial ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM weir_events"
    " WHERE origin = $1::int AND serial > $2::bigint AND serial <= $3::bigint ORDER BY serial LIMIT $6::bigint) AS e"
    " WHERE coalesce(before, 0) < $5::bigint ORDER BY serial"};
inline constexpr int64_t kPassedAtOnce = 256;
inline constexpr int64_t kSplitAtOnce = 64 << 10;

// Makes the tables if there are none.
Status MakeWordTables(PostgresSession& session, Duration patience);
// Lets the tables have these kinds, too. Returns all kinds that are searched now. Returns an error if the words are of
// a newer weir; removes those of an older version.
Result<std::vector<uint16_t>> OpenSearchTables(PostgresSession& session, const std::vector<uint16_t>& kinds,
                                               Duration patience);

// Returns the kinds whose words the database has; none if it has no such tables, or those of another version.
Result<std::vector<uint16_t>> SearchedKindsOf(PostgresSession& session, Duration patience);
// Returns a sentence for the operator if a relay searches other kinds than those whose words the database has: what
// this means, and what to do. Returns an empty text if the kinds are the same, or if the database has no words.
std::string WarningOfKinds(const std::vector<uint16_t>& of_relay, const std::vector<uint16_t>& of_database);
// Begins the words of the origins that have none.
Status BeginWords(PostgresSession& session, const SearchedEvents& searched, Duration patience);

struct WordPiece {
  uint64_t events = 0;  // events whose words were added
  uint64_t left = 0;    // about how many events have no words yet
  bool more = false;
};
// Adds the words of some events to the edit, with about the work `most`.
Result<WordPiece> BuildWords(PostgresEdit& edit, const SearchedEvents& searched, Work most);

}  // namespace weir
