// The Destination that brings its chunks to a running relay, by POST /api/import (import_service.h).
//
// Chunks are kept until the relay has told that their lines are settled. When it goes away, those that are left are
// sent again as soon as it is back: what it had stored already is a duplicate then. It gives up where the relay refuses
// (HTTP 4xx), and where it says that its error is a lasting one. While nothing is pushed for a while
// the POST is ended, and the next chunk begins another.
//
// What a chunk's lines became is told by the relay as totals of all lines so far. Rejects are told line by line, so
// they are exact; of the rest each chunk gets as many as it has lines, in the order of LineOutcome: which of two chunks
// that are settled together had the duplicate is not known.
//
// Lines that are too long are not sent, but rejected here. So is a byte order mark at the begin of an input taken off
// here: the relay knows only the begin of the POST.
//
// Threads: one of its own, which also calls OnSettled.
#pragma once

#include <chrono>
#include <memory>

#include "config/clock.h"
#include "import/destination.h"

namespace weir {

struct RelayDestinationTimes {
  Duration idle = std::chrono::seconds(10);        // before a POST is ended
  Duration first_retry = std::chrono::seconds(1);  // each is as much longer than the one before
  Duration longest_retry = std::chrono::seconds(5);
};

Result<std::unique_ptr<Destination>> MakeRelayDestination(const RelayAddress& address,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          const RelayDestinationTimes& times);

}  // namespace weir
