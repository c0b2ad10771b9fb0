// RemovalClient: begins, follows and ends removals of stored events (relay/retention/removal_jobs.h) for `weir delete`:
// those of a relay that runs, or those of this process, on a database that no relay has open.
#pragma once

#include <memory>

#include "config/status.h"
#include "relay/operator/relay_configuration.h"
#include "relay/retention/removal_jobs.h"
#include "relay/running/running_relay.h"

namespace weir {

// Every error is a sentence for the operator. One thread uses an object.
class RemovalClient {
 public:
  virtual ~RemovalClient() = default;
  virtual Result<RemovalState> Begin(const RemovalOrder& order) = 0;
  // Returns the state of a removal that was begun; an error also if the relay does not know it any more.
  virtual Result<RemovalState> Look(uint64_t id) = 0;
  // Ends the removal soon, unless it is over.
  virtual void Cancel(uint64_t id) = 0;
};

std::unique_ptr<RemovalClient> RemovalsOf(RunningRelay relay);
// Opens the database of the settings, which must exist. Other programs cannot open a RocksDB meanwhile.
Result<std::unique_ptr<RemovalClient>> RemovalsHere(const RelayConfiguration& configuration);

}  // namespace weir
