// Cause: why a message of a client was refused or failed, and whose fault that is: the client's, this relay's, the
// database's (PostgreSQL on a server), or the bus's (relay/store/siblings). This is the one list of causes: the labels
// of weir_failures_total, the words that clients read in an OK, a CLOSED or a NEG-ERR, and those of /readyz.
//
// The errors of a PostgreSQL begin with "PostgreSQL: " and end with the SQLSTATE in brackets, if the server gave one
// (config/wire/postgres/postgres_session.h). An answer to a client begins with a prefix of NIP-01 and contains the
// words of its cause.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/status.h"

namespace weir {

enum class Cause : uint8_t {
  kClient,        // the message is wrong or not allowed, or the client asks for too much
  kOverload,      // this relay: its engine or its memory can carry no more
  kShutdown,      // this relay stops
  kDisk,          // this relay: its own disk cannot be written to, or its disk budget is used up
  kFault,         // this relay: all other errors, such as a lack of memory, or an operator's plugin without an answer
  kDatabaseAway,  // no connection
  kDatabaseSlow,  // no answer in time, or a statement that a lock or too much work holds up
  kDatabaseBusy,  // no connection is free, or the throttle spares the database
  kDatabaseFull,  // its disk
  kDatabaseReadOnly,  // a standby, or a server that the operator has set to take no writes
  kStandbyMissing,    // a commit waits for a standby, or was not confirmed by one
  kDatabaseError,     // all other errors of the server
  kBusLost,           // the bus is down or refuses; never a reason for a refusal
};
inline constexpr size_t kCauses = 13;

struct CauseWords {
  std::string_view fault;   // the label `fault`
  std::string_view reason;  // the label `reason`
  std::string_view words;   // for clients; empty if the answer says more itself
};
const CauseWords& WordsOf(Cause cause);

// Returns the cause of an error of the store. The error must not be the client's.
Cause CauseOfError(const Status& error);
// Returns the cause of a refusal: the text of an OK with false, of a CLOSED or of a NEG-ERR.
Cause CauseOfRefusal(std::string_view refusal);

}  // namespace weir
