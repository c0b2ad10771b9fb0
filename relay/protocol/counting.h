// Counting: the answer of a COUNT while it is being made (NIP-45).
//
// First it counts each event that the query finds. If that takes more work than visiting two million events, it
// estimates the rest from a sample (relay/store/count_estimate.h), with up to a quarter of that work in addition; the
// answer then says "approximate". If the sample leaves a standard error of more than 10 %, it gives up. It also gives
// up on a store that cannot be sampled, such as a PostgreSQL with a partition on another server, and if a filter has a
// search (NIP-50), because finding the words of a sample would take as long as the search. A search is counted only if
// the index has the words of all events.
//
// A count for one filter with one tag value also has a sketch of the authors (relay/nostr/author_sketch.h), but an
// estimate has none: a client could not see that it is the sketch of a part of the events, and would merge it with
// those of other relays.
//
// Threads: as for every Gathering.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "relay/nostr/author_sketch.h"
#include "relay/protocol/gathering.h"
#include "relay/store/count_estimate.h"
#include "relay/store/event_store.h"

namespace weir {

class Counting final : public Gathering {
 public:
  // The most work of counting one by one: between four and five seconds of a worker.
  static constexpr Work kMostCounted = 2'000'000 * (kVisitWork + 2 * kRecordWork);

  // The most work of an estimate after that.
  static constexpr Work kMostSampled = kMostCounted / 4;

  // `subscription` is the id of the COUNT. `random` decides which events are sampled. A measurement passes other bounds
  // than those of the relay.
  Counting(std::string subscription, std::span<const Filter> filters, uint64_t random, Work most_counted = kMostCounted,
           Work most_sampled = kMostSampled)
      : subscription_(std::move(subscription)),
        random_(random),
        most_counted_(most_counted),
        most_sampled_(most_sampled),
        sketch_(AuthorSketch::For(filters)),
        has_search_(std::ranges::any_of(filters, [](const Filter& filter) { return filter.search.has_value(); })) {}

  Result<Progress> Next(const EventStore& store, Query* query, Work most) override;
  // It gives up if the count needs more work than it may do, and an estimate would be too rough, or if there are events
  // that a search does not find yet.
  std::string refusal() const override { return std::string(refusal_); }
  bool is_estimate() const { return estimate_.has_value(); }
  uint64_t events() const override { return estimate_ ? estimate_->total() : counted_; }
  Work own_work() const override { return estimate_ ? estimate_->work() : 0; }
  std::string TakeAnswer() override;

 private:
  Status BeginEstimate(const EventStore& store, Query& query);

  const std::string subscription_;
  const uint64_t random_;
  const Work most_counted_;
  const Work most_sampled_;
  uint64_t counted_ = 0;
  std::optional<AuthorSketch> sketch_;
  std::optional<CountEstimate> estimate_;
  const bool has_search_;
  std::string_view refusal_;
};

}  // namespace weir
