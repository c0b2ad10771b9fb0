// SweepParts: the objects that the sweeps of retention (age_sweep.h, budget_sweep.h) share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "relay/nostr/event.h"
#include "relay/nostr/gift_wrap.h"
#include "relay/rules/rung.h"
#include "relay/store/bulk_reads.h"

namespace weir {

struct SweepParts {
  BulkReads& reads;
  // Removes events by id as bulk work, and returns how many there were (EventPipeline::RemoveBulk).
  std::function<Result<uint64_t>(std::span<const EventId> ids)> remove;
  // Returns the rung of an author. Empty if the relay measures no standing; then all authors count as strangers.
  std::function<Rung(const PublicKey& author)> rung;

  // Returns the rung on which an event stands. A gift wrap is signed by a key that is used once, so it also stands for
  // its recipients: as that of a newcomer, if one of them is at least that. Anybody can write gift wraps to a regular;
  // so these must not outlast the events of regulars.
  Rung RungOf(EventView event) const {
    if (!rung) return Rung::kStranger;
    Rung highest = rung(event.pubkey());
    if (event.kind() != kGiftWrapKind || highest == Rung::kReported) return highest;
    ForEachOwner(event,
                 [&](const PublicKey& owner) { highest = std::max(highest, std::min(rung(owner), Rung::kNewcomer)); });
    return highest;
  }
};

// The number of ids that are removed at once. The commit thread divides them into pieces of bounded work.
inline constexpr size_t kRemovedTogether = 256;

}  // namespace weir
