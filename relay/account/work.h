// Work: the unit in which the relay counts everything that a client can make it do, on any thread. A unit of work is
// about a nanosecond of a CPU core.
//
// Work is charged at the gates for writes and scans (throttle/admission.h), in the turns of the workers, the commit
// thread and the I/O threads (turns.h, work_pool.h), and in the matching of new events with subscriptions
// (relay/protocol/delivery.h). It is charged before it is done if its cost is known by then, else afterwards. The
// figures below are rounded measurements. Their proportions matter: no kind of work may be charged much less than it
// costs.
#pragma once

#include <cstdint>

#include "throttle/admission.h"

namespace weir {

using Work = uint64_t;

// A turn: the work that a thread should do for one client before it serves another, about a millisecond. Sessions on
// I/O threads have shorter turns (Session::kMostATurn).
inline constexpr Work kTurnWork = 1'000'000;

// The store.
inline constexpr Work kEntryWork = 2'000;    // putting or removing an index entry, in key order
inline constexpr Work kSeekWork = 4'000;     // finding the first entry of an index range, or looking up a key
inline constexpr Work kReseekWork = 12'000;  // seeking on among the entries of a range, in a tree of three levels
inline constexpr Work kVisitWork = 300;      // passing an index entry in a scan
inline constexpr Work kRecordWork = 1'000;   // fetching a record and matching it against a filter
inline constexpr Work kRecordByteWork = 1;   // each byte of such a record, in addition to kRecordWork
inline constexpr Work kStoredByteWork = 32;  // writing a byte, with its share of log, flush and compaction

// Messages and matching.
inline constexpr Work kFrameWork = 1'000;       // parsing a frame, whatever it holds
inline constexpr Work kInflatedByteWork = 4;    // inflating a byte of a compressed frame
inline constexpr Work kFilterWork = 10;         // matching a filter against an event
inline constexpr Work kTagVisitWork = 5;        // one step of looking up a filter's tag value among an event's tags
inline constexpr Work kDeliveryWork = 2'000;    // queueing an event for one subscriber
inline constexpr Work kSplitByteWork = 30;      // finding the words of a byte of text (relay/search)
inline constexpr Work kSignatureWork = 44'000;  // verifying a signature
inline constexpr Work kParsedByteWork = 2;      // parsing a byte of input; for an event also hashing it
inline constexpr Work kWrittenByteWork = 2;     // making and copying a byte of an HTTP answer

// Converts work to a cost for the gates. Gates count in bytes, because they measure how many bytes the database can
// write. Returns the number of bytes whose writing is as much work.
constexpr Cost CostOf(Work work) { return Cost{work / kStoredByteWork}; }

}  // namespace weir
