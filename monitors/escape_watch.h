// EscapeWatch: notices when an engine brakes by itself although its writes are limited (an escape), and makes the
// sentence that tells the operator of it.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "monitors/load_sample.h"

namespace weir {

class EscapeWatch {
 public:
  // Notes at each sample whether the engine slows down or stops writes.
  void Take(bool braking);
  bool braking() const { return braking_; }
  // Returns how often a sample found that the engine had begun to brake.
  uint64_t seen() const { return seen_; }

  // Returns the sentence if the engine brakes, or has done so since the last call (`sample.escapes` has grown), and did
  // not within the last ten seconds; else an empty text. `stops` says that it stops writes now. `family` is the column
  // family because of which it brakes; empty if that is not known. The levels of that moment show the operator whether
  // weir knew of the load.
  std::string Tell(TimePoint now, bool stops, const std::string& family, const LoadSample& sample);
  // Must be called instead of Tell while no limiter runs: the brakes are then no escapes.
  void PassOver(const LoadSample& sample) { told_escapes_ = sample.escapes; }

 private:
  bool braking_ = false;
  uint64_t seen_ = 0;
  std::optional<uint64_t> told_escapes_;
  std::optional<TimePoint> last_;
};

}  // namespace weir
