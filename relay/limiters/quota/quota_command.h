// weir quota …: asks and administers the quotas of a running gate, or of a store.
#pragma once

namespace weir {

int QuotaCommand(int argc, char** argv);

}  // namespace weir
