// PostgresScan: the events that may match a filter, in the order of the answer, from the index that has the fewest.
//
// A scan has a lane for each key that is looked for, such as an author's kind, and in each the next rows of the index.
// It stands still while a lane is empty that may have more: QueueRefill asks for the next rows of such lanes, together
// with everything else that is asked on this journey to the server, and TakeRows takes the rows in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "monitors/postgres/postgres_session.h"
#include "relay/account/work.h"
#include "relay/nostr/filter.h"
#include "relay/store/planner.h"
#include "relay/store/serial.h"

namespace weir {

// A place in the order of the answer: newest first and, at equal age, lowest id first.
struct EventPlace {
  uint64_t created_at = 0;
  EventId id{};

  bool operator==(const EventPlace&) const = default;
  bool operator<(const EventPlace& other) const {
    return created_at != other.created_at ? created_at > other.created_at : id < other.id;
  }
};

// An event, as far as a row tells it.
struct FoundEvent {
  EventPlace place;
  Serial serial;       // set with the record
  std::string record;  // empty: not read yet
};

class PostgresScan {
 public:
  // The filter must outlive the scan. `choice` is the choice of an earlier scan of the same filter.
  PostgresScan(const Filter& filter, const std::optional<PlanChoice>& choice);

  // How many indexes are possible; 0: nothing can match. If there are several, the server has to be asked which is
  // shortest.
  size_t choices() const { return choices_.size(); }
  const std::optional<PlanChoice>& choice() const { return choice_; }
  // Returns the work.
  Work QueueChoice(PostgresSession& session);
  void TakeChoice(const std::vector<PostgresRows>& counts, size_t first);

  // Begins behind this place; at the beginning if there is none.
  void Start(const std::optional<EventPlace>& after);
  bool IsReady() const { return lanes_ready_ == lanes_.size(); }
  // The next event in order, if the scan is ready; null at the end.
  const FoundEvent* head() const;
  FoundEvent Pop();

  // Asks for rows of as many lanes as possible, for `wanted` events and at most this work. Returns the work.
  Work QueueRefill(PostgresSession& session, uint64_t wanted, Work most);
  // Returns the work.
  Work TakeRows(const PostgresRows& rows);

  uint64_t held_bytes() const;

 private:
  struct Lane {
    const PublicKey* author = nullptr;
    int64_t tag = 0;
    int32_t kind = 0;
    uint32_t at_once = 0;    // rows that were asked for last
    uint32_t of_second = 0;  // rows that came of the second where it stood
    bool at_end = false;
    EventPlace from;  // place of its last row
    bool has_begun = false;
    std::vector<FoundEvent> rows;
    size_t next = 0;  // index of the next row

    bool empty() const { return next == rows.size(); }
    const FoundEvent& front() const { return rows[next]; }
  };

  void MakeLanes();
  PostgresValues KeysOf(const std::vector<uint32_t>& lanes) const;
  void QueueIds(PostgresSession& session, const PostgresStatement& statement, Work most);
  bool reads_records() const {
    return lanes_.size() <= kLanesWithRecords && (!filter_.ids || filter_.ids->size() <= kIdsWithRecords);
  }
  void PushHead(uint32_t lane);

  static constexpr size_t kLanesCounted = 64;  // at most, for one choice
  static constexpr size_t kLanesWithRecords = 4;
  static constexpr size_t kIdsWithRecords = 32;
  static constexpr size_t kIdsOfLane = 256;  // ids are no index to walk: all rows of a lane come at once

  const Filter& filter_;
  std::vector<PlanChoice> choices_;
  std::optional<PlanChoice> choice_;
  std::vector<double> counted_shares_;  // counted share of the lanes, for each choice
  std::optional<EventPlace> after_;
  std::vector<Lane> lanes_;
  size_t lanes_ready_ = 0;
  std::vector<uint32_t> heads_;   // a heap of lanes that have rows
  std::vector<uint32_t> asked_;   // lanes of the refill that is under way
  uint32_t asked_rows_ = 0;       // rows asked for in each lane
  uint64_t record_bytes_ = 1024;  // the mean of those that came last
  bool knows_size_ = false;       // record_bytes_ was measured
};

}  // namespace weir
