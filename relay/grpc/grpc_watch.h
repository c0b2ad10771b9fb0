// A watch: a gRPC call that sends the answer of a unary method at once, and again each time that the answer has
// changed, until the client ends it or its deadline passes. An error of the method ends the watch with this error.
//
// The watch calls the method again at each beat, a fixed time after the last answer. It makes no call while it waits
// for an answer of the method or while the stream is full, so a watch soon costs nothing if its client has stopped
// reading. Watches that begin together call the method at different moments (FirstBeat): the timers of an I/O thread do
// not share its time fairly with its connections, and the calls of 50,000 watches at once took 280 ms.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "relay/grpc/grpc_message.h"
#include "relay/server/http.h"

namespace weir {

struct GrpcWatchPace {
  std::chrono::milliseconds beat{1000};
  // The most watches of one method by one client (GroupOf in relay/server/client_address.h). Further watches end with
  // RESOURCE_EXHAUSTED.
  size_t most_of_an_address = 256;
};

// The method that is watched.
struct GrpcWatched {
  // Calls the method with a framed message. Runs on the I/O thread of the watch and must not block; it answers through
  // `reply`, like an HttpDeferredHandler.
  std::function<void(const GrpcCall& call, std::string_view message, HttpReply reply)> ask;
  // Returns the part of a framed answer that is compared: an answer is sent if this part differs from that of the
  // answer sent last.
  std::function<std::string(std::string_view answer)> state;
};

// Returns the time from the first answer to the second call of the method, for the n-th watch of a method: a part of
// `beat`. The times of consecutive watches are spread evenly over the beat.
std::chrono::nanoseconds FirstBeat(uint64_t n, std::chrono::nanoseconds beat);

// Adds a method at `path`, "/package.Service/Method". Each call of that method is a watch of `watched`, at the pace of
// `pace`.
void AddGrpcWatch(HttpRouter& router, std::string path, const GrpcWatchPace& pace, GrpcWatched watched);

}  // namespace weir
