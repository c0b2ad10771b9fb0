// BackupPace: paces the copying of a backup beside a running relay, so that its clients hardly notice. After each piece
// it rests for as long as the piece took, or for longer while the relay's throttle holds bulk work back. It does not
// rest while no relay runs. On a terminal it shows how far the copying is.
//
// Not thread-safe.
#pragma once

#include <cstdint>

#include "config/clock.h"
#include "config/status.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

class BackupPace {
 public:
  // `configuration` must outlive the object.
  explicit BackupPace(const RelayConfiguration& configuration);

  // Call it after each piece that was copied.
  Status After(uint64_t bytes);

 private:
  void AskRelay();

  const RelayConfiguration& configuration_;
  bool rests_ = false;  // a relay runs
  bool held_ = false;   // its throttle holds bulk work back, or it is too busy to answer
  uint64_t copied_bytes_ = 0;
  TimePoint asked_;
  TimePoint began_;  // when the piece began
};

}  // namespace weir
