// SyncCounts: counts what a sync with another relay has done so far.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/sync/reason_counts.h"

namespace weir {

enum class SyncDirection : uint8_t { kBoth, kUp, kDown };
std::string_view NameOf(SyncDirection direction);  // "both"
// Returns the direction with this name; nullopt if there is none.
std::optional<SyncDirection> SyncDirectionNamed(std::string_view name);
constexpr bool GoesUp(SyncDirection direction) { return direction != SyncDirection::kDown; }
constexpr bool GoesDown(SyncDirection direction) { return direction != SyncDirection::kUp; }

struct SyncCounts {
  // The results of the comparison. After a further connection only its own comparison counts.
  uint64_t stored = 0;       // own events that match the filter
  uint64_t need = 0;         // events that only the other relay has
  uint64_t have = 0;         // events that only this relay has
  uint64_t rounds = 0;       // messages of NIP-77 that the relay has answered
  uint64_t pages = 0;        // pages of a relay that does not know NIP-77
  std::string by_pages;      // why it was read by pages; empty: it was not
  uint64_t cut_seconds = 0;  // seconds of which the relay's pages do not have all events
  uint64_t missing = 0;      // events that the relay announced and did not give
  uint64_t unasked = 0;      // events of the relay that do not match the filter, and are not saved
  uint64_t gone = 0;         // events that were not stored any more when they were to be sent
  uint64_t withheld = 0;     // private events that were not sent
  ReasonCounts refused;      // events that the relay refused, by its reason
  // The events and bytes that have gone over, on all connections.
  uint64_t received = 0;  // events that the relay gave
  uint64_t accepted = 0;  // events that the relay has taken
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;

  // Returns true if nothing is known to be left out.
  bool is_whole() const { return cut_seconds == 0 && missing == 0; }
};

// Adds the counts of another filter, or of another connection.
void Add(const SyncCounts& more, SyncCounts* counts);
// Returns the counts of what has gone over, without the comparison.
SyncCounts CarriedOver(const SyncCounts& counts);

}  // namespace weir
