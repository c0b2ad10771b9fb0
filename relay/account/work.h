// Work: the one unit for everything that a client can make the relay do, in whatever thread: about a nanosecond of a
// core.
//
// The write gate, the scan gate, the turns of the workers, of the commit thread and of the I/O threads, and the budgets
// of live matching all charge it: before the work if its cost can be known, else after it. The figures below are
// rounded from measurements. What matters is their proportion, so that a client does not get much of one kind for
// little of another.
#pragma once

#include <cstdint>

#include "throttle/admission.h"

namespace weir {

using Work = uint64_t;

// After this much work for one party, a thread lets others have their turn: about a millisecond.
inline constexpr Work kTurnWork = 1'000'000;

// The store.
inline constexpr Work kEntryWork = 2'000;    // an index entry put or removed, in the order of the keys
inline constexpr Work kSeekWork = 4'000;     // a range of an index begun, or a key looked up
inline constexpr Work kVisitWork = 300;      // an index entry passed on the way
inline constexpr Work kRecordWork = 1'000;   // a record fetched and matched
inline constexpr Work kRecordByteWork = 1;   // each byte of such a record, in addition
inline constexpr Work kStoredByteWork = 32;  // a byte of a written record: its share of log, flush and compaction

// Messages and matching.
inline constexpr Work kFrameWork = 1'000;       // a frame parsed, whatever it holds
inline constexpr Work kInflatedByteWork = 4;    // a byte that comes out of a compressed frame
inline constexpr Work kFilterWork = 10;         // a filter matched against an event
inline constexpr Work kTagVisitWork = 5;        // one value of a condition looked up among the tags of an event
inline constexpr Work kDeliveryWork = 2'000;    // an event queued for one subscriber
inline constexpr Work kSignatureWork = 44'000;  // a signature verified
inline constexpr Work kParsedByteWork = 2;      // a byte of an event that is parsed and hashed
inline constexpr Work kWrittenByteWork = 2;     // a byte of an answer over HTTP, which is made and copied

// The gates count bytes, because the engine's drain is measured in bytes. Work passes them as the number of bytes that
// take the engine as long.
constexpr Cost CostOf(Work work) { return Cost{work / kStoredByteWork}; }

}  // namespace weir
