// The verbs of `weir quota` that ask no gate: `migrate`, from one store to another, and `count`, of a provider.
#pragma once

#include "relay/limiters/quota/quota_verbs.h"

namespace weir {

// What the program exits with.
int MigrateCommand(const QuotaFlags& flags);
int CountCommand(const QuotaFlags& flags);

}  // namespace weir
