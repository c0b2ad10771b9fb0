// MakeRelayDestination: a Destination (destination.h) that sends its chunks to a running relay, by POST /api/import
// (import/serve/import_service.h).
//
// Chunks are joined into parts of at most 1 MiB. Each part is a POST of its own, which the relay answers when all lines
// of the part are settled. At most three POSTs are open at once; the relay saves the parts in their order. If a POST is
// not answered, all parts without an answer are sent again when the relay is back; lines that the relay had stored
// already are duplicates then. The import fails if the relay refuses a POST (HTTP 4xx except 408, 409 and 429; after
// 401 and 403 only if its token has not changed), or if the relay says that its error is lasting.
//
// Lines that are too long are not sent, but rejected here.
//
// Threads: the destination has one thread, which also calls OnSettled.
#pragma once

#include <chrono>
#include <memory>

#include "config/clock.h"
#include "import/destination.h"

namespace weir {

struct RelayDestinationTimes {
  Duration first_retry = std::chrono::seconds(1);  // the second wait is twice as long, the third three times, …
  Duration longest_retry = std::chrono::seconds(5);
};

// Makes the destination of OpenRelayDestination (destination.h), but with the waits of `times`. Returns an error if the
// URL does not begin with http:// or has a path.
Result<std::unique_ptr<Destination>> MakeRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          const RelayDestinationTimes& times);

}  // namespace weir
