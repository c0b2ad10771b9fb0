// The tables in which a PostgreSQL database keeps the events. The functions here make the tables and register the
// origins (relay/store/serial.h), that is, the names under which processes save.
//
//   | table                  | one row for                                                                          |
//   |------------------------|--------------------------------------------------------------------------------------|
//   | weir_meta              | "format": the version of these tables; "database": a token that no other has; and    |
//   |                        | each note of PostgresStore::SetNote                                                  |
//   | weir_origins           | each origin: its name, last serial, events added less removed, the process that has  |
//   |                        | the name now, and whether live subscribers of other relays get its events            |
//   | weir_events            | an event: the values by which it is found, and its record (relay/nostr/event.h)      |
//   | weir_tags              | a tag that a filter can name; `tag` is a hash of letter and value, because long      |
//   |                        | values do not fit into an index                                                      |
//   | weir_addresses         | the newest version of a replaceable or addressable event                             |
//   | weir_deleted           | an id that was deleted (NIP-09), and the first 16 bytes of the deletion's author     |
//   | weir_deleted_addresses | an address that its author deleted, and up to which created_at                       |
//   | weir_vanished          | an author who asked to vanish (NIP-62), up to when, and whether events may be left   |
//   | weir_memos             | a memo (event_store.h), also one that was removed: its text is then NULL; and the    |
//   |                        | revision that wrote it last                                                          |
//
// The row of the memo with an empty name has the last revision. Each write of memos locks it, so revisions are
// committed in their order. Databases that an older weir made have no weir_memos; OpenSchema adds it. That weir ignores
// the table. postgres_word_build.h has two more tables, for the relays that search.
//
// An operator may let weir_events, weir_tags and weir_words be partitioned by created_at (relay/SEVERAL.md). Each
// partition then has the indexes of the table, and the whole table has none, because PostgreSQL allows no unique key
// without created_at, and none at all beside a partition on another server. The key (id) of each partition is enough:
// an id is a hash that includes created_at, so an event can only be in one partition. Citus demands that each unique
// key of a table contains the column by which its rows are distributed: id, or address or author in the tables of
// these. So the serials have no unique index; the lock of an origin's row keeps them unique. Databases of an older weir
// have one, and a foreign key of weir_words; both do no harm. A statement that knows an event's created_at should name
// it, so that the server leaves out all other partitions.
//
// For the authors, the kinds, the authors with kinds, the tags and the tags with kinds of NIP-01's filters, and for
// filters without any of these, there is an index with the events in the order in which a query returns them: (…,
// created_at DESC, id ASC). The tables use no triggers, sequences or advisory locks, because other databases with
// PostgreSQL's protocol lack them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/status.h"
#include "config/wire/postgres/postgres_session.h"

namespace weir {

inline constexpr int kPostgresFormat = 1;

// Makes the tables if there are none and `create` is true, or only weir_memos if that is missing. Returns an error if
// there are none and `create` is false, or if the tables are of a newer weir or of another program. There is no older
// format.
Status OpenSchema(PostgresSession& session, bool create, Duration patience);

// Runs `sql`, which makes tables, unless `are_there` says that they are there. Another process may be making them at
// the same time; one of the two then fails, although the tables are there, which is no error. `what` names them in an
// error.
using AreThere = std::function<Result<bool>(PostgresSession& session, Duration patience)>;
Status MakeOnce(PostgresSession& session, const std::string& sql, const AreThere& are_there, const std::string& what,
                Duration patience);

struct PostgresOrigin {
  uint32_t number = 0;  // Serial::origin of its events
  std::string name;
  std::string owner;    // a random token of the process that has the name
  uint64_t serial = 0;  // the last serial that is, or may be, assigned; new events get larger ones
};
// Registers this process as the origin `name`. A process that had the name before cannot save any more. If `is_live` is
// true, other relays read the events that the origin saves.
Result<PostgresOrigin> TakeOrigin(PostgresSession& session, const std::string& name, bool is_live, Duration patience);

// Returns a token of the database, which no other database has.
Result<std::string> DatabaseToken(PostgresSession& session, Duration patience);

// Sets the options that sessions need to read or save events. With them the server plans each statement only once, and
// its plans use the indexes. The server ends a statement that takes longer than `patience`. It also ends a session
// whose transaction is idle for as long, because the locks of a client that has gone away would make others wait.
Status Tune(PostgresSession& session, Duration patience);

}  // namespace weir
