// IndexScan: the entries of one plan, newest first and, at equal age, by the first bytes of the id. One iterator merges
// many ranges.
//
// For every range a few entries are read ahead; when they are used up, the iterator comes back to the range. So a scan
// holds one iterator, not a thousand, and its memory is bounded by the plan's size. Work is done in slices: when a
// Budget is used up, the next call goes on, and between two calls the iterator may be let go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "relay/store/key_lookup.h"
#include "relay/store/plan_race.h"
#include "relay/store/planner.h"
#include "relay/store/skim.h"

namespace weir {

// The fields of an entry that the merge needs.
struct Candidate {
  uint64_t inverted_time = 0;
  uint64_t serial = 0;
  uint32_t id = 0;

  // True if this comes first in the answer, as far as can be told without the whole id.
  bool operator<(const Candidate& other) const {
    if (inverted_time != other.inverted_time) return inverted_time < other.inverted_time;
    if (id != other.id) return id < other.id;
    return serial < other.serial;
  }
  bool SamePlace(const Candidate& other) const { return inverted_time == other.inverted_time && id == other.id; }
};

// A scan skips places ahead of `first`, and events that were saved after `last_serial`.
struct ScanBounds {
  Candidate first;
  uint64_t last_serial = UINT64_MAX;
};

class IndexScan {
 public:
  // `wanted`: about how many entries will be asked for. `options` has the snapshot. All arguments must outlive the
  // scan.
  IndexScan(const Database& database, const rocksdb::ReadOptions& options, const Filter& filter,
            const ScanBounds& bounds, uint64_t wanted);
  ~IndexScan();

  // Makes the next entry ready: returns true when head() or its absence is certain, false if the budget was used up.
  Result<bool> Ready(Budget* budget);
  // Null at the end. The same event may come several times, one after the other.
  const Candidate* head() const { return heap_.empty() ? nullptr : &heap_.front().candidate; }
  void Pop();

  // Pins nothing any more. The scan finds its place again with one seek.
  void LetGo();
  uint64_t held_bytes() const;

 private:
  struct Range {
    Key resume;  // key from which reading goes on; it begins with the prefix
    uint8_t prefix_size = 0;
    bool at_end = false;
    uint32_t next = 0;
    std::vector<Candidate> ahead;

    std::string_view prefix() const { return resume.view().substr(0, prefix_size); }
  };
  struct Head {
    Candidate candidate;
    uint32_t range;
    // Reversed, so that the front of a heap is the least.
    bool operator<(const Head& other) const { return other.candidate < candidate; }
  };
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
  Candidate first_;        // inclusive
  const uint64_t oldest_;  // inverted, inclusive
  const uint64_t last_serial_;
  const PlanLimits limits_;

  Phase phase_ = Phase::kPlan;
  PlanRace race_;
  Plan plan_;
  std::optional<Skim> skim_;  // while set, plan_ is everybody's and authors_ waits
  Plan authors_;
  size_t chunk_ = 0;           // entries to read ahead in a range
  size_t position_ = 0;        // in the part of the plan that the phase works on
  uint32_t next_kind_ = 0;     // the next kind in the range of all kinds at position_
  bool on_next_kind_ = false;  // the iterator stands on the next kind already
  std::unique_ptr<rocksdb::Iterator> iterator_;
  uint32_t standing_on_;  // the range whose next entry the iterator stands on
  std::vector<Candidate> points_;
  size_t next_point_ = 0;
  std::vector<Range> ranges_;
  std::vector<uint32_t> unfilled_;  // ranges that must be read before the next entry is known
  std::vector<Head> heap_;
  KeyLookup lookup_;
};

}  // namespace weir
