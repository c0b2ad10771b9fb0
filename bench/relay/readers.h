// Readers: several Readers (reader.h) at the same time. Each sends REQs of the four interactive shapes (shapes.h) in
// turn, at a steady rate.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/relay/event_set.h"
#include "bench/relay/reader.h"

namespace weir {

class Readers {
 public:
  // Connects a reader to each of the endpoints. Each sends a REQ every `interval` from now on; their first REQs are
  // spread evenly over the interval.
  Status Start(const std::vector<Endpoint>& endpoints, const EventSet& stored, Duration interval, uint64_t seed,
               Loop* loop);
  Status Start(const Endpoint& endpoint, const EventSet& stored, size_t readers, Duration interval, uint64_t seed,
               Loop* loop) {
    return Start(std::vector<Endpoint>(readers, endpoint), stored, interval, seed, loop);
  }
  void Stop();
  bool idle() const;
  // Adds the latency of all readers to `*latency`.
  void MergeInto(LatencyHistogram* latency) const;
  // Adds the latency of all readers to `*latency`, and clears their own.
  void MoveLatencyTo(LatencyHistogram* latency);
  size_t closed() const;

 private:
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace weir
