// A Destination that brings its chunks to a running relay, by POST /api/import (import_service.h).
//
// Chunks are joined to parts of at most 1 MiB. Each part is a POST of its own that is answered when all of its lines
// are settled; a few are under way at once, and the relay saves them in their order. If one of them is not answered,
// all parts without an answer are sent again as soon as the relay is back; lines that it had stored already are
// duplicates then. The import gives up if the relay refuses (HTTP 4xx), or says that its error is a lasting one.
//
// Lines that are too long are not sent, but rejected here.
//
// Threads: it has one of its own, which also calls OnSettled.
#pragma once

#include <chrono>
#include <memory>

#include "config/clock.h"
#include "import/destination.h"

namespace weir {

struct RelayDestinationTimes {
  Duration first_retry = std::chrono::seconds(1);  // the second wait is twice as long, the third three times …
  Duration longest_retry = std::chrono::seconds(5);
};

Result<std::unique_ptr<Destination>> MakeRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          const RelayDestinationTimes& times);

}  // namespace weir
