#include "relay/rules/rate_counts.h"

#include <algorithm>

namespace weir {

RateCounts::Set& RateCounts::Part::SetOf(uint64_t key_hash, size_t sets) {
  if (places.empty()) places.resize(sets);
  return places[(key_hash >> 32) % sets];
}

Duration RateCounts::Take(uint64_t key_hash, TimePoint now) {
  Part& part = PartOf(key_hash);
  const MutexLock lock(part.mutex);
  Set& set = part.SetOf(key_hash, sets_);
  auto bucket = std::ranges::find(set, key_hash, &Bucket::key_hash);
  if (bucket == set.end()) bucket = std::ranges::min_element(set, {}, &Bucket::full_at);
  const bool is_own = bucket->key_hash == key_hash;
  const TimePoint full_at = std::max(now, is_own ? bucket->full_at : now) + each_;
  if (full_at > now + per_) return full_at - (now + per_);
  *bucket = {key_hash, full_at};
  return Duration::zero();
}

void RateCounts::GiveBack(uint64_t key_hash) {
  Part& part = PartOf(key_hash);
  const MutexLock lock(part.mutex);
  Set& set = part.SetOf(key_hash, sets_);
  const auto bucket = std::ranges::find(set, key_hash, &Bucket::key_hash);
  if (bucket != set.end()) bucket->full_at -= each_;
}

}  // namespace weir
