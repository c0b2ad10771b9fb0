#include "config/status.h"

#include <cstdio>
#include <cstdlib>

namespace weir::internal {

void StopWithoutValue(const Status& status) {
  std::fprintf(stderr, "weir: a result was used without asking whether it is one: %s\n", status.message().c_str());
  std::abort();
}

}  // namespace weir::internal
