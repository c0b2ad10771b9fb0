// Saves the events of an import that a policy plugin accepts. The import through a relay and the import into a database
// of its own share this function.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/plugins/policy_plugin.h"
#include "relay/store/event_store.h"

namespace weir {

// Asks the plugin about the events, at most 64 at once, and blocks until each question is settled. Then calls `save`
// with the accepted events, if there are any, and returns its status; the other events get the outcome kRefused. `save`
// and this function set results as EventStore::Save does. Returns an error, and saves nothing, if the plugin did not
// answer a question and the operator's rule is to refuse then; the caller may try again. `received_at` is in seconds
// since 1970.
Status SaveAllowed(PolicyPlugin& plugin, uint64_t received_at, std::span<const Event> events,
                   std::span<SaveResult> results,
                   const std::function<Status(std::span<const Event>, std::span<SaveResult>)>& save);

}  // namespace weir
