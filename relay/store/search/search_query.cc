#include "relay/store/search/search_query.h"

#include <algorithm>

#include "relay/store/matching_work.h"

namespace weir {
namespace {

constexpr size_t kReadAtOnce = 16;

// `first_bytes` are those of an author, as a number. `authors` are sorted.
bool IsByOneOf(const std::vector<PublicKey>& authors, uint32_t first_bytes) {
  const auto number = [](const PublicKey& author) {
    return static_cast<uint32_t>(ReadNumber(reinterpret_cast<const char*>(author.data()), 4));
  };
  const auto at = std::ranges::lower_bound(authors, first_bytes, {}, number);
  return at != authors.end() && number(*at) == first_bytes;
}

}  // namespace

SearchQuery::SearchQuery(const Database& database, const std::vector<Filter>& filters, const QueryOptions& options)
    : RankingQuery(filters, options), database_(database), rest_(database, WithSearch(filters, false), options) {
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

Result<Progress> SearchQuery::AnswerSlice(const OnMatch& on_match) {
  if (!snapshot_) OpenSnapshot();
  Result<Progress> answered = Answer(on_match);
  for (Part& part : parts_)
    if (part.walk) part.walk->LetGo();
  records_.LetGo();
  return answered;
}

Result<bool> SearchQuery::Walk(Part* part) {
  while (part->walk && (ranks() || part->hits.size() < kReadAtOnce)) {
    if (is_over()) return false;
    const int64_t before = budget_.work;
    const Result<WordWalk::Step> step = part->walk->Next(&budget_);
    if (!step.ok()) return step.status();
    if (step.value() == WordWalk::Step::kFound) {
      Result<bool> taken = MayMatch(*part);
      if (!taken.ok()) return taken;
      if (taken.value()) part->hits.push_back(part->walk->hit());
    }
    if (step.value() == WordWalk::Step::kEnd) part->walk.reset();
    NoteWalked(part, static_cast<Work>(before - budget_.work));
  }
  KeepBest(part);
  return true;
}

// Returns false if the event at which the walk is cannot match the rest of the filter.
Result<bool> SearchQuery::MayMatch(const Part& part) {
  const SearchEntry& entry = part.walk->entry();
  const Filter& filter = part.filter;
  if (!moment().Has({.number = entry.serial})) return false;
  if (filter.kinds && !std::binary_search(filter.kinds->begin(), filter.kinds->end(), entry.kind)) return false;
  if (filter.authors && !IsByOneOf(*filter.authors, entry.by)) return false;
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

Status SearchQuery::HandOut(Part* part, const OnMatch& on_match) {
  const size_t count = std::min({kReadAtOnce, part->hits.size() - part->next, static_cast<size_t>(part->left)});
  records_.LetGo();
  for (size_t i = 0; i < count; ++i) records_.Add(part->hits[part->next + i].serial);
  if (Status found = records_.Run(database_, read_options_); !found.ok()) return found;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view record = records_.Value(i).value_or("");
    budget_.Visit(kRecordWork + record.size() * kRecordByteWork);
    ++part->next;
    // The record of an event that is gone since is empty, and so may be a damaged one.
    if (EventView::WellFormed(record)) Give(part, EventView(record), on_match);
  }
  return {};
}

}  // namespace weir
