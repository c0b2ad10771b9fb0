#include "relay/store/postgres/postgres_query.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "relay/nostr/expiration.h"
#include "relay/store/matching_work.h"
#include "relay/store/postgres/postgres_columns.h"
#include "relay/store/query_bounds.h"

namespace weir {
namespace {

constexpr PostgresStatement kMoment{"moment", "SELECT origin, serial FROM weir_origins ORDER BY origin"};
constexpr PostgresStatement kRecords{"records",
                                     "SELECT id, origin, serial, record FROM weir_events WHERE id = ANY($1::bytea[])"};

constexpr uint64_t kMostRead = 256;  // the most candidates, and the most records, that are read together
// Number of records of the first read. Their size is not known yet; 16 of the largest are two megabytes.
constexpr uint64_t kFirstRead = 16;

}  // namespace

PostgresQuery::PostgresQuery(SessionPool& sessions, Duration patience, std::vector<Filter> filters,
                             const QueryOptions& options)
    : sessions_(sessions), patience_(patience), options_(options), judged_(options.after) {
  parts_.resize(filters.size());
  for (size_t i = 0; i < filters.size(); ++i) {
    Part& part = parts_[i];
    part.filter = std::move(filters[i]);
    part.tag_work = TagWorkOf(part.filter);
    part.left = std::min(part.filter.limit.value_or(options_.default_limit), options_.max_limit);
  }
}

Result<Progress> PostgresQuery::Next(const Slice& slice, const OnMatch& on_match) {
  return sessions_.With<Progress>([&](PostgresSession& session) { return Walk(session, slice, on_match); });
}

// If a round trip to the server fails, the query is in the state before it, so the caller can call Walk again.
Result<Progress> PostgresQuery::Walk(PostgresSession& session, const Slice& slice, const OnMatch& on_match) {
  work_end_ = work_ + std::clamp<Work>(slice.max_work, 1, INT64_MAX);
  bytes_ = 0;
  if (Result<Progress> begun = Begin(session); !begun.ok() || begun.value() == Progress::kMore) return begun;
  for (bool judged = false;;) {
    while (!found_.empty()) {
      if (bytes_ >= slice.max_bytes || (judged && UsedUp())) return Progress::kMore;
      if (found_.front().event.record.empty())
        if (Status read = ReadRecords(session, slice); !read.ok()) return read;
      if (!Match(&found_.front())) return Progress::kMore;
      const Candidate candidate = std::move(found_.front());
      found_.pop_front();
      HandOut(candidate, on_match);
      judged = true;
    }
    if (Finished()) return Progress::kDone;
    if (judged && UsedUp()) return Progress::kMore;
    while (!Collect()) {
      if (Status refilled = Refill(session); !refilled.ok()) return refilled;
      if (UsedUp()) return Progress::kMore;
    }
  }
}

// Reads the moment before the first rows, so that events which are saved between the two have a higher serial and are
// skipped. With many filters it may take several slices until each filter has its index; a filter that has one keeps
// it.
Result<Progress> PostgresQuery::Begin(PostgresSession& session) {
  const bool asks_moment = !has_begun_;
  if (asks_moment) session.Queue(kMoment);
  std::vector<Part*> choosing;
  Progress progress = Progress::kDone;
  for (Part& part : parts_) {
    if (part.done || part.scan != nullptr) continue;
    if (!choosing.empty() && UsedUp()) {
      progress = Progress::kMore;
      break;
    }
    auto scan = std::make_unique<PostgresScan>(part.filter, part.choice);
    part.done = scan->choices() == 0;
    if (part.done) continue;
    if (!scan->choice()) {
      work_ += scan->QueueChoice(session);
      choosing.push_back(&part);
    } else {
      scan->Start(judged_);
    }
    part.scan = std::move(scan);
  }
  if (!asks_moment && choosing.empty()) return progress;
  const Result<std::vector<PostgresRows>> answers = session.Run(patience_);
  if (!answers.ok()) {
    for (Part* const part : choosing) part->scan.reset();
    return answers.status();
  }
  size_t next = 0;
  if (asks_moment) {
    const PostgresRows& origins = answers.value()[next++];
    for (size_t i = 0; i < origins.size(); ++i)
      moment_.Advance({static_cast<uint32_t>(origins.Int(i, 0)), static_cast<uint64_t>(origins.Int(i, 1))});
    has_begun_ = true;
  }
  for (Part* const part : choosing) {
    const size_t choices = part->scan->choices();
    part->scan->TakeChoice(answers.value(), next);
    next += choices;
    part->choice = part->scan->choice();
    part->scan->Start(judged_);
  }
  return progress;
}

// Ends the parts that need no more rows. Returns true if no part is left.
bool PostgresQuery::Finished() {
  const bool collects = std::ranges::any_of(parts_, [](const Part& part) { return !part.done && part.left > 0; });
  if (collects) looks_since_ = visits_;
  const bool looked_enough = visits_ > looks_since_ + kLookAhead;
  bool all_done = true;
  for (Part& part : parts_) {
    if (part.left == 0 && !part.done && looked_enough) complete_ = false;
    if (part.left == 0 && !complete_) part.done = true;
    if (part.done) part.scan.reset();
    all_done = all_done && part.done;
  }
  return all_done;
}

// Returns the number of events to read: as many as may still be handed out, plus one to know whether there are more. A
// query that only looks for a match beyond its limits begins with few.
uint64_t PostgresQuery::Wanted() const {
  uint64_t wanted = std::min(kMostRead, visits_ - looks_since_ + 1);
  for (const Part& part : parts_)
    if (!part.done && part.left > 0) wanted = std::max(wanted, std::min(kMostRead, AndOne(part.left)));
  return wanted;
}

Status PostgresQuery::Refill(PostgresSession& session) {
  std::vector<Part*> asked;
  const uint64_t wanted = Wanted();
  for (Part& part : parts_) {
    if (part.done || part.scan->IsReady()) continue;
    if (!asked.empty() && UsedUp()) break;
    work_ += part.scan->QueueRefill(session, wanted, work_end_ - std::min(work_, work_end_));
    asked.push_back(&part);
  }
  const Result<std::vector<PostgresRows>> answers = session.Run(patience_);
  if (!answers.ok()) return answers.status();
  for (size_t i = 0; i < asked.size(); ++i) work_ += asked[i]->scan->TakeRows(answers.value()[i]);
  return {};
}

// Moves the next events from the scans to found_. Returns false if a scan has to be refilled first.
bool PostgresQuery::Collect() {
  for (const uint64_t wanted = Wanted(); found_.size() < wanted;) {
    const FoundEvent* least = nullptr;
    for (const Part& part : parts_) {
      if (part.done) continue;
      // The events that were found before can be matched meanwhile.
      if (!part.scan->IsReady()) return !found_.empty();
      const FoundEvent* const head = part.scan->head();
      if (head != nullptr && (least == nullptr || head->place < least->place)) least = head;
    }
    if (least == nullptr) break;
    Candidate candidate{.event = {.place = least->place}};
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].done) continue;
      PostgresScan& scan = *parts_[i].scan;
      // A scan returns an event more than once if several of the part's keys lead to it; the lanes of some of these
      // keys may need a refill first.
      while (scan.head() != nullptr && scan.head()->place == candidate.event.place) {
        FoundEvent row = scan.Pop();
        ++visits_;
        if (candidate.parts.empty() || candidate.parts.back() != i) candidate.parts.push_back(i);
        if (candidate.event.record.empty()) candidate.event = std::move(row);
      }
    }
    found_.push_back(std::move(candidate));
  }
  for (Part& part : parts_)
    if (!part.done && part.scan->IsReady() && part.scan->head() == nullptr) part.done = true;
  return true;
}

// Reads the records of the next events that have none, as many as fit into the rest of the slice. Gives an event that
// was removed meanwhile a record that is not well-formed.
Status PostgresQuery::ReadRecords(PostgresSession& session, const Slice& slice) {
  const Work left = work_end_ - std::min(work_, work_end_);
  const uint64_t fitting = std::min({kMostRead, std::max(kFirstRead, 2 * at_once_),
                                     left / (kRecordWork + record_bytes_ * kRecordByteWork) + 1,
                                     (slice.max_bytes - bytes_) / record_bytes_ + 1});
  PostgresArray ids(PostgresArray::Type::kBytes);
  std::unordered_map<std::string_view, Candidate*> asked;
  for (Candidate& candidate : found_) {
    if (!candidate.event.record.empty()) continue;
    if (ids.size() == fitting) break;
    ids.Add(AsText(candidate.event.place.id));
    asked.emplace(AsText(candidate.event.place.id), &candidate);
  }
  at_once_ = ids.size();
  session.Queue(kRecords, PostgresValues().Array(ids));
  const Result<std::vector<PostgresRows>> answers = session.Run(patience_);
  if (!answers.ok()) return answers.status();
  const PostgresRows& rows = answers.value()[0];
  uint64_t bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    FoundEvent& event = asked.at(rows.Bytes(i, 0))->event;
    event.serial = {static_cast<uint32_t>(rows.Int(i, 1)), static_cast<uint64_t>(rows.Int(i, 2))};
    event.record = rows.Bytes(i, 3);
    bytes += event.record.size();
    asked.erase(rows.Bytes(i, 0));
  }
  for (const auto& [id, candidate] : asked) candidate->event.record = "gone";
  work_ += ids.size() * kRecordWork + bytes * kRecordByteWork;
  if (rows.size() > 0) record_bytes_ = std::max<uint64_t>(1, bytes / rows.size());
  return {};
}

// Finds the parts that the event matches. Returns false if the slice is used up before it was matched with all parts.
bool PostgresQuery::Match(Candidate* candidate) {
  const std::string& record = candidate->event.record;
  if (!EventView::WellFormed(record)) {
    candidate->parts.clear();
    return true;
  }
  const EventView event(record);
  const uint64_t tags = TagsOf(event);
  for (bool first = true; candidate->matched < candidate->parts.size(); first = false) {
    if (!first && UsedUp()) return false;
    uint32_t& number = candidate->parts[candidate->matched++];
    const Part& part = parts_[number];
    work_ += MatchingWork(tags, part.tag_work);
    const bool looks_in_vain = part.left == 0 && !complete_;
    if (looks_in_vain || !part.filter.Matches(event)) number = kNoPart;
  }
  return true;
}

// Hands the event out to the parts that it matches, if at least one of them has not reached its limit.
void PostgresQuery::HandOut(const Candidate& candidate, const OnMatch& on_match) {
  judged_ = candidate.event.place;
  if (candidate.parts.empty() || !moment_.Has(candidate.event.serial)) return;
  const EventView event(candidate.event.record);
  if (IsExpired(event, options_.now_seconds) || (options_.visible && !options_.visible(event))) return;
  bool handed_out = false;
  bool cut_off = false;
  for (const uint32_t number : candidate.parts) {
    if (number == kNoPart) continue;
    Part& part = parts_[number];
    (part.left > 0 ? handed_out : cut_off) = true;
    if (part.left > 0) --part.left;
  }
  if (!handed_out) {
    if (cut_off) complete_ = false;
    return;
  }
  bytes_ += event.json().size();
  on_match(event);
}

// Scans that had ended must run again, to find the events that were not handed out yet.
void PostgresQuery::Suspend() {
  for (const Candidate& candidate : found_)
    for (const uint32_t number : candidate.parts)
      if (number != kNoPart) parts_[number].done = false;
  found_ = {};
  for (Part& part : parts_) part.scan.reset();
}

uint64_t PostgresQuery::held_bytes() const {
  uint64_t bytes = sizeof(*this) + parts_.capacity() * sizeof(Part);
  for (const Candidate& candidate : found_)
    bytes += sizeof(candidate) + candidate.parts.capacity() * sizeof(uint32_t) + candidate.event.record.capacity();
  for (const Part& part : parts_)
    if (part.scan) bytes += part.scan->held_bytes();
  return bytes;
}

}  // namespace weir
