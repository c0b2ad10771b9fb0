#include "relay/store/query.h"

#include <algorithm>
#include <utility>

#include "relay/nostr/expiration.h"
#include "relay/store/removal.h"

namespace weir {
namespace {

// A limit may be all there is.
uint64_t AndOne(uint64_t limit) { return limit == UINT64_MAX ? limit : limit + 1; }

constexpr uint64_t kMostAtOnce = 64;  // events that are fetched together
// How far to look, when all limits are reached, for a match beyond them before it is taken for granted. Where the index
// alone decides it is the very next entry.
constexpr uint64_t kLookAhead = 1000;  // visits

}  // namespace

StoreQuery::StoreQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options)
    : database_(database), options_(options), snapshot_(database.db()), read_options_(snapshot_.ReadOptions()) {
  parts_.resize(filters.size());
  for (size_t i = 0; i < filters.size(); ++i) {
    Part& part = parts_[i];
    part.filter = std::move(filters[i]);
    part.left = std::min(part.filter.limit.value_or(options_.default_limit), options_.max_limit);
    part.scan = std::make_unique<IndexScan>(database_, read_options_, part.filter, AndOne(part.left));
  }
  failed_ = ReadLastSerial();
}

// By the snapshot itself: what it has and what is told of it can never differ.
Status StoreQuery::ReadLastSerial() {
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = database_.db()->Get(read_options_, database_.index(), ToSlice(CountersKey()), &value);
  Counters counters;
  if (status.ok() && ReadCounters(ToView(value), &counters)) last_serial_ = counters.last_serial;
  return status.ok() || status.IsNotFound() ? Status() : DatabaseError("cannot read the index", status);
}

Result<Progress> StoreQuery::Next(const Slice& slice, const OnMatch& on_match) {
  if (!failed_.ok()) return failed_;
  Budget budget{std::max<int64_t>(1, slice.max_visits)};
  bytes_ = 0;
  for (;;) {
    while (next_found_ < found_.size()) {
      if (bytes_ >= slice.max_bytes) return Progress::kMore;
      Judge(on_match);
    }
    found_.clear();
    next_found_ = places_ = 0;
    if (Finished()) return Progress::kDone;
    if (budget.used_up()) return Progress::kMore;
    const int64_t before = budget.visits;
    const Result<bool> collected = Collect(&budget);
    if (!collected.ok()) return collected.status();
    if (Status fetched = Fetch(&budget); !fetched.ok()) return fetched;
    visits_ += static_cast<uint64_t>(before - budget.visits);
  }
}

// Ends what needs no more looking; true where nothing is left.
bool StoreQuery::Finished() {
  const bool collects =
      std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return !part.done && part.left > 0; });
  if (collects) looks_since_ = visits_;
  const bool looked_enough = visits_ > looks_since_ + kLookAhead;
  bool all_done = true;
  for (Part& part : parts_) {
    if (part.left == 0 && !part.done && looked_enough) complete_ = false;
    if (part.left == 0 && !complete_) part.done = true;
    if (part.done) part.scan.reset();
    all_done = all_done && part.done;
  }
  if (all_done) place_.clear();
  return all_done;
}

// Events to be fetched together: what may still be handed out and one, to know whether there is more. Who only looks
// begins with few.
uint64_t StoreQuery::Wanted() const {
  uint64_t wanted = std::min(kMostAtOnce, visits_ - looks_since_ + 1);
  for (const Part& part : parts_)
    if (!part.done && part.left > 0) wanted = std::max(wanted, std::min(kMostAtOnce, AndOne(part.left)));
  return wanted;
}

// Moves the entries of the next places from the scans to found_; false where the budget was used up before. A place is
// complete when all scans have gone past it.
Result<bool> StoreQuery::Collect(Budget* budget) {
  // The records are visits too.
  const uint64_t wanted = std::clamp<uint64_t>(static_cast<uint64_t>(budget->visits) / 2, 1, Wanted());
  for (;;) {
    const Candidate* least = nullptr;
    uint32_t from = 0;
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].done) continue;
      Result<bool> ready = parts_[i].scan->Ready(budget);
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

// Entries of one place are nearly always of one event.
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

// Several events of one moment whose ids begin alike.
Status StoreQuery::SortById(std::vector<Found>* place) const {
  std::vector<std::pair<std::string, Found>> by_id;
  std::string record;
  for (const Found& found : *place) {
    record.clear();
    const rocksdb::Status status =
        database_.db()->Get(read_options_, database_.events(), ToSlice(EventKey(found.candidate.serial)), &record);
    if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read an event", status);
    by_id.emplace_back(record.substr(0, sizeof(EventId)), found);
  }
  std::stable_sort(by_id.begin(), by_id.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  place->clear();
  for (const auto& [id, found] : by_id) place->push_back(found);
  return {};
}

Status StoreQuery::Fetch(Budget* budget) {
  keys_.clear();
  next_record_ = 0;
  for (size_t i = 0; i < found_.size(); ++i) {
    if (i == 0 || found_[i].candidate.serial != found_[i - 1].candidate.serial)
      keys_.push_back(EventKey(found_[i].candidate.serial));
  }
  if (keys_.empty()) return {};
  budget->visits -= static_cast<int64_t>(keys_.size());
  // Before they move: RocksDB's slices lose their buffer when they are moved while they pin a block.
  for (rocksdb::PinnableSlice& record : records_) record.Reset();
  if (records_.size() < keys_.size()) {
    records_.resize(keys_.size());
    statuses_.resize(keys_.size());
  }
  std::vector<rocksdb::Slice> slices;
  slices.reserve(keys_.size());
  for (const Key& key : keys_) slices.push_back(ToSlice(key));
  if (keys_.size() == 1) {
    statuses_[0] = database_.db()->Get(read_options_, database_.events(), slices[0], &records_[0]);
  } else {
    database_.db()->MultiGet(read_options_, database_.events(), slices.size(), slices.data(), records_.data(),
                             statuses_.data());
  }
  for (size_t i = 0; i < keys_.size(); ++i)
    if (!statuses_[i].ok() && !statuses_[i].IsNotFound()) return DatabaseError("cannot read an event", statuses_[i]);
  return {};
}

// The next event of found_: whose match it is, and whether it is handed out.
void StoreQuery::Judge(const OnMatch& on_match) {
  const size_t first = next_found_;
  while (next_found_ < found_.size() && found_[next_found_].candidate.serial == found_[first].candidate.serial)
    ++next_found_;
  const size_t record = next_record_++;
  // An entry without event is for `weir check`; it hides nothing from who asks.
  if (!statuses_[record].ok() || !EventView::WellFormed(ToView(records_[record]))) return;
  const EventView event(ToView(records_[record]));
  bool matches = false;
  bool handed_out = false;
  for (size_t i = first; i < next_found_; ++i) {
    const Part& part = parts_[found_[i].part];
    if (part.left == 0 && !complete_) continue;
    if (!part.filter.Matches(event)) {
      found_[i].part = UINT32_MAX;
      continue;
    }
    matches = true;
    handed_out = handed_out || part.left > 0;
  }
  if (!matches || !IsWanted(event)) return;
  for (size_t i = first; i < next_found_; ++i) {
    if (found_[i].part == UINT32_MAX) continue;
    Part& part = parts_[found_[i].part];
    if (part.left == 0) {
      complete_ = complete_ && handed_out;
    } else {
      --part.left;
    }
  }
  if (!handed_out) return;
  bytes_ += event.json().size();
  on_match(event);
}

bool StoreQuery::IsWanted(EventView event) const {
  return !IsExpired(event, options_.now_seconds) && (!options_.visible || options_.visible(event));
}

}  // namespace weir
