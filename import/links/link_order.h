// LinkOrder: what an operator asks of a link with another relay (link.h), in the section `router` of weir.yaml
// (router_reader.h) or by `weir stream`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "import/sync/sync_counts.h"
#include "relay/nostr/filter.h"

namespace weir {

struct LinkOrder {
  std::string group;  // the name in weir.yaml; empty: of `weir stream`
  std::string url;    // the other relay's: ws:// or wss://
  SyncDirection direction = SyncDirection::kBoth;
  std::vector<Filter> filters = {Filter{}};  // without limits and searches
  // The age in seconds up to which events are compared after each connection; nullopt: all; 0: none.
  std::optional<uint64_t> catch_up_s;
  std::string plugin;   // the command that judges what comes (relay/plugins/policy_plugin.h); empty: none
  std::string ca_file;  // certificates to trust; empty: those of the system

  bool operator==(const LinkOrder&) const = default;
};

// Reads "all", "none", or an age such as "7d". The error completes a sentence that begins with the text.
Result<std::optional<uint64_t>> ParseCatchUp(std::string_view text);
// Returns an error if the order's URL or filters are wrong, or if it has a plugin and no events come.
Status Check(const LinkOrder& order);

}  // namespace weir
