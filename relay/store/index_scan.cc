#include "relay/store/index_scan.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr uint32_t kPoints = UINT32_MAX;
constexpr uint32_t kNoRange = UINT32_MAX - 1;
constexpr size_t kRecordsReadAtOnce = 64;
constexpr size_t kLeastChunk = 4;
constexpr size_t kLargestChunk = 128;

rocksdb::ReadOptions ScanOptions(rocksdb::ReadOptions options) {
  options.prefix_same_as_start = true;
  return options;
}

}  // namespace

IndexScan::IndexScan(const Database& database, const rocksdb::ReadOptions& options, const Filter& filter,
                     const ScanBounds& bounds, uint64_t wanted, JudgeEntry judge)
    : database_(database),
      options_(options),
      filter_(filter),
      wanted_(wanted),
      judge_(std::move(judge)),
      first_(bounds.first),
      oldest_(~filter.since),
      last_serial_(bounds.last_serial),
      race_(filter, limits_),
      standing_on_(kNoRange) {
  if (first_.inverted_time < ~filter.until) first_ = {.inverted_time = ~filter.until};
}

IndexScan::~IndexScan() = default;

rocksdb::Iterator* IndexScan::iterator() {
  if (!iterator_) iterator_.reset(database_.db()->NewIterator(ScanOptions(options_), database_.index()));
  return iterator_.get();
}

Status IndexScan::IteratorStatus() const {
  if (!iterator_ || iterator_->status().ok()) return {};
  return DatabaseError("cannot read the index", iterator_->status());
}

bool IndexScan::InRange(std::string_view prefix) const {
  return iterator_->Valid() && iterator_->key().starts_with(ToSlice(prefix));
}

bool IndexScan::IsInBounds(const Candidate& candidate) const {
  return candidate.serial <= last_serial_ && candidate.inverted_time <= oldest_ &&
         std::pair(candidate.inverted_time, candidate.id) >= std::pair(first_.inverted_time, first_.id);
}

void IndexScan::LetGo() {
  iterator_.reset();
  standing_on_ = kNoRange;
  on_next_kind_ = false;
}

uint64_t IndexScan::held_bytes() const {
  uint64_t bytes = sizeof(*this) + race_.held_bytes() + plan_.held_bytes() + authors_.held_bytes() +
                   points_.capacity() * sizeof(Candidate) + ranges_.capacity() * sizeof(Range) +
                   unfilled_.capacity() * sizeof(uint32_t) + heap_.capacity() * sizeof(Head);
  for (const Range& range : ranges_) bytes += range.ahead.capacity() * sizeof(Candidate);
  return bytes;
}

Result<bool> IndexScan::Ready(Budget* budget) {
  while (phase_ != Phase::kMerge || !unfilled_.empty()) {
    if (budget->used_up()) return false;
    if (skim_ && !skim_->Pays()) EndSkim();
    if (phase_ != Phase::kMerge) {
      if (Status prepared = Prepare(budget); !prepared.ok()) return prepared;
      continue;
    }
    const uint32_t number = unfilled_.back();
    unfilled_.pop_back();
    Fill(number, budget);
    if (Status status = IteratorStatus(); !status.ok()) return status;
    Settle(number);
  }
  return true;
}

void IndexScan::Pop() {
  const uint32_t from = heap_.front().range;
  if (skim_) first_ = heap_.front().candidate;
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  if (from == kPoints) {
    if (++next_point_ < points_.size()) Push(kPoints);
    return;
  }
  Range& range = ranges_[from];
  ++range.next;
  if (range.next < range.ahead.size()) {
    Push(from);
  } else if (!range.at_end) {
    unfilled_.push_back(from);
  }
}

// Puts the next entry of a range that was read into the heap, or puts the range back into unfilled_.
void IndexScan::Settle(uint32_t number) {
  if (!ranges_[number].ahead.empty()) {
    Push(number);
  } else if (!ranges_[number].at_end) {
    unfilled_.push_back(number);
  } else if (number + 1 == ranges_.size()) {
    ranges_.pop_back();
  }
}

void IndexScan::Push(uint32_t number) {
  const Candidate& next = number == kPoints ? points_[next_point_] : ranges_[number].ahead[ranges_[number].next];
  heap_.push_back({next, number});
  std::push_heap(heap_.begin(), heap_.end());
}

Status IndexScan::Prepare(Budget* budget) {
  switch (phase_) {
    case Phase::kPlan:
      if (race_.has_more_plans()) {
        race_.MakeNextPlan(filter_, limits_, budget);
        return {};
      }
      if (!race_.decided()) {
        race_.Step(iterator(), budget);
        return IteratorStatus();
      }
      Begin(race_.TakeWinner());
      phase_ = Phase::kPoints;
      break;
    case Phase::kPoints:
      if (position_ < plan_.points.size()) return LoadPoints(budget);
      std::sort(points_.begin(), points_.end());
      if (!points_.empty()) Push(kPoints);
      plan_.points = std::vector<Key>();
      phase_ = Phase::kRanges;
      break;
    case Phase::kRanges:
      if (position_ < plan_.ranges.size()) {
        OpenRange(plan_.ranges[position_++], false, budget);
        return IteratorStatus();
      }
      phase_ = Phase::kKinds;
      break;
    case Phase::kKinds:
      if (position_ < plan_.kind_ranges.size()) {
        OpenKind(budget);
        return IteratorStatus();
      }
      plan_.ranges = std::vector<Key>();
      plan_.kind_ranges = std::vector<Key>();
      phase_ = Phase::kMerge;
      break;
    case Phase::kMerge:
      break;
  }
  position_ = 0;
  return {};
}

void IndexScan::Begin(Plan plan) {
  const Skim skim(plan, wanted_);
  if (filter_.authors && filter_.tags.empty() && skim.Pays()) {
    skim_ = skim;
    authors_ = std::exchange(plan, EverybodysPlan(filter_));
  }
  UsePlan(std::move(plan));
}

// The authors' plan begins at the last entry that was taken, which may then come twice.
void IndexScan::EndSkim() {
  skim_.reset();
  BeginAnew(std::exchange(authors_, {}));
}

void IndexScan::BeginAnew(Plan plan) {
  points_.clear();
  ranges_.clear();
  unfilled_.clear();
  heap_.clear();
  UsePlan(std::move(plan));
  phase_ = Phase::kPoints;
  position_ = 0;
  standing_on_ = kNoRange;
}

void IndexScan::UsePlan(Plan plan) {
  plan_ = std::move(plan);
  const uint64_t ranges = std::max<size_t>(1, plan_.ranges.size() + plan_.kind_ranges.size());
  const uint64_t wanted = std::clamp<uint64_t>(wanted_, kLeastChunk, kLargestChunk);
  // Reads one entry more, so that the range need not be read again only to find out that it was enough.
  chunk_ = std::clamp<uint64_t>(2 * wanted / ranges, kLeastChunk, wanted + 1);
}

Status IndexScan::LoadPoints(Budget* budget) {
  const auto affordable = static_cast<size_t>(budget->work) / kSeekWork;
  const size_t at_once = std::clamp<size_t>(affordable, 1, kRecordsReadAtOnce);
  const size_t end = std::min(plan_.points.size(), position_ + at_once);
  for (size_t i = position_; i < end; ++i) lookup_.Add(plan_.points[i]);
  if (Status found = lookup_.Run(database_, database_.index(), options_); !found.ok()) return found;
  for (size_t i = position_; i < end; ++i) {
    const auto value = lookup_.Value(i - position_);
    if (!value) continue;
    IndexEntry entry;
    const std::string_view key = plan_.points[i].view();
    const bool by_id = key[0] == 'i';
    if (by_id) entry.id = static_cast<uint32_t>(ReadNumber(key.data() + 1, 4));
    if (!(by_id ? ReadIdValue(*value, &entry) : ReadAddressValue(*value, &entry))) continue;
    const Candidate candidate{entry.inverted_time, entry.serial, entry.id};
    if (IsInBounds(candidate)) points_.push_back(candidate);
  }
  for (; position_ < end; ++position_) budget->Visit(kSeekWork);
  lookup_.Clear();
  return {};
}

void IndexScan::OpenRange(const Key& prefix, bool stands_on_it, Budget* budget) {
  const auto number = static_cast<uint32_t>(ranges_.size());
  Key start = prefix;
  start.Number(first_.inverted_time, 8).Number(first_.id, 4);
  ranges_.push_back({.resume = start, .prefix_size = static_cast<uint8_t>(prefix.view().size()), .ahead = {}});
  standing_on_ = stands_on_it ? number : kNoRange;
  Fill(number, budget);
  Settle(number);
}

// Opens one more kind of a range of all kinds. If the kind before was read to its end, the iterator stands on this one.
void IndexScan::OpenKind(Budget* budget) {
  const Key prefix = plan_.kind_ranges[position_];
  const size_t size = prefix.view().size();
  if (!on_next_kind_) {
    Key start = prefix;
    budget->Visit(kSeekWork);
    iterator()->Seek(ToSlice(start.Number(next_kind_, 2)));
    standing_on_ = kNoRange;
  }
  if (next_kind_ > 0xffff || !InRange(prefix.view()) || iterator_->key().size() < size + 2) return EndKinds();
  if (ranges_.size() >= 2 * limits_.max_ranges) {
    BeginAnew(CoarsestPlan(filter_));
    return;
  }
  const uint64_t kind = ReadNumber(iterator_->key().data() + size, 2);
  Key range = prefix;
  range.Number(kind, 2);
  OpenRange(range, first_.inverted_time == 0 && first_.id == 0, budget);
  if (!InRange(prefix.view())) return EndKinds();  // the last kind was read to its end
  on_next_kind_ = !InRange(range.view());
  next_kind_ = static_cast<uint32_t>(kind + 1);
}

void IndexScan::EndKinds() {
  ++position_;
  next_kind_ = 0;
  on_next_kind_ = false;
}

// Passes at least one entry, because tiny slices would get nowhere otherwise.
void IndexScan::Fill(uint32_t number, Budget* budget) {
  Range& range = ranges_[number];
  range.ahead.clear();
  range.next = 0;
  rocksdb::Iterator* at = iterator();
  if (standing_on_ != number) {
    at->Seek(ToSlice(range.resume));
    budget->Visit(kSeekWork);
  }
  standing_on_ = number;
  const std::string_view prefix = range.prefix();
  bool passed = false;
  while (!(range.at_end = !InRange(prefix)) && range.ahead.size() < chunk_ &&
         !(passed && (budget->used_up() || (skim_ && !skim_->Pays())))) {
    IndexEntry entry;
    if (ReadEntry(ToView(at->key()), prefix.size(), &entry)) {
      if ((range.at_end = entry.inverted_time > oldest_)) break;
      Candidate candidate{entry.inverted_time, entry.serial, entry.id};
      bool wanted = IsInBounds(candidate) && plan_.Wants(entry);
      if (wanted && judge_) {
        candidate.sight = judge_(entry);
        wanted = candidate.sight != Sight::kHidden;
      }
      if (wanted) range.ahead.push_back(candidate);
      if (skim_) skim_->Pass(wanted);
    }
    at->Next();
    budget->Visit(kVisitWork);
    passed = true;
  }
  if (!range.at_end) range.resume = Key::Of(ToView(at->key()));
}

}  // namespace weir
