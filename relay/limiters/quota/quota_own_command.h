// The verbs of `weir quota` that ask no gate: `migrate`, from one store to another, and `count`, which asks a provider.
#pragma once

#include "relay/limiters/quota/quota_verbs.h"

namespace weir {

// Both return the exit code.
int MigrateCommand(const QuotaFlags& flags);
int CountCommand(const QuotaFlags& flags);

}  // namespace weir
