// A watch: a call that has the answers of a unary method for as long as it goes on, the first at once, and then each
// that differs from the one before. The method is asked again at each beat, one question at a time, and not while the
// stream is full: a watch that nobody reads comes to cost nothing. Watches that begin together ask at moments of their
// own, for their questions are asked beside the turns of the I/O thread: those of 50,000 took 280 ms at once. An error
// of the method ends it.
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
  // Of one method and one client, as GroupOf has it; more are refused with RESOURCE_EXHAUSTED.
  size_t most_of_an_address = 256;
};

struct GrpcWatched {
  // The method, of a message as it is framed. As a handler of HTTP; called on the I/O thread of the watch.
  std::function<void(const GrpcCall& call, std::string_view message, HttpReply reply)> ask;
  // Of an answer, framed: what has to differ.
  std::function<std::string(std::string_view answer)> state;
};

// Until the second question of the watch that is the n-th of its method: a part of a beat, and parts of any watches
// that follow each other lie evenly in it.
std::chrono::nanoseconds FirstBeat(uint64_t n, std::chrono::nanoseconds beat);

void AddGrpcWatch(HttpRouter& router, std::string path, const GrpcWatchPace& pace, GrpcWatched watched);

}  // namespace weir
