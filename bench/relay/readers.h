// Some readers side by side, each asking the four interactive shapes in turn at a steady pace.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/relay/event_set.h"
#include "bench/relay/reader.h"

namespace weir {

class Readers {
 public:
  // Connects the readers, which ask from now on; reader i begins i-th within the interval.
  Status Start(const Endpoint& endpoint, const EventSet& stored, size_t readers, Duration interval, uint64_t seed,
               Loop* loop);
  void Stop();
  bool idle() const;
  // Adds the latency of all of them.
  void MergeInto(LatencyHistogram* latency) const;
  // The same, and begins anew.
  void MoveLatencyTo(LatencyHistogram* latency);
  size_t closed() const;

 private:
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace weir
