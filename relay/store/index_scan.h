// IndexScan: finds the index entries (keys.h) that may match a filter, newest first and, at equal age, by the first
// bytes of the id. It chooses the plan (planner.h, plan_race.h) and merges the plan's ranges.
//
// A scan uses a single RocksDB iterator, not one for each of up to a thousand ranges. It reads some entries of each
// range in advance; when they are used up, the iterator returns to the range. So the memory of a scan is bounded by the
// size of its plan.
//
// A scan works in slices: if the Budget of a call of Ready is used up, the next call continues. Between two calls the
// caller may free the iterator (LetGo).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "relay/store/event_store.h"
#include "relay/store/key_lookup.h"
#include "relay/store/plan_race.h"
#include "relay/store/planner.h"
#include "relay/store/skim.h"

namespace weir {

// An event that may match, as read from its index entry.
struct Candidate {
  uint64_t inverted_time = 0;  // created_at with all bits inverted
  uint64_t serial = 0;
  uint32_t id = 0;  // the first four bytes
  Sight sight = Sight::kUnknown;

  // Returns true if this event comes before `other` in the answer. If the two have the same place (SamePlace), only
  // their whole ids tell which comes first, and this order (by serial) is arbitrary.
  bool operator<(const Candidate& other) const {
    if (inverted_time != other.inverted_time) return inverted_time < other.inverted_time;
    if (id != other.id) return id < other.id;
    return serial < other.serial;
  }
  // Returns true if the two have the same age and the same first bytes of the id.
  bool SamePlace(const Candidate& other) const { return inverted_time == other.inverted_time && id == other.id; }
};

// Tells from an entry what is known of its event: kShown if it matches the filter and may be seen, kHidden if the scan
// must skip it.
using JudgeEntry = std::function<Sight(const IndexEntry& entry)>;

// A scan skips events that come before `first` in the answer, and events that were saved after `last_serial`.
struct ScanBounds {
  Candidate first;
  uint64_t last_serial = UINT64_MAX;
};

class IndexScan {
 public:
  // `options` has the snapshot that is read. `wanted` estimates the number of entries that the caller will need.
  // `judge` sets Candidate::sight; null: kUnknown. `database`, `options` and `filter` must outlive the scan.
  IndexScan(const Database& database, const rocksdb::ReadOptions& options, const Filter& filter,
            const ScanBounds& bounds, uint64_t wanted, JudgeEntry judge = nullptr);
  ~IndexScan();

  // Reads until the next entry is known or there are no more; then returns true. Returns false if the budget was used
  // up first; the next call then needs a new budget. Must be called again after each Pop.
  Result<bool> Ready(Budget* budget);
  // Returns the next entry, or null if there are no more. Valid only once Ready has returned true. The scan may return
  // the same event several times.
  const Candidate* head() const { return heap_.empty() ? nullptr : &heap_.front().candidate; }
  // Removes head(), which must not be null.
  void Pop();

  // Frees the iterator, so that the scan pins no blocks of the database. The next call of Ready seeks its position
  // again.
  void LetGo();
  // Returns the bytes of memory that the scan takes, without the iterator.
  uint64_t held_bytes() const;

 private:
  // A range of the plan.
  struct Range {
    Key resume;                    // the key at which reading continues; it begins with the prefix
    uint8_t prefix_size = 0;       // length of the part that all keys of the range begin with
    bool at_end = false;           // all entries of the range were read
    uint32_t next = 0;             // index of the next entry in `ahead`
    std::vector<Candidate> ahead;  // entries that were read in advance

    std::string_view prefix() const { return resume.view().substr(0, prefix_size); }
  };
  // The next entry of a range.
  struct Head {
    Candidate candidate;
    uint32_t range;  // index in ranges_; kPoints (index_scan.cc): an entry of points_
    // The order is reversed, so that the front of the heap is the entry that comes first in the answer.
    bool operator<(const Head& other) const { return other.candidate < candidate; }
  };
  // The phases of a scan: it chooses a plan, looks up the points, opens the ranges, opens the ranges of all kinds
  // (Plan::kind_ranges), and then returns the entries.
  enum class Phase : uint8_t { kPlan, kPoints, kRanges, kKinds, kMerge };

  Status Prepare(Budget* budget);
  void Begin(Plan plan);
  void EndSkim();
  void UsePlan(Plan plan);
  void BeginAnew(Plan plan);
  Status LoadPoints(Budget* budget);
  void OpenKind(Budget* budget);
  void EndKinds();
  void OpenRange(const Key& prefix, bool stands_on_it, Budget* budget);
  void Fill(uint32_t number, Budget* budget);
  void Settle(uint32_t number);
  void Push(uint32_t number);
  bool InRange(std::string_view prefix) const;
  bool IsInBounds(const Candidate& candidate) const;
  Status IteratorStatus() const;
  rocksdb::Iterator* iterator();

  const Database& database_;
  const rocksdb::ReadOptions& options_;
  const Filter& filter_;
  const uint64_t wanted_;
  const JudgeEntry judge_;
  Candidate first_;        // the beginning of the scan, inclusive
  const uint64_t oldest_;  // the oldest time that the filter allows, inverted, inclusive
  const uint64_t last_serial_;
  const PlanLimits limits_;

  Phase phase_ = Phase::kPlan;
  PlanRace race_;
  Plan plan_;
  std::optional<Skim> skim_;   // while set, plan_ reads the entries of all authors
  Plan authors_;               // while skim_ is set: the plan that seeks each author
  size_t chunk_ = 0;           // number of entries to read in advance in each range
  size_t position_ = 0;        // index in the part of the plan that the phase works on
  uint32_t next_kind_ = 0;     // the next kind in the range of all kinds at position_
  bool on_next_kind_ = false;  // the iterator is at the next kind already
  std::unique_ptr<rocksdb::Iterator> iterator_;
  uint32_t standing_on_;  // the range whose next entry the iterator is at
  std::vector<Candidate> points_;
  size_t next_point_ = 0;
  std::vector<Range> ranges_;
  std::vector<uint32_t> unfilled_;  // ranges that must be read before the next entry is known
  std::vector<Head> heap_;
  KeyLookup lookup_;
};

}  // namespace weir
