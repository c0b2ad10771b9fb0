// The methods about reports: weir's `listreports` ["open" or "all", after], and NIP-86's `listeventsneedingmoderation`
// [after]. All parameters are optional (relay/moderation/reports.h).
#pragma once

#include "config/clock.h"
#include "relay/management/management_methods.h"
#include "relay/moderation/moderation.h"
#include "relay/store/event_store.h"

namespace weir {

// Adds the methods. The other arguments must outlive `methods`.
void AddReportMethods(ManagementMethods& methods, const EventStore& store, const Moderation& moderation,
                      const WallClock& clock);

}  // namespace weir
