#include "relay/store/query.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr uint64_t kMostAtOnce = 64;  // events that are fetched together
// Number of events of the first fetch. Their size is not known yet; 8 of the largest are a megabyte.
constexpr size_t kFirstAtOnce = 8;

}  // namespace

StoreQuery::StoreQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options)
    : MatchingQuery(std::move(filters), options), database_(database), at_once_(kFirstAtOnce / 2) {
  OpenSnapshot();
  failed_ = ReadMoment(database_, *snapshot_, &moment_);
  StartScans();
}

void StoreQuery::OpenSnapshot() {
  snapshot_.emplace(database_.db());
  read_options_ = snapshot_->ReadOptions();
  read_options_.fill_cache = options_.fills_cache;
}

// Starts the scans at the beginning, or where the query was suspended.
void StoreQuery::StartScans() {
  ScanBounds bounds{.first = {}, .last_serial = moment_.NumberOf(0)};
  if (judged_) {
    bounds.first.inverted_time = ~judged_->created_at;
    bounds.first.id = static_cast<uint32_t>(ReadNumber(reinterpret_cast<const char*>(judged_->id.data()), 4));
  }
  for (Part& part : parts_) {
    if (part.done) continue;
    part.scan = std::make_unique<IndexScan>(database_, read_options_, part.filter, bounds, part.wanted());
  }
}

Result<Progress> StoreQuery::Next(const Slice& slice, const OnMatch& on_match) {
  if (!failed_.ok()) return failed_;
  if (!snapshot_) {
    OpenSnapshot();
    StartScans();
  }
  BeginSlice(slice);
  Result<Progress> progress = Walk(on_match);
  LetGoOfBlocks();
  return progress;
}

Result<Progress> StoreQuery::Walk(const OnMatch& on_match) {
  // Judges at least one event, because collecting the entries may have used up the slice.
  for (bool judged = false;;) {
    while (next_found_ < found_.size()) {
      if (SliceIsOver(judged)) return Progress::kMore;
      if (next_record_ == records_.size()) {
        if (Status fetched = Fetch(); !fetched.ok()) return fetched;
      }
      const std::optional<EventPlace> before = judged_;
      if (!Judge(on_match)) return Progress::kMore;
      judged = judged || judged_ != before;
    }
    found_.clear();
    next_found_ = places_ = 0;
    if (Finished()) {
      place_.clear();
      return Progress::kDone;
    }
    if (budget_.used_up()) return Progress::kMore;
    const Result<bool> collected = Collect();
    if (!collected.ok()) return collected.status();
  }
}

void StoreQuery::Suspend() {
  LetGoOfBlocks();
  for (Part& part : parts_) part.scan.reset();
  // Scans that had ended must run again, too, to find these events once more.
  for (const Found& found : place_) parts_[found.part].done = false;
  for (size_t i = next_found_; i < found_.size(); ++i)
    if (found_[i].part != kNoPart) parts_[found_[i].part].done = false;
  place_ = std::vector<Found>();
  found_ = std::vector<Found>();
  next_found_ = places_ = matched_ = 0;
  snapshot_.reset();
}

uint64_t StoreQuery::held_bytes() const {
  return sizeof(*this) + PartBytes() + (place_.capacity() + found_.capacity()) * sizeof(Found);
}

void StoreQuery::LetGoOfBlocks() {
  records_.LetGo();
  next_record_ = 0;
  for (Part& part : parts_)
    if (part.scan) part.scan->LetGo();
}

// Moves the entries of the next places from the scans to found_. Returns false if the budget was used up first. A place
// is complete when all scans have gone past it.
Result<bool> StoreQuery::Collect() {
  const uint64_t wanted = Wanted(kMostAtOnce);
  for (;;) {
    const Candidate* least = nullptr;
    uint32_t from = 0;
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].done) continue;
      Result<bool> ready = parts_[i].scan->Ready(&budget_);
      if (!ready.ok() || !ready.value()) return ready;
      const Candidate* head = parts_[i].scan->head();
      if (head == nullptr || (least != nullptr && !(*head < *least))) continue;
      least = head;
      from = i;
    }
    const bool goes_on = least != nullptr && !place_.empty() && place_.front().candidate.SamePlace(*least);
    if (!goes_on) {
      if (Status settled = SettlePlace(); !settled.ok()) return settled;
      if (least == nullptr || places_ >= wanted) break;
    }
    place_.push_back({*least, from});
    parts_[from].scan->Pop();
  }
  for (Part& part : parts_)
    if (!part.done && part.scan->head() == nullptr) part.done = true;
  return true;
}

// The entries of one place nearly always belong to one event.
Status StoreQuery::SettlePlace() {
  if (place_.empty()) return {};
  const auto by_event = [](const Found& a, const Found& b) {
    return std::pair(a.candidate.serial, a.part) < std::pair(b.candidate.serial, b.part);
  };
  const auto same = [](const Found& a, const Found& b) {
    return a.candidate.serial == b.candidate.serial && a.part == b.part;
  };
  std::sort(place_.begin(), place_.end(), by_event);
  place_.erase(std::unique(place_.begin(), place_.end(), same), place_.end());
  if (place_.front().candidate.serial != place_.back().candidate.serial) {
    if (Status sorted = SortById(&place_); !sorted.ok()) return sorted;
  }
  for (size_t i = 0; i < place_.size(); ++i)
    if (i == 0 || place_[i].candidate.serial != place_[i - 1].candidate.serial) ++places_;
  found_.insert(found_.end(), place_.begin(), place_.end());
  place_.clear();
  return {};
}

// Sorts several events that have the same age and the same first bytes of the id. Such an id costs its author four
// billion hashes, so there are few such events; the slice pays for reading all of them.
Status StoreQuery::SortById(std::vector<Found>* place) {
  std::vector<std::pair<std::string, Found>> by_id;
  rocksdb::PinnableSlice record;
  for (const Found& found : *place) {
    record.Reset();
    const rocksdb::Status status =
        database_.db()->Get(read_options_, database_.events(), ToSlice(EventKey(found.candidate.serial)), &record);
    if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read an event", status);
    budget_.Visit(kSeekWork + kRecordWork);
    by_id.emplace_back(ToView(record).substr(0, sizeof(EventId)), found);
  }
  std::stable_sort(by_id.begin(), by_id.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  place->clear();
  for (const auto& [id, found] : by_id) place->push_back(found);
  return {};
}

Status StoreQuery::Fetch() {
  const uint64_t most = std::min<uint64_t>({FittingRecords(record_bytes_), 2 * at_once_, kMostAtOnce});
  records_.LetGo();
  next_record_ = 0;
  for (size_t i = next_found_; i < found_.size() && records_.size() < most; i = EndOfEvent(i))
    records_.Add(found_[i].candidate.serial);
  if (Status found = records_.Run(database_, read_options_); !found.ok()) return found;
  uint64_t bytes = 0;
  for (size_t i = 0; i < records_.size(); ++i) {
    bytes += records_.Value(i).value_or("").size();
    budget_.Visit(kRecordWork);
  }
  budget_.Spend(bytes * kRecordByteWork);
  record_bytes_ = bytes / records_.size();
  at_once_ = records_.size();
  return {};
}

size_t StoreQuery::EndOfEvent(size_t first) const {
  size_t end = first + 1;
  while (end < found_.size() && found_[end].candidate.serial == found_[first].candidate.serial) ++end;
  return end;
}

// Judges the next event of found_: finds out which parts it matches, and hands it out if the client may have it.
// Returns false if the budget is used up before the event was matched with all parts.
bool StoreQuery::Judge(const OnMatch& on_match) {
  const size_t end = EndOfEvent(next_found_);
  const std::span<Found> found = std::span(found_).subspan(next_found_, end - next_found_);
  // An entry without an event is a finding for `weir check`; it hides nothing from the client.
  const std::string_view record = records_.Value(next_record_).value_or("");
  if (EventView::WellFormed(record)) {
    const EventView event(record);
    const EventPlace place{event.created_at(), event.id()};
    if (!judged_ || *judged_ < place) {
      if (!Match(event, found)) return false;
      judged_ = place;
      HandOut(event, found, on_match);
    }
  }
  next_found_ = end;
  ++next_record_;
  return true;
}

}  // namespace weir
