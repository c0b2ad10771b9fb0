// CountReporters: counts the authors of good standing that have reported another author (NIP-56, kind 1984). The stored
// reports are read again whenever one is added, so each reporter counts once, and a report that was deleted counts no
// more. Reports older than 90 days do not count.
#pragma once

#include <cstdint>
#include <functional>

#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/store/bulk_reads.h"

namespace weir {

inline constexpr uint16_t kReportKind = 1984;

// Reads the author that `report` reports, the first "p" tag. Returns false if there is none, or if it is the author of
// the report.
bool ReadReported(EventView report, PublicKey* author);

// Returns the number of reporters for which `counts` returns true, at most a hundred. Stops early after about a tenth
// of a second of work, so that many reports by strangers cost little.
Result<uint16_t> CountReporters(BulkReads& reads, const PublicKey& author, uint64_t now_seconds,
                                const std::function<bool(const PublicKey& reporter)>& counts);

}  // namespace weir
