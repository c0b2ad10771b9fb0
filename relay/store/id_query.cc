#include "relay/store/id_query.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir {
namespace {

constexpr uint64_t kMostRecords = 64;             // records that are read together
constexpr uint64_t kFirstRecordBytes = 16 << 10;  // is the guess for the first records
constexpr size_t kReadAheadBytes = 64 << 10;      // is about what a slice reads
constexpr Work kPassWork = 650;                   // to pass an entry; measured in bench/results/sync
constexpr Work kSortWork = 60;                    // to sort a serial among some thousand

}  // namespace

IdQuery::IdQuery(const Database& database, std::vector<Filter> filters, const QueryOptions& options)
    : MatchingQuery(std::move(filters), options),
      database_(database),
      record_bytes_(kFirstRecordBytes),
      head_(RecordLayout::kTags, '\0') {
  const Filter& filter = parts_.front().filter;
  decides_ = filter.tags.empty() && !filter.authors;
  if (!decides_) phase_ = Phase::kScan;
  OpenSnapshot();
  failed_ = ReadMoment(database_, *snapshot_, &moment_);
  shown_.emplace(moment_.NumberOf(0));
}

void IdQuery::OpenSnapshot() {
  snapshot_.emplace(database_.db());
  read_options_ = snapshot_->ReadOptions();
  read_options_.fill_cache = options_.fills_cache;
}

Result<Progress> IdQuery::Next(const Slice& slice, const OnMatch& on_match) {
  if (!failed_.ok()) return failed_;
  if (!snapshot_) OpenSnapshot();
  BeginSlice(slice);
  Status stepped;
  while (stepped.ok() && phase_ != Phase::kDone && !budget_.used_up()) stepped = Step(on_match);
  if (part().scan) part().scan->LetGo();
  if (!stepped.ok()) return stepped;
  return phase_ == Phase::kDone ? Progress::kDone : Progress::kMore;
}

Status IdQuery::Step(const OnMatch& on_match) {
  if (reads_records_) return ReadRecords(on_match);
  switch (phase_) {
    case Phase::kExpired:
      return FindExpired();
    case Phase::kScan:
      return Scan();
    case Phase::kIds:
      return ReadIds(on_match);
    case Phase::kDone:
      break;
  }
  return {};
}

void IdQuery::Suspend() {
  part().scan.reset();
  snapshot_.reset();
}

uint64_t IdQuery::held_bytes() const {
  return sizeof(*this) + PartBytes() +
         (expired_.capacity() + unknown_.capacity() + few_.capacity()) * sizeof(uint64_t) + shown_->held_bytes() +
         head_.capacity();
}

// Calls `visit` for the entries whose keys begin with `first`, from place_ on, until it returns false. Returns false if
// the slice was used up first. Passes at least one entry, because tiny slices would get nowhere otherwise.
Result<bool> IdQuery::PassEntries(char first, const Visit& visit) {
  const Key begin(first);
  const Key end(static_cast<char>(first + 1));
  const rocksdb::Slice upper_bound = ToSlice(end);
  rocksdb::ReadOptions options = read_options_;
  options.total_order_seek = true;
  options.iterate_upper_bound = &upper_bound;
  options.readahead_size = kReadAheadBytes;
  const std::unique_ptr<rocksdb::Iterator> at(database_.db()->NewIterator(options, database_.index()));
  budget_.Visit(kSeekWork);
  bool passed = false;
  for (at->Seek(ToSlice(place_.empty() ? begin.view() : std::string_view(place_))); at->Valid(); at->Next()) {
    if (std::exchange(passed, true) && budget_.used_up()) {
      place_ = ToView(at->key());
      return false;
    }
    budget_.Visit(kPassWork);
    if (!visit(ToView(at->key()), ToView(at->value()))) break;
  }
  if (!at->status().ok()) return DatabaseError("cannot read the index", at->status());
  place_.clear();
  return true;
}

Status IdQuery::FindExpired() {
  const uint64_t now = options_.now_seconds;
  const Result<bool> done = PassEntries('x', [&](std::string_view key, std::string_view) {
    constexpr size_t kTimeEnd = 1 + sizeof(uint64_t);
    if (key.size() != kTimeEnd + kSerialBytes) return true;
    const bool has_expired = ReadNumber(key.data() + 1, sizeof(uint64_t)) <= now;
    if (has_expired) expired_.push_back(ReadNumber(key.data() + kTimeEnd, kSerialBytes));
    return has_expired;
  });
  if (!done.ok()) return done.status();
  if (!done.value()) return {};
  std::ranges::sort(expired_);
  budget_.Spend(expired_.size() * kSortWork);
  phase_ = Phase::kScan;
  return {};
}

Status IdQuery::Scan() {
  if (!part().scan) {
    const ScanBounds bounds{.first = scanned_.value_or(Candidate()), .last_serial = moment_.NumberOf(0)};
    part().scan = std::make_unique<IndexScan>(database_, read_options_, part().filter, bounds, part().wanted(),
                                              [this](const IndexEntry& entry) { return Judge(entry); });
  }
  while (phase_ == Phase::kScan && !reads_records_) {
    const Result<bool> ready = part().scan->Ready(&budget_);
    if (!ready.ok()) return ready.status();
    if (!ready.value()) break;
    const Candidate* const head = part().scan->head();
    if (head == nullptr) {
      EndScan();
      break;
    }
    Take(*head);
    part().scan->Pop();
  }
  return {};
}

Sight IdQuery::Judge(const IndexEntry& entry) const {
  const Sight sight = options_.ids_only->sight ? options_.ids_only->sight(entry.kind, entry.by) : Sight::kShown;
  return sight == Sight::kShown && !decides_ ? Sight::kUnknown : sight;
}

void IdQuery::Take(const Candidate& candidate) {
  if (!IsNew(candidate)) return;
  if (candidate.sight == Sight::kUnknown) {
    unknown_.push_back(candidate.serial);
    if (unknown_.size() >= most_unknown()) BeginRecords();
  } else if (!std::ranges::binary_search(expired_, candidate.serial)) {
    shown_->Add(candidate.serial);
    EndIfTooMany();
  }
}

// A scan may return an event several times. Events of one place come in any order of their serials.
bool IdQuery::IsNew(const Candidate& candidate) {
  if (scanned_ && scanned_->SamePlace(candidate)) {
    if (std::ranges::find(at_place_, candidate.serial) != at_place_.end()) return false;
  } else {
    if (scanned_ && candidate < *scanned_) return false;
    at_place_.clear();
  }
  scanned_ = candidate;
  at_place_.push_back(candidate.serial);
  return true;
}

// Ends the query if it may not pass so many events.
bool IdQuery::EndIfTooMany() {
  if (shown_->size() <= part().left) return false;
  CutOff();
  phase_ = Phase::kDone;
  return true;
}

void IdQuery::EndScan() {
  part().scan.reset();
  phase_ = Phase::kIds;
  if (EndIfTooMany()) return;
  if (!shown_->is_dense()) few_ = shown_->TakeList();
  part().left -= shown_->size();
  if (!unknown_.empty()) BeginRecords();
}

void IdQuery::BeginRecords() {
  std::ranges::sort(unknown_, std::greater());
  budget_.Spend(unknown_.size() * kSortWork);
  reads_records_ = true;
}

Status IdQuery::ReadRecords(const OnMatch& on_match) {
  const uint64_t fitting = budget_.left() / (kRecordWork + record_bytes_ * kRecordByteWork) + 1;
  const size_t count = std::min<uint64_t>({kMostRecords, fitting, unknown_.size()});
  for (size_t i = 0; i < count; ++i) records_.Add(unknown_[unknown_.size() - 1 - i]);
  if (Status read = records_.Run(database_, read_options_); !read.ok()) return read;
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view record = records_.Value(i).value_or("");
    budget_.Visit(kRecordWork);
    bytes += record.size();
    if (!EventView::WellFormed(record)) continue;
    Finder finder;
    Match(EventView(record), std::span(&finder, 1));
    HandOut(EventView(record), std::span(&finder, 1),
            [&](EventView event) { Pass(event.id().data(), event.created_at(), on_match); });
  }
  budget_.Spend(bytes * kRecordByteWork);
  record_bytes_ = bytes / count;
  records_.LetGo();
  unknown_.resize(unknown_.size() - count);
  if (unknown_.size() < unknown_.capacity() / 2) unknown_.shrink_to_fit();  // while the caller's set grows
  reads_records_ = !unknown_.empty();
  return {};
}

Status IdQuery::ReadIds(const OnMatch& on_match) {
  if (!few_.empty()) {
    const size_t count = std::min(few_.size(), most_unknown());
    unknown_.assign(few_.end() - static_cast<ptrdiff_t>(count), few_.end());
    few_.resize(few_.size() - count);
    BeginRecords();
    return {};
  }
  Result<bool> done = true;
  if (shown_->is_dense()) {
    done = PassEntries('i', [&](std::string_view key, std::string_view value) {
      IndexEntry entry;
      if (key.size() != 1 + sizeof(EventId) || !ReadIdValue(value, &entry) || !shown_->Has(entry.serial)) return true;
      EventId id;
      std::memcpy(id.data(), key.data() + 1, id.size());
      if (!options_.ids_only->shows || options_.ids_only->shows(id)) Pass(id.data(), ~entry.inverted_time, on_match);
      return true;
    });
  }
  if (!done.ok()) return done.status();
  if (done.value()) phase_ = Phase::kDone;
  return {};
}

void IdQuery::Pass(const void* id, uint64_t created_at, const OnMatch& on_match) {
  std::memcpy(head_.data() + RecordLayout::kId, id, sizeof(EventId));
  std::memcpy(head_.data() + RecordLayout::kCreatedAt, &created_at, sizeof created_at);
  on_match(EventView(head_));
}

}  // namespace weir
