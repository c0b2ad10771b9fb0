#include "import/local_destination.h"

namespace weir {

std::unique_ptr<Destination> MakeDryRun(const DestinationOptions& options, Destination::OnSettled on_settled) {
  return std::make_unique<LocalDestination>(LocalParts{.name = "nowhere (a dry run)"}, options, std::move(on_settled));
}

}  // namespace weir
