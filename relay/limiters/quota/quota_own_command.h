// The verbs of `weir quota` that make no call of the quota API: `migrate` copies one store into another, and `count`
// asks a provider how many tokens a text has.
#pragma once

#include "relay/limiters/quota/quota_verbs.h"

namespace weir {

// Both functions print the result or the error, and return the exit status: 0, or 2 after an error.
int MigrateCommand(const QuotaFlags& flags);
int CountCommand(const QuotaFlags& flags);

}  // namespace weir
