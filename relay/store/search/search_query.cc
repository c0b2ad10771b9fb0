#include "relay/store/search/search_query.h"

#include <algorithm>
#include <utility>

#include "relay/nostr/expiration.h"
#include "relay/search/search_text.h"
#include "relay/store/matching_work.h"

namespace weir {
namespace {

constexpr size_t kReadAtOnce = 16;

std::vector<Filter> WithoutSearch(const std::vector<Filter>& filters) {
  std::vector<Filter> rest;
  for (const Filter& filter : filters)
    if (!filter.search) rest.push_back(filter);
  return rest;
}

}  // namespace

SearchQuery::SearchQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options)
    : database_(database), options_(options), rest_(database, WithoutSearch(filters), options) {
  for (Filter& filter : filters) {
    if (!filter.search) continue;
    Part part;
    part.left = std::min({filter.limit.value_or(options.default_limit), options.max_limit, kMostFound});
    if (!filter.MatchesNothing()) part.words = WordsOfSearch(*filter.search);
    if (filter.authors)
      for (const PublicKey& author : *filter.authors)
        part.by.push_back(static_cast<uint32_t>(ReadNumber(reinterpret_cast<const char*>(author.data()), 4)));
    part.filter = std::move(filter);
    parts_.push_back(std::move(part));
  }
  const SearchIndex* const index = database.search();
  if (index == nullptr || index->unbuilt() > 0) complete_ = false;
  OpenSnapshot();
  for (Part& part : parts_) {
    if (index == nullptr || part.words.empty() || part.left == 0) continue;
    part.walk = std::make_unique<WordWalk>(database_, walk_options_, part.words, part.filter.since, part.filter.until);
  }
}

// Frees the walks before the snapshot that they use.
SearchQuery::~SearchQuery() { parts_.clear(); }

void SearchQuery::OpenSnapshot() {
  snapshot_.emplace(database_.db());
  read_options_ = snapshot_->ReadOptions();
  read_options_.fill_cache = options_.fills_cache;
  walk_options_ = read_options_;
  walk_options_.prefix_same_as_start = true;
}

void SearchQuery::Suspend() {
  for (Part& part : parts_) {
    if (part.walk) part.walk->LetGo();
    KeepBest(&part);
    part.hits.shrink_to_fit();
  }
  snapshot_.reset();
  rest_.Suspend();
}

uint64_t SearchQuery::held_bytes() const {
  // A node of a set has four words beside its value.
  constexpr uint64_t kNodeBytes = sizeof(EventId) + 4 * sizeof(void*);
  uint64_t bytes = sizeof(*this) + rest_.held_bytes() + handed_out_.size() * kNodeBytes;
  for (const Part& part : parts_) {
    bytes += sizeof(Part) + part.hits.capacity() * sizeof(WordHit) + part.words.capacity() * sizeof(uint64_t);
    if (part.walk) bytes += part.walk->held_bytes();
  }
  return bytes;
}

Result<Progress> SearchQuery::Next(const Slice& slice, const OnMatch& on_match) {
  const auto most = static_cast<int64_t>(std::clamp<Work>(slice.max_work, 1, INT64_MAX));
  budget_.work = most;
  bytes_left_ = slice.max_bytes;
  if (!snapshot_) OpenSnapshot();
  Result<Progress> answered = Answer(on_match);
  for (Part& part : parts_)
    if (part.walk) part.walk->LetGo();
  records_.LetGo();
  done_ += static_cast<Work>(most - budget_.work);
  if (!answered.ok() || answered.value() == Progress::kMore) return answered;
  const Slice left{.max_work = std::max<Work>(budget_.left(), 1),
                   .max_bytes = static_cast<uint32_t>(std::max<uint64_t>(bytes_left_, 1))};
  return rest_.Next(left, [&](EventView event) {
    if (!handed_out_.contains(event.id())) on_match(event);
  });
}

// Answers the searches, until all are answered or the slice is over.
Result<Progress> SearchQuery::Answer(const OnMatch& on_match) {
  for (; part_ < parts_.size(); ++part_) {
    Part* const part = &parts_[part_];
    for (const auto step : {&SearchQuery::Walk, &SearchQuery::HandOut}) {
      const Result<bool> done = (this->*step)(part, on_match);
      if (!done.ok()) return done.status();
      if (!done.value()) return Progress::kMore;
    }
  }
  return Progress::kDone;
}

// Collects the hits of a search. Returns false if the slice is over first.
Result<bool> SearchQuery::Walk(Part* part, const OnMatch& /*on_match*/) {
  while (part->walk) {
    if (is_over()) return false;
    const int64_t before = budget_.work;
    const Result<WordWalk::Step> step = part->walk->Next(&budget_);
    if (!step.ok()) return step.status();
    if (step.value() == WordWalk::Step::kFound) {
      Result<bool> taken = MayMatch(*part);
      if (!taken.ok()) return taken;
      if (taken.value()) part->hits.push_back(part->walk->hit());
      if (part->hits.size() >= 2 * kKept) KeepBest(part);
    }
    part->walked += static_cast<Work>(before - budget_.work);
    const bool is_too_much = part->walked >= kMostWalk;
    if (is_too_much) complete_ = false;
    if (!is_too_much && step.value() != WordWalk::Step::kEnd) continue;
    part->walk.reset();
    KeepBest(part);
  }
  return true;
}

// Returns false if the event at which the walk is cannot match the rest of the filter.
Result<bool> SearchQuery::MayMatch(const Part& part) {
  const SearchEntry& entry = part.walk->entry();
  const Filter& filter = part.filter;
  if (!moment().Has({.number = entry.serial})) return false;
  if (filter.kinds && !std::binary_search(filter.kinds->begin(), filter.kinds->end(), entry.kind)) return false;
  if (filter.authors && !std::binary_search(part.by.begin(), part.by.end(), entry.by)) return false;
  if (!filter.ids && filter.tags.empty()) return true;
  rocksdb::PinnableSlice record;
  budget_.Visit(kSeekWork + kRecordWork);
  const rocksdb::Status status =
      database_.db()->Get(read_options_, database_.events(), ToSlice(EventKey(entry.serial)), &record);
  if (status.IsNotFound()) return false;
  if (!status.ok()) return DatabaseError("cannot read an event", status);
  if (!EventView::WellFormed(ToView(record))) return false;
  const EventView event(ToView(record));
  budget_.Spend(record.size() * kRecordByteWork + MatchingWork(TagsOf(event), TagWorkOf(filter)));
  return filter.Matches(event);
}

// Sorts the hits, and drops those behind the best kKept.
void SearchQuery::KeepBest(Part* part) {
  if (part->next > 0) return;
  std::sort(part->hits.begin(), part->hits.end());
  if (part->hits.size() <= kKept) return;
  part->hits.resize(kKept);
  complete_ = false;
}

// Hands out the hits of a search, the best first. Returns false if the slice is over first.
Result<bool> SearchQuery::HandOut(Part* part, const OnMatch& on_match) {
  while (part->next < part->hits.size() && part->left > 0) {
    if (is_over()) return false;
    const size_t count = std::min({kReadAtOnce, part->hits.size() - part->next, static_cast<size_t>(part->left)});
    records_.LetGo();
    for (size_t i = 0; i < count; ++i) records_.Add(part->hits[part->next + i].serial);
    if (Status found = records_.Run(database_, read_options_); !found.ok()) return found;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view record = records_.Value(i).value_or("");
      budget_.Visit(kRecordWork + record.size() * kRecordByteWork);
      ++part->next;
      // The entry of an event that is gone since, or whose record is damaged.
      if (!EventView::WellFormed(record)) continue;
      const EventView event(record);
      if (!IsWanted(*part, event)) continue;
      --part->left;
      if (!handed_out_.insert(event.id()).second) continue;
      bytes_left_ -= std::min<uint64_t>(bytes_left_, event.json().size());
      on_match(event);
    }
  }
  if (part->next < part->hits.size()) complete_ = false;
  part->hits = {};
  part->next = 0;
  return true;
}

bool SearchQuery::IsWanted(const Part& part, EventView event) {
  budget_.Spend(MatchingWork(TagsOf(event), TagWorkOf(part.filter)));
  return part.filter.Matches(event) && !IsExpired(event, options_.now_seconds) &&
         (!options_.visible || options_.visible(event));
}

}  // namespace weir
