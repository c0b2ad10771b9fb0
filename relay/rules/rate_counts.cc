#include "relay/rules/rate_counts.h"

#include <algorithm>

namespace weir {

RateCounts::Set& RateCounts::Part::SetOf(uint64_t key_hash, size_t sets) {
  if (places.empty()) places.resize(sets);
  return places[(key_hash >> 32) % sets];
}

Duration RateCounts::Take(uint64_t key_hash, const Rate& rate, TimePoint now) {
  const Duration each = rate.per / rate.events;
  Part& part = PartOf(key_hash);
  const MutexLock lock(part.mutex);
  Set& set = part.SetOf(key_hash, sets_);
  auto bucket = std::ranges::find(set, key_hash, &Bucket::key_hash);
  if (bucket == set.end()) bucket = std::ranges::min_element(set, {}, &Bucket::full_at);
  const bool is_own = bucket->key_hash == key_hash;
  const TimePoint full_at = std::max(now, is_own ? bucket->full_at : now) + each;
  if (full_at > now + rate.per) return full_at - (now + rate.per);
  *bucket = {key_hash, full_at};
  return Duration::zero();
}

void RateCounts::GiveBack(uint64_t key_hash, const Rate& rate) {
  Part& part = PartOf(key_hash);
  const MutexLock lock(part.mutex);
  Set& set = part.SetOf(key_hash, sets_);
  const auto bucket = std::ranges::find(set, key_hash, &Bucket::key_hash);
  if (bucket != set.end()) bucket->full_at -= rate.per / rate.events;
}

}  // namespace weir
