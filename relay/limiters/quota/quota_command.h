// weir quota …: asks for and administers quotas, those of a running gate or those in a store.
#pragma once

namespace weir {

// Returns the exit status: 0 if the request is allowed or the call was done; 1 if it is refused, or the reservation or
// model is not known; 2 if the use is wrong, nothing could be asked, or the store does not answer. argv[0] is "weir
// quota".
int QuotaCommand(int argc, char** argv);

}  // namespace weir
