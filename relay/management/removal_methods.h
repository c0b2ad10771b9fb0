// The methods about removals of stored events by filter (relay/retention/removal_jobs.h), which weir adds to NIP-86:
//
//   removeevents [{"filters":[{"kinds":[7]}],"older_than_s":2592000}]   begins a removal; returns its state
//   listeventremovals []                                                returns the states of the last ones
//   cancelremoval [id]                                                  ends a removal
#pragma once

#include "relay/management/management_methods.h"
#include "relay/retention/removal_jobs.h"

namespace weir {

// Adds the methods. `jobs` must outlive `methods`.
void AddRemovalMethods(ManagementMethods& methods, RemovalJobs& jobs);

}  // namespace weir
