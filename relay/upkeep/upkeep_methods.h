// The methods of a running relay for `weir backup` and `weir compact`:
//
//   makecheckpoint    makes a checkpoint at the place that the caller has taken (checkpoint_place.h)
//   bulkwork          {"held":true} while the throttle holds bulk work back, so that a backup copies slowly
//   compact           begins to compact the database
//   stopcompaction    ends that
//   listcompaction    {"runs":…,"waits":…,"done":0.4,"bytes_then":…,"bytes_now":…,"error":"…"}
#pragma once

#include "relay/management/management_methods.h"
#include "relay/upkeep/upkeep.h"

namespace weir {

// Adds the methods. `upkeep` must outlive `methods`.
void AddUpkeepMethods(ManagementMethods& methods, Upkeep& upkeep);

}  // namespace weir
