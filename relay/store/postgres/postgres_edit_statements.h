// The SQL statements of PostgresEdit (postgres_edit.h) and of the removals in PostgresStore. schema.h has the tables.
#pragma once

#include "config/wire/postgres/postgres_session.h"

namespace weir {

inline constexpr PostgresStatement kBegin{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
inline constexpr PostgresStatement kCommit{"commit", "COMMIT"};
inline constexpr PostgresStatement kRollback{"rollback", "ROLLBACK"};
inline constexpr PostgresStatement kLockOrigin{
    "lock_origin", "SELECT serial, owner FROM weir_origins WHERE origin = $1::int FOR UPDATE"};
inline constexpr PostgresStatement kLockOrigins{"lock_origins",
                                                "SELECT origin FROM weir_origins ORDER BY origin FOR UPDATE"};
inline constexpr PostgresStatement kCount{
    "count", "UPDATE weir_origins SET serial = $2::bigint, events = events + $3::bigint WHERE origin = $1::int"};

inline constexpr PostgresStatement kFindIds{"find_ids", "SELECT id FROM weir_events WHERE id = ANY($1::bytea[])"};
// The time tells the server which partition an event is in. The bounds, which have no other purpose, let it leave out
// the other partitions before it begins; it connects to the server of each partition that is left.
inline constexpr PostgresStatement kFindEvents{
    "find_events",
    "SELECT k.id FROM unnest($1::bytea[], $2::bigint[]) AS k (id, created_at) CROSS JOIN LATERAL"
    " (SELECT 1 FROM weir_events e WHERE e.id = k.id AND e.created_at = k.created_at AND e.created_at >= $3::bigint"
    " AND e.created_at <= $4::bigint LIMIT 1) AS e"};
inline constexpr PostgresStatement kFindMarks{
    "find_marks",
    "SELECT m.id, m.author FROM unnest($1::bytea[], $2::bytea[]) AS k (id, author)"
    " JOIN weir_deleted m ON m.id = k.id AND m.author = k.author"};
inline constexpr PostgresStatement kFindAddresses{
    "find_addresses", "SELECT address, id FROM weir_addresses WHERE address = ANY($1::bytea[])"};
inline constexpr PostgresStatement kFindAddressMarks{
    "find_address_marks", "SELECT address, until FROM weir_deleted_addresses WHERE address = ANY($1::bytea[])"};
inline constexpr PostgresStatement kFindVanished{
    "find_vanished", "SELECT author, until, request, owed::int FROM weir_vanished WHERE author = ANY($1::bytea[])"};
inline constexpr PostgresStatement kReadRecords{"read_records",
                                                "SELECT id, record FROM weir_events WHERE id = ANY($1::bytea[])"};

// Reads those whose time is known (kFindEvents).
inline constexpr PostgresStatement kReadEvents{
    "read_events",
    "SELECT e.id, e.record FROM unnest($1::bytea[], $2::bigint[]) AS k (id, created_at) CROSS JOIN LATERAL"
    " (SELECT id, record FROM weir_events e WHERE e.id = k.id AND e.created_at = k.created_at"
    " AND e.created_at >= $3::bigint AND e.created_at <= $4::bigint LIMIT 1) AS e"};

inline constexpr PostgresStatement kAddEvents{
    "add_events",
    "INSERT INTO weir_events (id, origin, serial, pubkey, kind, created_at, expiration, record)"
    " SELECT id, $1::int, serial, pubkey, kind, created_at, expiration, record"
    " FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::int[], $6::bigint[], $7::bigint[], $8::bytea[])"
    " AS e (id, serial, pubkey, kind, created_at, expiration, record)"};
inline constexpr PostgresStatement kAddTags{
    "add_tags",
    "INSERT INTO weir_tags (tag, kind, created_at, id)"
    " SELECT tag, kind, created_at, id FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bytea[])"
    " AS t (tag, kind, created_at, id)"};
// Locks the rows of the events, in the order of their ids, in which removals lock them, too; otherwise both could wait
// for each other. Passes over those that are removed meanwhile.
inline constexpr PostgresStatement kAddWords{
    "add_words",
    "INSERT INTO weir_words (id, kind, created_at, words) SELECT w.id, w.kind, w.created_at, w.words::tsvector"
    " FROM (SELECT * FROM unnest($1::bytea[], $2::int[], $3::bigint[], $4::text[]) AS u (id, kind, created_at, words)"
    " ORDER BY id) AS w CROSS JOIN LATERAL (SELECT 1 FROM weir_events e WHERE e.id = w.id AND e.created_at = "
    "w.created_at"
    " AND e.created_at >= $5::bigint AND e.created_at <= $6::bigint LIMIT 1 FOR KEY SHARE) AS e"
    " ON CONFLICT DO NOTHING"};
inline constexpr PostgresStatement kHaveWords{
    "have_words",
    "UPDATE weir_searched SET high = $4::bigint WHERE origin = $1::int AND kinds = $2::text AND high = $3::bigint"};
inline constexpr PostgresStatement kRemoveEvents{
    "remove_events",
    "DELETE FROM weir_events e USING unnest($1::bytea[], $2::bigint[]) AS k (id, created_at)"
    " WHERE e.id = k.id AND e.created_at = k.created_at"};
// Comes after kRemoveEvents, which waits for a transaction that adds words to these events (kAddWords), so this
// statement sees them.
inline constexpr PostgresStatement kRemoveWords{
    "remove_words",
    "DELETE FROM weir_words w USING unnest($1::bytea[], $2::bigint[]) AS k (id, created_at)"
    " WHERE w.id = k.id AND w.created_at = k.created_at"};
inline constexpr PostgresStatement kRemoveTags{
    "remove_tags",
    "DELETE FROM weir_tags t USING unnest($1::bigint[], $2::int[], $3::bigint[], $4::bytea[])"
    " AS k (tag, kind, created_at, id)"
    " WHERE t.tag = k.tag AND t.kind = k.kind AND t.created_at = k.created_at AND t.id = k.id"};
inline constexpr PostgresStatement kAddAddresses{
    "add_addresses",
    "INSERT INTO weir_addresses (address, id) SELECT address, id FROM unnest($1::bytea[], $2::bytea[])"
    " AS n (address, id)"};
inline constexpr PostgresStatement kReplaceAddresses{
    "replace_addresses",
    "UPDATE weir_addresses a SET id = n.id FROM unnest($1::bytea[], $2::bytea[], $3::bytea[])"
    " AS n (address, expected, id) WHERE a.address = n.address AND a.id = n.expected"};
inline constexpr PostgresStatement kRemoveAddresses{
    "remove_addresses",
    "DELETE FROM weir_addresses a USING unnest($1::bytea[], $2::bytea[]) AS g (address, expected)"
    " WHERE a.address = g.address AND a.id = g.expected"};
inline constexpr PostgresStatement kMarkDeleted{
    "mark_deleted",
    "INSERT INTO weir_deleted (id, author) SELECT id, author FROM unnest($1::bytea[], $2::bytea[]) AS m (id, author)"
    " ON CONFLICT DO NOTHING"};
inline constexpr PostgresStatement kMarkAddresses{
    "mark_addresses",
    "INSERT INTO weir_deleted_addresses AS d (address, until)"
    " SELECT address, until FROM unnest($1::bytea[], $2::bigint[]) AS m (address, until)"
    " ON CONFLICT (address) DO UPDATE SET until = greatest(d.until, excluded.until)"};
inline constexpr PostgresStatement kMarkVanished{
    "mark_vanished",
    "INSERT INTO weir_vanished AS v (author, until, request, owed)"
    " SELECT author, until, request, true FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])"
    " AS m (author, until, request)"
    " ON CONFLICT (author) DO UPDATE SET until = greatest(v.until, excluded.until), request = excluded.request,"
    " owed = true"};
inline constexpr PostgresStatement kCopyVanished{
    "copy_vanished",
    "INSERT INTO weir_vanished AS v (author, until, request, owed)"
    " SELECT author, until, coalesce((SELECT id FROM weir_events e WHERE e.pubkey = m.author AND e.kind = 62"
    " ORDER BY created_at DESC, id ASC LIMIT 1), ''::bytea), true"
    " FROM unnest($1::bytea[], $2::bigint[]) AS m (author, until)"
    " ON CONFLICT (author) DO UPDATE SET until = excluded.until, owed = true,"
    " request = CASE WHEN v.owed THEN v.request ELSE excluded.request END WHERE v.until < excluded.until"};
inline constexpr PostgresStatement kSetNote{"set_note",
                                            "INSERT INTO weir_meta (key, value) VALUES ($1::text, $2::text)"
                                            " ON CONFLICT (key) DO UPDATE SET value = excluded.value"};
inline constexpr PostgresStatement kNextRevision{"next_revision",
                                                 "UPDATE weir_memos SET revision = revision + 1 WHERE name = ''"};
inline constexpr PostgresStatement kWriteMemos{
    "write_memos",
    "INSERT INTO weir_memos (name, text, revision)"
    " SELECT name, text, (SELECT revision FROM weir_memos WHERE name = '')"
    " FROM unnest($1::text[], $2::text[]) AS m (name, text)"
    " ON CONFLICT (name) DO UPDATE SET text = excluded.text, revision = excluded.revision"};
inline constexpr PostgresStatement kEndVanishing{
    "end_vanishing", "UPDATE weir_vanished SET owed = false WHERE author = $1::bytea AND until = $2::bigint"};

}  // namespace weir
