// The command `weir quota`: shows, uses and administers quotas, those of a running gate or those in a store.
#pragma once

namespace weir {

// Returns the exit status: 0 if the request is allowed or the call was done; 1 if the request is refused, if the model
// or the reservation is not known, or if the reservation has ended in another way; 2 after any other failure, for
// example if the arguments are wrong, or if the gate or the store does not answer. argv[0] is "weir quota".
int QuotaCommand(int argc, char** argv);

}  // namespace weir
