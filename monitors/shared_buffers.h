// The memory of all write buffers (memtables) of an engine together, if the engine stops every writer while this memory
// has reached a limit. RocksDB does so if its WriteBufferManager may stall (allow_stall). The code calls no engine.
//
// Such an engine starts to flush a buffer when those being filled have seven eighths of the limit. The bytes that come
// in during this flush must fit into the last eighth, or writers stop. Memory that no flush frees, such as the history
// that transactions keep, takes this room for good. If it takes half of the limit, RocksDB does not flush either when
// it stops writers, and they stand for ever.
#pragma once

#include <cstdint>
#include <optional>

#include "config/clock.h"
#include "monitors/load_sample.h"

namespace weir {

struct SharedBuffers {
  uint64_t limit_bytes = 0;    // the engine stops writers while used_bytes is not below this
  uint64_t used_bytes = 0;     // all write buffers: those being filled, those not flushed yet, those kept after a flush
  uint64_t filling_bytes = 0;  // the buffers that are being filled
  uint64_t largest_bytes = 0;  // the largest buffer that is being filled
  bool stopped = false;        // true if the engine stops writers because of the limit

  // Returns the bytes that may come in while a buffer is flushed.
  uint64_t room_bytes() const { return limit_bytes / 8; }

  // Returns the level after `coming_bytes` more have come in: 1.0 where the engine stops writers, 0 up to three
  // quarters of the limit. Below the limit it is also 0 if nothing comes in and every buffer is still being filled.
  double Level(uint64_t coming_bytes = 0) const;
};

// SharedBuffersSignal: makes the signal `buffers` from the figures of many samples. The level rises at each flush and
// falls when it ends, a few times a second. So the signal follows a rise at once, and a fall only within seconds: the
// throttle then holds the peaks at its setpoint. While bytes come in or wait for a flush, the signal is the level that
// the next sample would find, so it reaches 1.0 shortly before the engine stops writers.
//
// Not thread-safe.
class SharedBuffersSignal {
 public:
  // `flush_bytes_per_second` says how fast flushes work off admitted bytes.
  Signal Update(TimePoint now, const SharedBuffers& buffers, double flush_bytes_per_second, Duration sample_interval);

 private:
  double held_ = 0;
  std::optional<TimePoint> last_time_;
  uint64_t last_used_bytes_ = 0;
};

}  // namespace weir
