// Plant: the simulated engine, on virtual time. Its write path takes bytes at a certain speed, and its background work
// removes them again (from memory or from L0).
//
// Not thread-safe. The time must not go backwards.
#pragma once

#include <cstdint>

#include "config/clock.h"
#include "monitors/load_sample.h"

namespace weir {

// The state of a plant. Figures that a plant does not have stay 0.
struct PlantView {
  uint64_t l0_files = 0;
  double l0_bytes = 0;
  double l1_bytes = 0;
  double tree_bytes = 0;  // bytes in all files
  double memtable_bytes = 0;
  int immutable_memtables = 0;
  double pending_bytes = 0;
  double memory_bytes = 0;
  bool flushing = false;
  bool compacting = false;
  bool delayed = false;  // the engine brakes by itself
  bool stopped = false;
  double total_flushed_bytes = 0;
  double total_drained_bytes = 0;  // bytes that background work has removed from L0, or from memory
  uint64_t escapes = 0;            // number of times that the engine began to brake
  double stalled_seconds = 0;      // time during which writes were delayed or stopped
};

class Plant {
 public:
  virtual ~Plant() = default;

  // Simulates the background work until `now`.
  virtual void AdvanceTo(TimePoint now) = 0;
  // Returns the time of the next event of the background work (the end of a flush or compaction), if no write comes
  // before it.
  virtual TimePoint NextEvent() const = 0;

  // Returns the speed of the write path, which is constant until the next event or Write; 0 while writes are stopped.
  virtual double WriteBytesPerSecond() const = 0;
  // Takes a write that has gone through the write path.
  virtual void Write(double user_bytes) = 0;

  virtual void SetBackground(double bytes_per_second) = 0;

  // Fills `*sample` as the probe of a real monitor would at this moment.
  virtual void Sense(TimePoint now, LoadSample* sample) = 0;
  virtual PlantView View() const = 0;
};

}  // namespace weir
