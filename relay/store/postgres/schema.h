// The tables of the events in a PostgreSQL, and who writes there.
//
//   | table                  | one row for                                                                          |
//   |------------------------|--------------------------------------------------------------------------------------|
//   | weir_meta              | "format": the version of these tables; "database": a name that no other has          |
//   | weir_origins           | each who saves: name, last serial, events added less removed, who has the name now,  |
//   |                        | and whether what it saves is told to live subscribers                                |
//   | weir_events            | an event: what it is found by, and its record (relay/nostr/event.h)                  |
//   | weir_tags              | a tag that can be asked for; `tag` is a hash of letter and value, for long values    |
//   |                        | do not fit into an index                                                             |
//   | weir_addresses         | the newest version of a replaceable or addressable event                             |
//   | weir_deleted           | an id that its author deleted (NIP-09), with the first 16 bytes of the author         |
//   | weir_deleted_addresses | an address that its author deleted, until when                                       |
//   | weir_vanished          | an author who asked to vanish (NIP-62), until when, and whether events are still owed |
//
// Every shape of NIP-01's filters is a walk of an index in the order of the answer: (…, created_at DESC, id ASC).
// Nothing is used that other engines with PostgreSQL's protocol lack: no triggers, sequences, advisory locks.
#pragma once

#include <cstdint>
#include <string>

#include "config/status.h"
#include "monitors/postgres/postgres_session.h"

namespace weir {

inline constexpr int kPostgresFormat = 1;

// Makes the tables where there are none and `create` is set. Refuses newer ones, and those of another program; there
// are no older ones.
Status OpenSchema(PostgresSession& session, bool create, Duration patience);

struct PostgresOrigin {
  uint32_t number = 0;
  std::string name;
  std::string owner;    // a token: who took the name last has it
  uint64_t serial = 0;  // the last of which it is known that it was committed
};
// From here on whoever had the name before cannot save.
Result<PostgresOrigin> TakeOrigin(PostgresSession& session, const std::string& name, bool is_live, Duration patience);

// Of no other database.
Result<std::string> DatabaseToken(PostgresSession& session, Duration patience);

// What all sessions of the store begin with: plans that are made once, and that walk the indexes. Where its client goes
// away, the server ends what it had begun in as much time as the client would have waited: its locks hold up others.
Status Tune(PostgresSession& session, Duration patience);

}  // namespace weir
