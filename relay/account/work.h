// Work is the one unit for everything that a client can make the relay do, on whatever thread: about a nanosecond of a
// CPU core.
//
// Work is charged by the gates for writes and scans (throttle/admission.h), by the turns of the workers, of the commit
// thread and of the I/O threads (turns.h), and by the budgets of live matching: before the work is done if its cost can
// be known, else afterwards. The figures below are rounded from measurements. Their proportions matter, so that a
// client does not get much of one kind of work at the price of little of another.
#pragma once

#include <cstdint>

#include "throttle/admission.h"

namespace weir {

using Work = uint64_t;

// The work for one party after which a thread lets others have their turn: about a millisecond.
inline constexpr Work kTurnWork = 1'000'000;

// The store.
inline constexpr Work kEntryWork = 2'000;    // an index entry put or removed, in key order
inline constexpr Work kSeekWork = 4'000;     // the first entry of an index range found, or a key looked up
inline constexpr Work kVisitWork = 300;      // an index entry that a scan passes
inline constexpr Work kRecordWork = 1'000;   // a record fetched and matched against a filter
inline constexpr Work kRecordByteWork = 1;   // a byte of such a record, in addition
inline constexpr Work kStoredByteWork = 32;  // a byte written: its share of log, flush and compaction

// Messages and matching.
inline constexpr Work kFrameWork = 1'000;       // a frame parsed, whatever it holds
inline constexpr Work kInflatedByteWork = 4;    // a byte that comes out of a compressed frame
inline constexpr Work kFilterWork = 10;         // a filter matched against an event
inline constexpr Work kTagVisitWork = 5;        // one value of a condition looked up among the tags of an event
inline constexpr Work kDeliveryWork = 2'000;    // an event queued for one subscriber
inline constexpr Work kSignatureWork = 44'000;  // a signature verified
inline constexpr Work kParsedByteWork = 2;      // a byte of an event that is parsed and hashed
inline constexpr Work kWrittenByteWork = 2;     // a byte of an HTTP answer made and copied

// Converts work for the gates, which count bytes because they measure in bytes what the database can write. Returns the
// number of bytes whose writing costs as much.
constexpr Cost CostOf(Work work) { return Cost{work / kStoredByteWork}; }

}  // namespace weir
