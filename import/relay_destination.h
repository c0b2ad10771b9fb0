// The Destination that brings its chunks to a running relay, by POST /api/import (import_service.h).
//
// Chunks are joined to parts of at most 1 MiB, each a POST of its own that is answered when all of its lines are
// settled; a few are under way at once, and the relay saves them in their order. Where one of them is not answered, all
// that were not are sent again, as soon as the relay is back: what it had stored already is a duplicate then. It gives
// up where the relay refuses (HTTP 4xx), and where it says that its error is a lasting one.
//
// Lines that are too long are not sent, but rejected here.
//
// Threads: one of its own, which also calls OnSettled.
#pragma once

#include <chrono>
#include <memory>

#include "config/clock.h"
#include "import/destination.h"

namespace weir {

struct RelayDestinationTimes {
  Duration first_retry = std::chrono::seconds(1);  // each is as much longer than the one before
  Duration longest_retry = std::chrono::seconds(5);
};

Result<std::unique_ptr<Destination>> MakeRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          const RelayDestinationTimes& times);

}  // namespace weir
