// MakeRelayDestination: a Destination (destination.h) that sends its chunks to a running relay, by POST /api/import
// (import/serve/import_service.h).
//
// The destination joins chunks into parts of at most 1 MiB and sends each part in a POST of its own. The relay answers
// the POST when all lines of the part are settled (settled.h). At most three POSTs are open at once; the relay saves
// the parts in their order. If a POST is not answered, the destination waits until the relay is back and sends all
// parts without an answer again; lines that the relay had stored then count as duplicates. The import fails if the
// relay refuses a POST (HTTP 4xx except 408, 409 and 429; after 401 and 403 only if the relay's token has not changed),
// or if the relay says that its error is lasting.
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
