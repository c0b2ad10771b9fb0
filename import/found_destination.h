// OpenFoundDestination: the destination (destination.h) of a command that names none: the relay that has the data
// directory open, else the database itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "import/destination.h"

namespace weir {

// Adds to `notes` a sentence for the user if the events go through a relay. Returns an error if another program than a
// relay has the data directory open, or if the database cannot be opened.
Result<std::unique_ptr<Destination>> OpenFoundDestination(const RelayConfiguration& configuration,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          std::vector<std::string>* notes);

}  // namespace weir
