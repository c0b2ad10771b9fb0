// A watch: a call that streams the answers of a unary method for as long as it lasts, the first at once, and then each
// that differs from the one before. The method is asked again at each beat, one question at a time, and not while the
// stream is full: so a watch that its client does not read soon costs nothing. Watches that begin together ask at
// different moments, because their questions are asked outside the turns of the I/O thread: those of 50,000 took 280 ms
// at once. An error of the method ends the watch.
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
  // Watches of one method and one client (GroupOf); more are refused with RESOURCE_EXHAUSTED.
  size_t most_of_an_address = 256;
};

struct GrpcWatched {
  // Asks the method with a framed message, like an HTTP handler. Called on the I/O thread of the watch.
  std::function<void(const GrpcCall& call, std::string_view message, HttpReply reply)> ask;
  // Returns the part of a framed answer that has to differ for the answer to be sent.
  std::function<std::string(std::string_view answer)> state;
};

// Returns the time until the second question of the n-th watch of a method: a part of a beat. The parts of consecutive
// watches are spread evenly over the beat.
std::chrono::nanoseconds FirstBeat(uint64_t n, std::chrono::nanoseconds beat);

void AddGrpcWatch(HttpRouter& router, std::string path, const GrpcWatchPace& pace, GrpcWatched watched);

}  // namespace weir
