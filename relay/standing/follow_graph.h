// FindFollows: finds the authors whom the operator's own list reaches in two steps of follows (kind 3). The keys on the
// list are at step 1, the keys that they follow at step 2, and the keys that those follow at step 3. A key keeps the
// lowest step, and its followers are the keys one step nearer. All other follows count for nothing.
#pragma once

#include <cstdint>
#include <span>

#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/standing/author_table.h"
#include "relay/store/bulk_reads.h"

namespace weir {

inline constexpr uint16_t kFollowsKind = 3;

// Sets follow_steps and followers of the authors in `reached`, which must be empty. When the table is full, further
// keys are left out, so the number of keys is bounded by the table; keys of lower steps come first. Returns the number
// of lists that were read.
//
// Lists of relays (kind 10002) are not used: they say where an author writes, not whom the author trusts.
Result<uint64_t> FindFollows(BulkReads& reads, std::span<const PublicKey> own_list, uint64_t now_seconds,
                             AuthorTable* reached);

}  // namespace weir
