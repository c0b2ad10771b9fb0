// Reads the section `router` of weir.yaml (WEIR_CONFIG), which names the relays that a relay stays equal with:
//
//   router:
//     friends:                                  # a name of the operator's
//       relays: [wss://one.example, wss://two.example]
//       dir: both                               # down: get events; up: send them; both (the default)
//       filters: [{kinds: [0, 1, 3]}, {authors: [npub1…]}]   # as in a REQ; without filters: all events
//       catch_up: 7d                            # what is compared after each connection: all (the default), none, or
//                                               # events up to this age
//       plugin: ./judge.py                      # asked about each event that comes, as a write plugin is
//       ca: /etc/ssl/mine.pem                   # certificates to trust, instead of the system's
#pragma once

#include <string>
#include <vector>

#include "config/status.h"
#include "import/links/link_order.h"

namespace weir {

struct RouterRead {
  std::vector<LinkOrder> orders;
  std::string summary = "no links";  // describes the links in the log
};

// Reads the links in the file at `path`; an empty path is a file without links.
Result<RouterRead> ReadRouter(const std::string& path);

}  // namespace weir
