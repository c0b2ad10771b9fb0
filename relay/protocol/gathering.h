// Gathering: the use that a COUNT or a NEG-OPEN makes of the events that its query finds; a REQ sends them instead. A
// Request (request.h) calls it on workers while it reads the store, and otherwise on its I/O thread.
//
// Threads: only one thread at a time may use the object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "relay/store/event_store.h"

namespace weir {

// The refusal of a request that has done as much work as a request may.
inline constexpr std::string_view kLooksAtTooMuch =
    "restricted: this looks at too much; narrow the filter by ids, authors, tags or time";

class Gathering {
 public:
  virtual ~Gathering() = default;

  // Returns true if Next needs a query.
  virtual bool wants_query() const { return true; }
  // Goes on with about the work `most`. Returns kDone once there is an answer, or a refusal. Each call must pass the
  // same `query`; null if wants_query() is false.
  virtual Result<Progress> Next(const EventStore& store, Query* query, Work most) = 0;
  // Returns the reason for which it gave up, with NIP-01's prefix; empty if it did not.
  virtual std::string refusal() const = 0;
  // Returns the work that was done, without that of the query (Query::work).
  virtual Work own_work() const = 0;
  // Returns the number of events in the answer.
  virtual uint64_t events() const = 0;
  // Returns the bytes of memory that it holds, if they may be many.
  virtual uint64_t held_bytes() const { return 0; }
  // Returns the answer as a message of the relay. Called once for each answer.
  virtual std::string TakeAnswer() = 0;
};

}  // namespace weir
