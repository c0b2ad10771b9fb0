// The tables of the events in a PostgreSQL, and the origins that write there.
//
//   | table                  | one row for                                                                          |
//   |------------------------|--------------------------------------------------------------------------------------|
//   | weir_meta              | "format": the version of these tables; "database": a name that no other has          |
//   | weir_origins           | each origin: its name, last serial, events added less removed, its present owner,    |
//   |                        | and whether live subscribers are told of its events                                  |
//   | weir_events            | an event: the values it is found by, and its record (relay/nostr/event.h)            |
//   | weir_tags              | a tag that can be asked for; `tag` is a hash of letter and value, for long values    |
//   |                        | do not fit into an index                                                             |
//   | weir_addresses         | the newest version of a replaceable or addressable event                             |
//   | weir_deleted           | an id that its author deleted (NIP-09), with the first 16 bytes of the author         |
//   | weir_deleted_addresses | an address that its author deleted, until when                                       |
//   | weir_vanished          | an author who asked to vanish (NIP-62), until when, and whether events are still owed |
//
// Every shape of NIP-01's filters is a walk of an index in the order of the answer: (…, created_at DESC, id ASC).
// The tables need nothing that other engines with PostgreSQL's protocol lack: no triggers, sequences, advisory locks.
#pragma once

#include <cstdint>
#include <string>

#include "config/status.h"
#include "monitors/postgres/postgres_session.h"

namespace weir {

inline constexpr int kPostgresFormat = 1;

// Makes the tables if there are none and `create` is set. Refuses newer tables and those of another program; there are
// no older ones.
Status OpenSchema(PostgresSession& session, bool create, Duration patience);

struct PostgresOrigin {
  uint32_t number = 0;
  std::string name;
  std::string owner;    // a token of the process that took the name last
  uint64_t serial = 0;  // the last that is known to be committed
};
// Takes a name. From here on the process that had it before cannot save.
Result<PostgresOrigin> TakeOrigin(PostgresSession& session, const std::string& name, bool is_live, Duration patience);

// Returns a token that no other database has.
Result<std::string> DatabaseToken(PostgresSession& session, Duration patience);

// Sets what all sessions of the store begin with: plans are made once, and walk the indexes. If a client goes away, the
// server ends what it had begun, in as much time as the client would have waited: its locks hold up others.
Status Tune(PostgresSession& session, Duration patience);

}  // namespace weir
