// A watch: a gRPC call that sends the answer of a unary method at once, and again each time that the answer has
// changed, until the client ends the call, its deadline has passed, or the server shuts down. If the method answers
// with an error, the watch ends with that error.
//
// The watch calls the method again at each beat, a fixed time after the last answer, unless the deadline has passed by
// then. It makes no call while it waits for an answer of the method or while the stream is full, so a watch costs
// nothing once its client has stopped reading and the stream is full. Watches that begin together call the method at
// different moments (FirstBeat): timers do not take turns with the connections of their I/O thread, and when 50,000
// watches called at once, the thread was busy for 280 ms.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "relay/net/grpc/grpc_message.h"
#include "relay/net/http.h"

namespace weir {

struct GrpcWatchPace {
  std::chrono::milliseconds beat{1000};
  // The most watches of one method by one client (NetworkOf in relay/net/client_address.h). Further watches end with
  // RESOURCE_EXHAUSTED.
  size_t most_of_an_address = 256;
};

// The method that is watched.
struct GrpcWatched {
  // Calls the method with a framed message. Runs on the I/O thread of the watch and must not block; it answers through
  // `reply`, like an HttpDeferredHandler.
  std::function<void(const GrpcCall& call, std::string_view message, HttpReply reply)> ask;
  // Returns the part of a framed answer that the watch compares. The watch sends an answer only if this part differs
  // from that of the answer that it sent last.
  std::function<std::string(std::string_view answer)> state;
};

// Returns the time from the first answer to the second call of the method, for the n-th watch of that method. It is at
// most `beat`. The times of consecutive watches are spread evenly over the beat.
std::chrono::nanoseconds FirstBeat(uint64_t n, std::chrono::nanoseconds beat);

// Adds a method at `path`, "/package.Service/Method". Each call of that method is a watch of `watched`.
void AddGrpcWatch(HttpRouter& router, std::string path, const GrpcWatchPace& pace, GrpcWatched watched);

}  // namespace weir
