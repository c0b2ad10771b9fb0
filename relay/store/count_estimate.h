// CountEstimate: estimates how many events match a query that is too large to be carried out to its end.
//
// The query has found some events and has looked no further than a place in its order. The estimate adds how many it
// would find behind that place. For this it reads a sample of the store: some of the groups into which the store
// divides its events (EventStore::Groups), evenly spread over all groups. If m of W groups were read, and s events of
// them are in the query's moment and would be found (Query::WouldFind), then about s * W / m are to be found in all.
// The estimate needs no index, therefore, and has the same error for all filters that match the same part of the store.
//
// A sample of m groups has no bias, however different the groups are, and however many are empty: each event is in one
// group, and the first group is chosen at random, which gives each group the same chance m / W of being in the sample.
// The expected s is the true number times m / W. A group may also have rows that are dead or too new: it only has
// fewer matches then. The sample ends once its error is small, so m depends on s, which may add a part of that error.
//
// The standard error follows from how much the groups differ. The estimate is done once that error is at most 1 % of
// the total, or once all groups were read. A set that is rare in the store needs more groups: for an error of 5 %,
// about 400 matches must be in the sample, or more if matching events were saved together.
//
// A sample shows a client no more than a count does. It has only events that the client may see, each of which is
// judged like an event of an answer: private events of others, events that have expired, and those that the rules or a
// ban hide add nothing to the total, nor to its error. Figures of the engine for a range of keys (sizes in RocksDB, the
// planner of PostgreSQL) would be cheaper, but they know nothing of this.
//
// Threads: not thread-safe. Only one thread at a time may use an estimate and its query.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "relay/store/event_store.h"

namespace weir {

class CountEstimate {
 public:
  // `groups` are those of the query's moment. `query` has found `counted` events so far; Query::Next must have
  // succeeded once, and must not be called any more. `random` decides which groups are read. The store and the query
  // must live as long as Next is called.
  CountEstimate(std::vector<EventGroups> groups, Query& query, uint64_t counted, uint64_t random);
  CountEstimate(const CountEstimate&) = delete;
  CountEstimate& operator=(const CountEstimate&) = delete;

  // Reads some groups, with about the work `most`. Returns kDone when the estimate is as good as it gets.
  Result<Progress> Next(Work most);

  // Returns the number of events that the query had found, and those that it would still find.
  uint64_t total() const;
  // Returns the standard error of total(), as a part of it: 0.02 is 2 %. At least 1 if no group was read yet.
  double error() const;
  // Returns the work of reading the sample. The work of matching it is in Query::work.
  Work work() const { return work_; }

 private:
  struct Group {
    const EventGroups* of = nullptr;
    uint64_t number = 0;
    uint64_t place = 0;  // that of the last event which was judged
    uint64_t matches = 0;
  };

  Group GroupAt(uint64_t number) const;
  Status ReadOn(Work most);
  void Finish();
  double WholeGroups() const { return static_cast<double>(groups_); }

  const std::vector<EventGroups> all_;
  Query& query_;
  const uint64_t counted_;

  uint64_t groups_ = 0;  // number of groups in the store
  uint64_t step_ = 1;    // has no common divisor with groups_, so that all groups are read before one comes again
  uint64_t next_ = 0;    // the number of the next group
  std::optional<Group> group_;  // a group that is read in part

  uint64_t read_ = 0;             // number of groups that were read
  uint64_t matches_ = 0;          // matches in these groups
  uint64_t matches_squared_ = 0;  // the sum of the squares of each group's matches
  Work work_ = 0;
};

}  // namespace weir
