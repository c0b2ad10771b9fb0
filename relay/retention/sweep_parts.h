// SweepParts: the objects that the sweeps of retention (age_sweep.h, budget_sweep.h) share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "relay/nostr/event.h"
#include "relay/rules/rung.h"
#include "relay/store/bulk_reads.h"

namespace weir {

struct SweepParts {
  BulkReads& reads;
  // Removes events by id as bulk work, and returns how many there were (EventPipeline::RemoveBulk).
  std::function<Result<uint64_t>(std::span<const EventId> ids)> remove;
  // Returns the rung of an author. Empty if the relay measures no standing; then all authors count as strangers.
  std::function<Rung(const PublicKey& author)> rung;

  Rung RungOf(EventView event) const { return rung ? rung(event.pubkey()) : Rung::kStranger; }
};

// The number of ids that are removed at once. The commit thread divides them into pieces of bounded work.
inline constexpr size_t kRemovedTogether = 256;

}  // namespace weir
