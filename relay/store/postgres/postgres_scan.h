// PostgresScan: finds the events that may match a filter, in the order in which a query returns them (newest first and,
// at equal age, lowest id first). It reads them from the database index that has the fewest rows for the filter.
//
// A scan has a lane for each key that it looks for, such as an author with a kind; or for each 256 ids. A lane buffers
// the next rows of the index for its key. The scan cannot continue while a lane is empty but may have more rows. The
// caller then calls QueueRefill, which queues a statement that reads the next rows of such lanes. The caller runs this
// statement, together with those of other scans, and passes its rows to TakeRows.
//
// How to use a scan: if choice() is null, call QueueChoice, run the session and call TakeChoice. Then call Start. Then
// call head and Pop while IsReady() is true; whenever it is false, call QueueRefill, run the session and call TakeRows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/wire/postgres/postgres_session.h"
#include "relay/account/work.h"
#include "relay/nostr/filter.h"
#include "relay/store/event_store.h"
#include "relay/store/planner.h"
#include "relay/store/serial.h"

namespace weir {

// An event that a row of the database names.
struct FoundEvent {
  EventPlace place;
  Serial serial;         // set when the record is read
  std::string record;    // empty: not read yet
  bool is_head = false;  // `record` has neither tags nor JSON
};

class PostgresScan {
 public:
  // `choice` is that of an earlier scan of the same filter, or null. If `ids_only` is not null, reads heads of
  // records where they are enough (FoundEvent::is_head). `filter` and `ids_only` must outlive the scan.
  PostgresScan(const Filter& filter, const std::optional<PlanChoice>& choice, const IdsOnly* ids_only = nullptr);

  // Returns the number of indexes from which the scan can choose. If it is 0, the filter can match no event. If it is
  // more than 1, the server has to count their rows first (QueueChoice).
  size_t choices() const { return choices_.size(); }
  // Returns the chosen index; null until it is chosen.
  const std::optional<PlanChoice>& choice() const { return choice_; }
  // Queues, for each of the choices() indexes, a statement that counts its rows. Returns the work of all statements.
  Work QueueChoice(PostgresSession& session);
  // Chooses the index with the fewest rows. `counts[first]` is the result of the first statement of QueueChoice, and
  // the results of the others follow it.
  void TakeChoice(const std::vector<PostgresRows>& counts, size_t first);

  // Begins behind the place `after`, or with the newest event if `after` is null. choice() must not be null.
  void Start(const std::optional<EventPlace>& after);
  // Returns true if head() is known. If not, the scan needs rows (QueueRefill).
  bool IsReady() const { return lanes_ready_ == lanes_.size(); }
  // Returns the next event, or null if there are no more. If the scan is not ready, a lane without rows may have an
  // earlier one.
  const FoundEvent* head() const;
  // Removes head(), which must not be null, and returns it.
  FoundEvent Pop();

  // Queues one statement that reads the next rows of empty lanes: about as many as `wanted` events need, within the
  // work `most`, but those of at least one lane. The scan must not be ready. Returns the work of finding the rows.
  Work QueueRefill(PostgresSession& session, uint64_t wanted, Work most);
  // Takes the rows that the statement of QueueRefill has read. Returns the work of reading them.
  Work TakeRows(const PostgresRows& rows);

  // Returns the bytes of memory that the scan takes.
  uint64_t held_bytes() const;

 private:
  struct Lane {
    const PublicKey* author = nullptr;  // author, tag and kind: the key, as far as the index has them
    int64_t tag = 0;                    // TagNumber (postgres_columns.h)
    int32_t kind = 0;
    uint32_t at_once = 0;    // number of rows that the last QueueRefill asked for
    uint32_t of_second = 0;  // number of the new rows that have the created_at of the last old row
    bool at_end = false;     // the index has no more rows of this key
    EventPlace from;         // the place of its last row
    bool has_begun = false;  // `from` is set
    std::vector<FoundEvent> rows;
    size_t next = 0;  // index of the next row

    bool empty() const { return next == rows.size(); }
    const FoundEvent& front() const { return rows[next]; }
  };

  void MakeLanes();
  PostgresValues KeysOf(const std::vector<uint32_t>& lanes) const;
  void QueueIds(PostgresSession& session, const PostgresStatement& statement, Work most);
  bool reads_records() const {
    if (heads_only_ != nullptr) return true;
    return lanes_.size() <= kLanesWithRecords && (!filter_.ids || filter_.ids->size() <= kIdsWithRecords);
  }
  void CompleteHead(FoundEvent* found) const;
  void PushHead(uint32_t lane);

  static constexpr size_t kLanesCounted = 64;     // the most lanes whose rows are counted for one choice
  static constexpr size_t kLanesWithRecords = 4;  // up to this number of lanes, records are read with the rows
  static constexpr size_t kIdsWithRecords = 32;   // up to this number of ids, records are read with the rows
  static constexpr size_t kIdsOfLane = 256;       // ids that a lane looks up; all of its rows are read together

  const Filter& filter_;
  const IdsOnly* const heads_only_;  // if not null, heads of records are read with the rows
  std::vector<PlanChoice> choices_;
  std::optional<PlanChoice> choice_;
  std::vector<double> counted_shares_;  // for each choice: the share of its lanes whose rows are counted
  std::optional<EventPlace> after_;
  std::vector<Lane> lanes_;
  size_t lanes_ready_ = 0;        // number of lanes that have rows or are at their end
  std::vector<uint32_t> heads_;   // a heap of the lanes that have rows
  std::vector<uint32_t> asked_;   // the lanes of the last QueueRefill
  uint32_t asked_rows_ = 0;       // the number of rows that QueueRefill asked for in each lane
  uint64_t record_bytes_ = 1024;  // the mean size of the records that were read last
  bool knows_size_ = false;       // record_bytes_ was measured
};

}  // namespace weir
