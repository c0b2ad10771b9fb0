// Save only the events of an import that are chosen, or that a policy plugin accepts. The import through a relay and
// the import into a database of its own share the latter function.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/plugins/policy_plugin.h"
#include "relay/store/event_store.h"

namespace weir {

// Saves events as EventStore::Save does.
using SaveEvents = std::function<Status(std::span<const Event> events, std::span<SaveResult> results)>;

// Calls `save` with the events that are `chosen`, if there are any, and returns its status; the other events get the
// outcome kRefused. Sets results as EventStore::Save does. `chosen` has an element for each event.
Status SaveChosen(const std::vector<bool>& chosen, std::span<const Event> events, std::span<SaveResult> results,
                  const SaveEvents& save);

// Asks the plugin about the events, at most 64 at once, and blocks until each question is settled. Then saves the
// accepted events with SaveChosen. Returns an error, and saves nothing, if the plugin did not answer a question and the
// operator's rule is to refuse then; the caller may try again. `received_at` is in seconds since 1970.
Status SaveAllowed(PolicyPlugin& plugin, uint64_t received_at, std::span<const Event> events,
                   std::span<SaveResult> results, const SaveEvents& save, const PluginSource& source = kImportSource);

}  // namespace weir
