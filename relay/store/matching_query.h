// MatchingQuery: the part of a Query (event_store.h) that is the same in both stores. It matches events with the
// filters, counts the matches of each filter up to its limit, hands the events out, and finds out whether the answer is
// complete. It also counts the work of the slices.
//
// A part of a query is one of its filters. The query of a store (query.h, postgres/postgres_query.h) derives from this
// class. It gives each part a Scan, which finds the events that may match the filter, and merges these scans. For each
// event, in the order of the answer, it calls Match; once Match returns true, it sets judged_ and calls HandOut. When
// it has no more events, it calls Finished before it takes more from the scans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relay/nostr/expiration.h"
#include "relay/store/event_store.h"
#include "relay/store/matching_work.h"
#include "relay/store/query_budget.h"

namespace weir {

template <typename Scan>
class MatchingQuery : public Query {
 public:
  const Moment& moment() const final { return moment_; }
  bool complete() const final { return complete_; }
  uint64_t visits() const final { return budget_.visits; }
  Work work() const final { return allowed_ - static_cast<Work>(budget_.work); }

  std::optional<bool> WouldFind(EventView event, Work most) final {
    const EventPlace place{event.created_at(), event.id()};
    const bool is_behind = !judged_ || *judged_ < place;
    const uint64_t tags = TagsOf(event);
    bool matches = false;
    // The event of the last call may be gone since.
    uint64_t id_begin = 0;
    std::memcpy(&id_begin, place.id.data(), sizeof(id_begin));
    if (std::exchange(would_match_event_, id_begin) != id_begin) would_match_ = 0;
    for (Work spent = 0; is_behind && !matches && would_match_ < parts_.size(); ++would_match_) {
      if (spent >= most) return std::nullopt;
      const Part& part = parts_[would_match_];
      const Work work = MatchingWork(tags, part.tag_work);
      spent += work;
      budget_.Spend(work);
      matches = part.filter.Matches(event);
    }
    would_match_ = 0;
    return matches && MaySee(event);
  }

 protected:
  // One of the filters. It collects matches up to its limit and then looks whether there is another match.
  struct Part {
    Filter filter;
    Work tag_work = 0;           // work of matching one tag of an event (TagWorkOf)
    uint64_t left = 0;           // matches left until the limit
    bool done = false;           // the filter needs no more events
    std::unique_ptr<Scan> scan;  // null before it begins, if `done`, and while the query is suspended

    // Returns `left` and one more, to know whether there are more matches.
    uint64_t wanted() const { return left == UINT64_MAX ? left : left + 1; }
  };
  // Stands in place of a part's number for an event that the part's scan has found but that does not match the part's
  // filter.
  static constexpr uint32_t kNoPart = UINT32_MAX;

  MatchingQuery(std::vector<Filter> filters, const QueryOptions& options)
      : options_(options), parts_(filters.size()), judged_(options.after) {
    for (size_t i = 0; i < filters.size(); ++i) {
      Part& part = parts_[i];
      part.filter = std::move(filters[i]);
      part.tag_work = TagWorkOf(part.filter);
      part.left = std::min(part.filter.limit.value_or(options_.default_limit), options_.max_limit);
    }
  }

  // Must be called at the beginning of each slice.
  void BeginSlice(const Slice& slice) {
    const Work most = std::clamp<Work>(slice.max_work, 1, INT64_MAX);
    allowed_ = work() + most;
    budget_.work = static_cast<int64_t>(most);
    bytes_left_ = slice.max_bytes;
  }
  // Returns true if the slice must end before the next event. `judged` is true if it has matched an event.
  bool SliceIsOver(bool judged) const { return bytes_left_ == 0 || (judged && budget_.used_up()); }
  // Returns the number of records that fit into the rest of the slice, and one more. Their mean size is `record_bytes`;
  // 0: not known.
  uint64_t FittingRecords(uint64_t record_bytes) const {
    const uint64_t by_work = budget_.left() / (kRecordWork + record_bytes * kRecordByteWork) + 1;
    return record_bytes == 0 ? by_work : std::min(by_work, bytes_left_ / record_bytes + 1);
  }
  // Returns the number of events to find together, at most `most`: as many as may still be handed out, plus one to know
  // whether there are more. A query that only looks for a match beyond its limits begins with few.
  uint64_t Wanted(uint64_t most) const {
    uint64_t wanted = std::min(most, budget_.visits - looks_since_ + 1);
    for (const Part& part : parts_)
      if (!part.done && part.left > 0) wanted = std::max(wanted, std::min(most, part.wanted()));
    return wanted;
  }

  // Ends the parts that need no more events, and frees their scans. Returns true if no part is left.
  bool Finished() {
    const bool collects = std::ranges::any_of(parts_, [](const Part& part) { return !part.done && part.left > 0; });
    if (collects) looks_since_ = budget_.visits;
    const bool looked_enough = budget_.visits > looks_since_ + kLookAhead;
    bool all_done = true;
    for (Part& part : parts_) {
      if (part.left == 0 && !part.done && looked_enough) complete_ = false;
      if (part.left == 0 && !complete_) part.done = true;
      if (part.done) part.scan.reset();
      all_done = all_done && part.done;
    }
    return all_done;
  }

  // Matches the event with the parts whose scans have found it. Each element of `found` has the number of such a part
  // as its member `part`; Match sets it to kNoPart if the event does not match the part's filter. Returns false if the
  // slice was used up first; the call for the same event in the next slice then continues.
  template <typename Found>
  bool Match(EventView event, std::span<Found> found) {
    const uint64_t tags = TagsOf(event);
    for (bool first = true; matched_ < found.size(); first = false) {
      if (!first && budget_.used_up()) return false;
      uint32_t& number = found[matched_++].part;
      const Part& part = parts_[number];
      budget_.Spend(MatchingWork(tags, part.tag_work));
      const bool looks_in_vain = part.left == 0 && !complete_;
      if (looks_in_vain || !part.filter.Matches(event)) number = kNoPart;
    }
    matched_ = 0;
    return true;
  }
  // Hands the event out to the parts that it matches, if the client may have it and at least one of the parts has not
  // reached its limit. Returns true if it did.
  template <typename Found>
  bool HandOut(EventView event, std::span<Found> found, const OnMatch& on_match) {
    if (!MaySee(event)) return false;
    bool handed_out = false;
    bool cut_off = false;
    for (const Found& finder : found) {
      if (finder.part == kNoPart) continue;
      Part& part = parts_[finder.part];
      (part.left > 0 ? handed_out : cut_off) = true;
      if (part.left > 0) --part.left;
    }
    if (!handed_out) {
      if (cut_off) complete_ = false;
      return false;
    }
    bytes_left_ -= std::min<uint64_t>(bytes_left_, event.json().size());
    on_match(event);
    return true;
  }

  // Says that the answer lacks matches.
  void CutOff() { complete_ = false; }

  // Returns the bytes of memory that the parts take, without the filters.
  uint64_t PartBytes() const {
    uint64_t bytes = parts_.capacity() * sizeof(Part);
    for (const Part& part : parts_)
      if (part.scan) bytes += part.scan->held_bytes();
    return bytes;
  }

  const QueryOptions options_;
  std::vector<Part> parts_;
  Moment moment_;
  Budget budget_;
  // The last event that was matched, or QueryOptions::after. Scans that start anew begin behind it.
  std::optional<EventPlace> judged_;
  size_t matched_ = 0;  // number of parts that the next event was matched with so far

 private:
  bool MaySee(EventView event) const {
    return !IsExpired(event, options_.now_seconds) && (!options_.visible || options_.visible(event));
  }

  // When all limits are reached, a query looks for one more match, to learn whether the answer is complete. After this
  // number of further visits (index entries and records) it gives up and reports that the answer may be incomplete.
  static constexpr uint64_t kLookAhead = 1000;

  bool complete_ = true;
  uint64_t would_match_event_ = 0;  // the begin of the id of the last event of WouldFind
  size_t would_match_ = 0;          // number of parts with which WouldFind has matched it so far
  Work allowed_ = 0;                // the work of all earlier slices, and that which the present one may do
  uint64_t bytes_left_ = 0;         // bytes of JSON that may still be passed to the caller in this slice
  uint64_t looks_since_ = 0;        // the number of visits when the last part reached its limit
};

}  // namespace weir
