// MakeRelayDestination: a Destination (destination.h) that sends its chunks to a running relay, by POST /api/import
// (import/serve/import_service.h).
//
// The destination joins chunks into parts with a weight (WeightOf) of at most 1 MiB, and sends each part in a POST of
// its own. A chunk that weighs more is a part by itself. The answer to a POST is complete when all lines of the part
// are settled (settled.h). At most three POSTs are open at once; the relay saves the parts in their order.
//
// If a POST fails, the destination ends the other POSTs, waits (RelayDestinationTimes), and sends all parts without a
// complete answer again; lines that the relay had stored then count as duplicates. After the first status 409, with
// which the relay says that it does not expect this part, the destination does not wait. The import fails if the status
// is not 200, 408, 409, 429 or above 499, or if the relay says that its error is lasting. After 401 and 403 it fails
// only if the relay's token has not changed.
//
// The destination does not send lines that are too long, but rejects them itself.
//
// Threads: the destination has one thread, which also calls OnSettled.
#pragma once

#include <chrono>
#include <memory>

#include "config/clock.h"
#include "import/destination.h"

namespace weir {

// The waits before the destination sends again after an error.
struct RelayDestinationTimes {
  Duration first_retry = std::chrono::seconds(1);    // the second wait is twice as long, the third three times, …
  Duration longest_retry = std::chrono::seconds(5);  // no wait is longer
};

// Makes the destination of OpenRelayDestination (destination.h), but with the waits of `times`. Returns an error if the
// URL does not begin with http:// or has a path.
Result<std::unique_ptr<Destination>> MakeRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          const RelayDestinationTimes& times);

}  // namespace weir
