#include "import/found_destination.h"

#include <optional>
#include <utility>

#include "config/text/readable.h"
#include "relay/admin/admin.h"
#include "relay/process/lock_file.h"

namespace weir {

Result<std::unique_ptr<Destination>> OpenFoundDestination(const RelayConfiguration& configuration,
                                                          const DestinationOptions& options,
                                                          Destination::OnSettled on_settled,
                                                          std::vector<std::string>* notes) {
  const std::string events = configuration.data_dir + "/events";
  std::optional<LockHolder> holder;
  if (IsEmbedded(configuration.storage)) holder = HolderOf(events);
  if (!holder) return OpenDatabaseDestination(configuration, options, std::move(on_settled));
  const std::string who = AsText(Describe(*holder));
  const std::string in_use = AsText(events) + " is in use by " + who;
  if (holder->address.empty()) return Status::Error(in_use + "; stop it, or name another directory with --data-dir");
  notes->push_back(in_use + ": importing through it, as bulk work");
  return OpenRelayDestination({.url = holder->address,
                               .holder = who,
                               .token = [data_dir = configuration.data_dir] { return FindAdminToken(data_dir); }},
                              options, std::move(on_settled));
}

}  // namespace weir
