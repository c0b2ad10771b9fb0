// The memory of all write buffers (memtables) of an engine together, if the engine stops every writer while this memory
// has reached a limit. RocksDB does so if its WriteBufferManager may stall (allow_stall). The code calls no engine.
//
// Such an engine starts to flush a buffer when those being filled have seven eighths of the limit. The bytes that come
// in during this flush must fit into the last eighth, or writers stop. So where weir has moved the engine's brakes, it
// starts the flush itself, at three quarters, and the room is twice as large. Memory that no flush frees, such as
// the history that transactions keep, takes this room for good. If it takes half of the limit, the engine does not
// flush either when it stops writers, and they stand for ever.
#pragma once

#include <cstdint>
#include <optional>

#include "config/clock.h"
#include "monitors/load_sample.h"
#include "monitors/smoothed.h"

namespace weir {

struct SharedBuffers {
  uint64_t limit_bytes = 0;    // the engine stops writers while used_bytes is not below this
  uint64_t used_bytes = 0;     // all write buffers: those being filled, those not flushed yet, those kept after a flush
  uint64_t filling_bytes = 0;  // the buffers that are being filled
  uint64_t own_bytes = 0;      // the part of filling_bytes that is in the watched families
  uint64_t largest_bytes = 0;  // the largest buffer in this part
  bool flushes_early = false;  // true if weir starts a flush when IsFlushDue says so
  bool stopped = false;        // true if the engine stops writers because of the limit

  // Returns the bytes that may come in while a buffer is flushed.
  double room_bytes() const;
  // Returns the level after `coming_bytes` more have come in: 1.0 where the engine stops writers, 0 up to three
  // quarters of the limit. Below the limit it is also 0 while every buffer is still being filled.
  double Level(double coming_bytes = 0) const;
  // Returns true if weir must start a flush of the largest buffer before `coming_bytes` more have come in. While the
  // watched families have less than an eighth of the limit, their buffers are too small to be worth a flush: another
  // database has filled the rest.
  bool IsFlushDue(double coming_bytes) const;
};

// SharedBuffersSignal: makes the signal `buffers` from the figures of many samples. The level rises at each flush and
// falls when it ends, a few times a second. So the signal follows a rise at once, and a fall only within seconds: the
// throttle then holds the peaks at its setpoint. The signal is the level that the next sample would find if as many
// bytes came in as since the last one, so it reaches 1.0 shortly before the engine stops writers.
//
// The drain is the rate at which the room suffices from a sample, by which weir sees that a flush is needed, over the
// next, by which the throttle acts, until this flush has ended; but at most the speed of flushes.
//
// Not thread-safe.
class SharedBuffersSignal {
 public:
  // `flush_bytes_per_second` says how fast flushes work off admitted bytes.
  Signal Update(TimePoint now, const SharedBuffers& buffers, double flush_bytes_per_second, Duration sample_interval);
  // Returns true if a flush is due at the last update or, as fast as bytes came in, would be at the next one.
  bool flush_due() const { return flush_due_; }

 private:
  double held_ = 0;
  bool flush_due_ = false;
  Smoothed inflow_bytes_per_second_{std::chrono::milliseconds(300)};
  std::optional<TimePoint> last_time_;
  uint64_t last_used_bytes_ = 0;
};

}  // namespace weir
