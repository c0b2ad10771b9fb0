// The engine that the simulator throttles, on virtual time. It has a write path that takes bytes at some speed and
// background work that takes them away again.
//
// Not thread-safe. Time only goes forward.
#pragma once

#include <cstdint>

#include "config/clock.h"
#include "monitors/load_sample.h"

namespace weir {

// The engine as an observer sees it; figures that a plant does not have stay 0.
struct PlantView {
  uint64_t l0_files = 0;
  double l0_bytes = 0;
  double l1_bytes = 0;
  double tree_bytes = 0;  // in all files
  double memtable_bytes = 0;
  int immutable_memtables = 0;
  double pending_bytes = 0;
  double memory_bytes = 0;
  bool flushing = false;
  bool compacting = false;
  bool delayed = false;  // the engine brakes by itself
  bool stopped = false;
  double total_flushed_bytes = 0;
  double total_drained_bytes = 0;  // out of L0, or out of memory
  uint64_t escapes = 0;            // times that the engine began to brake
  double stalled_seconds = 0;      // spent delayed or stopped
};

class Plant {
 public:
  virtual ~Plant() = default;

  // Lets the background work until `now`.
  virtual void AdvanceTo(TimePoint now) = 0;
  // Returns when the background work next changes anything, if nothing is written until then.
  virtual TimePoint NextEvent() const = 0;

  // Returns the speed of the write path, which is constant until the next event or Write; 0 while it is stopped.
  virtual double WriteBytesPerSecond() const = 0;
  // Takes a write that has gone through the write path.
  virtual void Write(double user_bytes) = 0;

  virtual void SetBackground(double bytes_per_second) = 0;

  // Fills in what a monitor's Probe would find at this moment.
  virtual void Sense(TimePoint now, LoadSample* sample) = 0;
  virtual PlantView View() const = 0;
};

}  // namespace weir
