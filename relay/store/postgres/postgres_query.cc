#include "relay/store/postgres/postgres_query.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "relay/store/postgres/postgres_columns.h"

namespace weir {
namespace {

constexpr PostgresStatement kMoment{"moment", "SELECT origin, serial FROM weir_origins ORDER BY origin"};
// Their times are known; see kFindEvents in postgres_edit_statements.h.
constexpr PostgresStatement kRecords{
    "records",
    "SELECT e.id, e.origin, e.serial, e.record FROM unnest($1::bytea[], $2::bigint[]) AS k (id, created_at)"
    " CROSS JOIN LATERAL (SELECT * FROM weir_events e WHERE e.id = k.id AND e.created_at = k.created_at"
    " AND e.created_at >= $3::bigint AND e.created_at <= $4::bigint LIMIT 1) AS e"};

constexpr uint64_t kMostRead = 256;    // the most candidates, and the most records, that are read together
constexpr size_t kMostAdopted = 1000;  // newer versions that are handed out; bounds the moment's memory
// Number of records of the first read. Their size is not known yet; 16 of the largest are two megabytes.
constexpr uint64_t kFirstRead = 16;

}  // namespace

PostgresQuery::PostgresQuery(SessionPool& sessions, Duration patience, std::vector<Filter> filters,
                             const QueryOptions& options)
    : MatchingQuery(std::move(filters), options),
      sessions_(sessions),
      patience_(patience),
      keeps_to_moment_(options.ids_only.has_value()),
      choices_(parts_.size()) {}

Result<Progress> PostgresQuery::Next(const Slice& slice, const OnMatch& on_match) {
  return sessions_.With<Progress>([&](PostgresSession& session) { return Walk(session, slice, on_match); });
}

// If a round trip to the server fails, the query is in the state before it, so the caller can call Walk again.
Result<Progress> PostgresQuery::Walk(PostgresSession& session, const Slice& slice, const OnMatch& on_match) {
  BeginSlice(slice);
  if (Result<Progress> begun = Begin(session); !begun.ok() || begun.value() == Progress::kMore) return begun;
  for (bool judged = false;;) {
    while (!found_.empty()) {
      if (SliceIsOver(judged)) return Progress::kMore;
      if (found_.front().event.record.empty())
        if (Status read = ReadRecords(session); !read.ok()) return read;
      if (!Judge(on_match)) return Progress::kMore;
      judged = true;
    }
    if (Finished()) return Progress::kDone;
    if (judged && budget_.used_up()) return Progress::kMore;
    while (!Collect()) {
      if (Status refilled = Refill(session); !refilled.ok()) return refilled;
      if (budget_.used_up()) return Progress::kMore;
    }
  }
}

// Reads the moment before the first rows, so that events which are saved between the two have a higher serial and are
// skipped. With many filters it may take several slices until each filter has its index; a filter that has one keeps
// it.
Result<Progress> PostgresQuery::Begin(PostgresSession& session) {
  const bool asks_moment = !has_begun_;
  if (asks_moment) session.Queue(kMoment);
  std::vector<size_t> choosing;
  Progress progress = Progress::kDone;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (part.done || part.scan != nullptr) continue;
    if (!choosing.empty() && budget_.used_up()) {
      progress = Progress::kMore;
      break;
    }
    // A head that one part has found would not do for the tags of another part's filter.
    const bool reads_heads = options_.ids_only && parts_.size() == 1;
    auto scan = std::make_unique<PostgresScan>(part.filter, choices_[i], reads_heads ? &*options_.ids_only : nullptr);
    part.done = scan->choices() == 0;
    if (part.done) continue;
    if (!scan->choice()) {
      budget_.Spend(scan->QueueChoice(session));
      choosing.push_back(i);
    } else {
      scan->Start(judged_);
    }
    part.scan = std::move(scan);
  }
  if (!asks_moment && choosing.empty()) return progress;
  const Result<std::vector<PostgresRows>> answers = session.Run(patience_);
  if (!answers.ok()) {
    for (const size_t i : choosing) parts_[i].scan.reset();
    return answers.status();
  }
  size_t next = 0;
  if (asks_moment) {
    const PostgresRows& origins = answers.value()[next++];
    for (size_t i = 0; i < origins.size(); ++i)
      moment_.Advance({static_cast<uint32_t>(origins.Int(i, 0)), static_cast<uint64_t>(origins.Int(i, 1))});
    has_begun_ = true;
  }
  for (const size_t i : choosing) {
    PostgresScan& scan = *parts_[i].scan;
    const size_t choices = scan.choices();
    scan.TakeChoice(answers.value(), next);
    next += choices;
    choices_[i] = scan.choice();
    scan.Start(judged_);
  }
  return progress;
}

Status PostgresQuery::Refill(PostgresSession& session) {
  std::vector<Part*> asked;
  const uint64_t wanted = Wanted(kMostRead);
  for (Part& part : parts_) {
    if (part.done || part.scan->IsReady()) continue;
    if (!asked.empty() && budget_.used_up()) break;
    budget_.Spend(part.scan->QueueRefill(session, wanted, budget_.left()));
    asked.push_back(&part);
  }
  const Result<std::vector<PostgresRows>> answers = session.Run(patience_);
  if (!answers.ok()) return answers.status();
  for (size_t i = 0; i < asked.size(); ++i) budget_.Spend(asked[i]->scan->TakeRows(answers.value()[i]));
  return {};
}

// Moves the next events from the scans to found_. Returns false if a scan has to be refilled first.
bool PostgresQuery::Collect() {
  for (const uint64_t wanted = Wanted(kMostRead); found_.size() < wanted;) {
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
        ++budget_.visits;
        if (candidate.finders.empty() || candidate.finders.back().part != i) candidate.finders.push_back({i});
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
Status PostgresQuery::ReadRecords(PostgresSession& session) {
  const uint64_t fitting = std::min({kMostRead, std::max(kFirstRead, 2 * at_once_), FittingRecords(record_bytes_)});
  EventKeys keys;
  std::unordered_map<std::string_view, Candidate*> asked;
  for (Candidate& candidate : found_) {
    if (!candidate.event.record.empty()) continue;
    if (keys.ids.size() == fitting) break;
    keys.Add(candidate.event.place.id, candidate.event.place.created_at);
    asked.emplace(AsText(candidate.event.place.id), &candidate);
  }
  at_once_ = keys.ids.size();
  session.Queue(kRecords, keys.Values());
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
  budget_.Spend(keys.ids.size() * kRecordWork + bytes * kRecordByteWork);
  if (rows.size() > 0) record_bytes_ = std::max<uint64_t>(1, bytes / rows.size());
  return {};
}

// Judges the next event of found_: finds out which parts it matches, and hands it out if the client may have it.
// Returns false if the slice is used up before the event was matched with all parts.
bool PostgresQuery::Judge(const OnMatch& on_match) {
  const FoundEvent& event = found_.front().event;
  const bool is_gone = !event.is_head && !EventView::WellFormed(event.record);
  if (!is_gone && !Match(EventView(event.record), std::span(found_.front().finders))) return false;
  const Candidate candidate = std::move(found_.front());
  found_.pop_front();
  judged_ = candidate.event.place;
  const bool is_newer = !moment_.Has(candidate.event.serial);
  if (is_gone || (is_newer && !MayAdopt(candidate.event))) return true;
  const bool handed_out = HandOut(EventView(candidate.event.record), std::span(candidate.finders), on_match);
  if (is_newer && handed_out) moment_.AddOne(candidate.event.serial);  // it must not come as a live event, too
  return true;
}

// Returns true for an event that was saved since the moment and may have replaced one.
bool PostgresQuery::MayAdopt(const FoundEvent& event) const {
  return !keeps_to_moment_ && moment_.single_events() < kMostAdopted && HasAddress(EventView(event.record).kind());
}

// Scans that had ended must run again, to find the events that were not handed out yet.
void PostgresQuery::Suspend() {
  for (const Candidate& candidate : found_)
    for (const Finder& finder : candidate.finders)
      if (finder.part != kNoPart) parts_[finder.part].done = false;
  found_ = {};
  matched_ = 0;
  for (Part& part : parts_) part.scan.reset();
}

uint64_t PostgresQuery::held_bytes() const {
  uint64_t bytes = sizeof(*this) + PartBytes() + choices_.capacity() * sizeof(choices_[0]);
  for (const Candidate& candidate : found_)
    bytes += sizeof(candidate) + candidate.finders.capacity() * sizeof(Finder) + candidate.event.record.capacity();
  return bytes;
}

}  // namespace weir
