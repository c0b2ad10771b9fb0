// StoredHistory: learns what the stored events say about their authors, when the relay has measured no standing yet.
//
// created_at says nothing about when an event came, because its author chooses it. The serials of the store do: they
// grow in the order in which events came. So an event counts as having come at the latest created_at of all events
// before it and of itself. An author can move this time only forward, which gives the author less standing. An import
// counts by the order of its file. Events that are dated after the present are passed over.
#pragma once

#include <cstdint>
#include <map>

#include "config/status.h"
#include "relay/standing/author_table.h"
#include "relay/store/bulk_reads.h"

namespace weir {

class StoredHistory {
 public:
  // Learns the events of the moment `until`. Remembers at most `most_authors`.
  StoredHistory(BulkReads& reads, Moment until, uint64_t most_authors)
      : reads_(reads), until_(std::move(until)), authors_(most_authors) {}

  // Learns from the next slice of the store, after the limiter's admission. Returns true at the end.
  Result<bool> Next(uint64_t now_seconds);
  // The learned records have times, accepted and days.
  AuthorTable& authors() { return authors_; }

 private:
  void Learn(uint32_t origin, EventView event, uint64_t now_seconds);

  BulkReads& reads_;
  const Moment until_;
  Moment learned_;
  std::map<uint32_t, uint64_t> latest_;  // the latest created_at by origin
  AuthorTable authors_;
};

// Adds what was learned of an author to the author's record.
void AddLearned(const AuthorRecord& learned, AuthorRecord* record);

}  // namespace weir
