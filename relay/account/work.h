// Work: the one unit in which all that a stranger can order is counted, whoever does it: about a nanosecond of a core.
//
// The write gate, the scan gate, the turns of the workers, of the commit thread and of the I/O threads, and the budgets
// of live matching all charge it: before the work where it can be known, after it where not. The figures below are
// rounded from measurements; what matters is that they stand in proportion, so that nobody gets much of one kind for
// little of another.
#pragma once

#include <cstdint>

#include "throttle/admission.h"

namespace weir {

using Work = uint64_t;

// After this much for one, a thread lets others have their turn: about a millisecond.
inline constexpr Work kTurnWork = 1'000'000;

// The store.
inline constexpr Work kEntryWork = 2'000;    // an index entry put or removed, in the order of the keys
inline constexpr Work kSeekWork = 4'000;     // a range of an index begun, or a key looked up
inline constexpr Work kVisitWork = 300;      // an index entry passed on the way
inline constexpr Work kRecordWork = 1'000;   // a record fetched and matched
inline constexpr Work kRecordByteWork = 1;   // more for each byte of it
inline constexpr Work kStoredByteWork = 32;  // of a record that is written: its share of log, flush and compaction

// Messages and matching.
inline constexpr Work kFrameWork = 1'000;       // a frame parsed, whatever it holds
inline constexpr Work kInflatedByteWork = 4;    // of what a compressed frame becomes
inline constexpr Work kFilterWork = 10;         // a filter held against an event
inline constexpr Work kTagVisitWork = 5;        // one value of a condition looked up among the tags of an event
inline constexpr Work kDeliveryWork = 2'000;    // an event queued for one subscriber
inline constexpr Work kSignatureWork = 44'000;  // one verified
inline constexpr Work kParsedByteWork = 2;      // of an event that is parsed and hashed
inline constexpr Work kWrittenByteWork = 2;     // of an answer over HTTP, which is made and copied

// The gates count bytes, for the engine's drain is measured in them. What has been counted as work passes them as the
// bytes that take the engine as long.
constexpr Cost CostOf(Work work) { return Cost{work / kStoredByteWork}; }

}  // namespace weir
