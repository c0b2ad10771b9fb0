#include "relay/negentropy/reconciler.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {
namespace {

// A range that differs is split into this many, as other programs do. With more of them there would be fewer rounds,
// and longer messages for a single difference.
constexpr size_t kSplits = 16;
constexpr size_t kFewItems = 2 * kSplits;

// Measured with a million items: reading a range, finding its two ends, its fingerprint, copying an id.
constexpr Work kRangeWork = 100;
constexpr Work kEndsWork = 1'000;
constexpr Work kFingerprintWork = 2'500;
constexpr Work kIdWork = 70;

}  // namespace

Reconciler::Reconciler(SyncPart set, std::string message, size_t frame_bytes, SyncDifferences* found)
    : set_(set),
      message_(std::move(message)),
      found_(found),
      in_(std::string_view(message_).substr(std::min<size_t>(1, message_.size()))),
      out_(std::max(frame_bytes, kLeastFrameBytes)) {}

std::string Reconciler::FirstMessage(SyncPart set, size_t frame_bytes) {
  Reconciler first(set, std::string(), frame_bytes);
  first.Split(set.size(), kInfinity);
  return first.out_.Take();
}

Result<bool> Reconciler::Next(Work most) {
  if (work_ == 0) {
    Result<bool> knows_version = Begin();
    if (!knows_version.ok()) return knows_version;
    if (!knows_version.value()) return true;
  }
  for (const Work end = work_ + most; !in_.at_end();) {
    if (work_ >= end) return false;
    const Result<SyncRange> range = in_.Next();
    if (!range.ok()) return range.status();
    work_ += kRangeWork;
    if (!Answer(range.value())) {
      WriteRest();
      return true;
    }
  }
  return true;
}

// Returns true if the message is of the version that this code knows. If not, the answer says so.
Result<bool> Reconciler::Begin() {
  if (message_.empty() || !IsNegentropyVersion(message_[0]))
    return Status::Error("the message must begin with the version of the protocol, 61");
  work_ = kRangeWork;
  if (message_[0] == kNegentropyVersion) return true;
  if (found_ == nullptr) return false;
  return Status::Error("the relay does not know this version of negentropy, 61");
}

// Answers a range. Returns false if there was no room for a part of it.
bool Reconciler::Answer(const SyncRange& range) {
  if (range.mode == RangeMode::kSkip) {
    place_ = range.end;
    out_.Skip(range.end);
    return true;
  }
  index_ = set_.FirstAtOrBehind(place_, index_);
  place_ = range.end;
  const size_t end = set_.FirstAtOrBehind(range.end, index_);
  work_ += kEndsWork;
  if (range.mode == RangeMode::kFingerprint) {
    const Fingerprint own = set_.FingerprintOf(index_, end);
    work_ += kFingerprintWork;
    if (!std::equal(own.begin(), own.end(), reinterpret_cast<const uint8_t*>(range.payload.data())))
      return Split(end, range.end);
  } else if (found_ == nullptr) {
    return WriteIds(end, range.end);
  } else {
    FindDifferences(range.payload, end);
  }
  index_ = end;
  out_.Skip(range.end);
  return true;
}

// Writes the items from index_ to `end` as fingerprints of parts, or as ids if they are few. Returns false if there was
// no room for all.
bool Reconciler::Split(size_t end, const SyncItem& range_end) {
  const size_t count = end - index_;
  if (count < kFewItems) return WriteIds(end, range_end);
  for (size_t part = 0; part < kSplits; ++part) {
    if (out_.room() < RangeWriter::kMostRangeBytes) return false;
    const size_t part_end = index_ + count / kSplits + (part < count % kSplits ? 1 : 0);
    const bool is_last = part + 1 == kSplits;
    out_.WriteFingerprint(is_last ? range_end : EndBetween(set_[part_end - 1], set_[part_end]),
                          set_.FingerprintOf(index_, part_end));
    work_ += kFingerprintWork;
    index_ = part_end;
  }
  return true;
}

// Writes the ids from index_ to `end`, or those for which there is room; then it returns false.
bool Reconciler::WriteIds(size_t end, const SyncItem& range_end) {
  const size_t room = out_.room();
  if (room < RangeWriter::kMostRangeBytes) return false;
  const size_t ids_end = std::min(end, index_ + (room - RangeWriter::kMostRangeBytes) / sizeof(EventId));
  if (ids_end == index_ && end > index_) return false;
  out_.WriteIds(ids_end == end ? range_end : EndBetween(set_[ids_end - 1], set_[ids_end]), set_, index_, ids_end);
  work_ += (ids_end - index_) * kIdWork;
  index_ = ids_end;
  return ids_end == end;
}

// Compares the relay's ids of a range with the own items from index_ to `end`.
void Reconciler::FindDifferences(std::string_view ids, size_t end) {
  std::vector<EventId> theirs(ids.size() / sizeof(EventId));
  for (size_t i = 0; i < theirs.size(); ++i)
    std::copy_n(ids.data() + i * sizeof(EventId), sizeof(EventId), reinterpret_cast<char*>(theirs[i].data()));
  std::sort(theirs.begin(), theirs.end());
  std::vector<EventId> own(end - index_);
  for (size_t i = 0; i < own.size(); ++i) own[i] = set_[index_ + i].id;
  std::sort(own.begin(), own.end());
  std::set_difference(own.begin(), own.end(), theirs.begin(), theirs.end(), std::back_inserter(found_->have));
  std::set_difference(theirs.begin(), theirs.end(), own.begin(), own.end(), std::back_inserter(found_->need));
  work_ += (theirs.size() + own.size()) * kIdWork;
}

// Ends the answer with a fingerprint of all that no range of it has yet. A part of a range may have been answered, so
// the rest begins at index_.
void Reconciler::WriteRest() {
  out_.WriteFingerprint(kInfinity, set_.FingerprintOf(index_, set_.size()));
  work_ += kFingerprintWork;
}

std::string Reconciler::Take() { return found_ != nullptr && out_.is_empty() ? std::string() : out_.Take(); }

}  // namespace weir
