#include "relay/standing/author_table.h"

#include <algorithm>
#include <utility>

#include "config/text/name_hash.h"

namespace weir {
namespace {

bool IsKept(const AuthorRecord& record, uint64_t now_seconds) {
  return record.last_seen + AuthorTable::kKeptSeconds > now_seconds && RungOf(record, now_seconds) >= Rung::kNewcomer;
}

}  // namespace

uint64_t AuthorTable::HashOf(const PublicKey& author) {
  return HashOfName({reinterpret_cast<const char*>(author.data()), author.size()});
}

size_t AuthorTable::Shard::PlaceOf(const PublicKey& author, uint64_t hash) const {
  if (places.empty()) return kNowhere;
  for (size_t place = hash & (places.size() - 1); places[place] != 0; place = (place + 1) & (places.size() - 1))
    if (entries[places[place] - 1].author == author) return place;
  return kNowhere;
}

void AuthorTable::Shard::Put(uint64_t hash, uint32_t number) {
  size_t place = hash & (places.size() - 1);
  while (places[place] != 0) place = (place + 1) & (places.size() - 1);
  places[place] = number;
}

// Frees the place, and moves back the numbers behind it that a search would no longer find.
void AuthorTable::Shard::Take(size_t place) {
  const size_t mask = places.size() - 1;
  size_t free = place;
  for (size_t at = (free + 1) & mask; places[at] != 0; at = (at + 1) & mask) {
    const size_t home = HashOf(entries[places[at] - 1].author) & mask;
    if (((at - home) & mask) < ((at - free) & mask)) continue;
    places[free] = places[at];
    free = at;
  }
  places[free] = 0;
}

void AuthorTable::Shard::GrowPlaces() {
  places.assign(std::max<size_t>(16, 2 * places.size()), 0);
  for (size_t i = 0; i < entries.size(); ++i) Put(HashOf(entries[i].author), static_cast<uint32_t>(i + 1));
}

AuthorTable::Entry* AuthorTable::Shard::GivesWay(uint64_t now_seconds, bool to_any) {
  const size_t most_visits = to_any ? entries.size() : std::min(kVisits, entries.size());
  Entry* lowest = nullptr;
  std::pair<int, uint32_t> least;
  size_t candidates = 0;
  for (size_t visits = 0; visits < most_visits && candidates < kCandidates; ++visits) {
    Entry& entry = entries[next];
    next = (next + 1) % entries.size();
    if (entry.record.follow_steps != 0 || (!to_any && IsKept(entry.record, now_seconds))) continue;
    ++candidates;
    const std::pair worth(PointsOf(entry.record, now_seconds), entry.record.last_seen);
    if (lowest != nullptr && worth >= least) continue;
    lowest = &entry;
    least = worth;
  }
  return lowest;
}

AuthorRecord* AuthorTable::FindOrAdd(Shard& shard, const PublicKey& author, uint64_t hash, uint64_t now_seconds,
                                     bool is_followed) {
  const size_t place = shard.PlaceOf(author, hash);
  if (place != kNowhere) return &shard.entries[shard.places[place] - 1].record;
  if (shard.entries.size() >= most_in_shard_) {
    Entry* const entry = shard.GivesWay(now_seconds, is_followed);
    if (entry == nullptr) return nullptr;
    shard.Take(shard.PlaceOf(entry->author, HashOf(entry->author)));
    *entry = {.author = author, .record = {}};
    shard.Put(hash, static_cast<uint32_t>(entry - shard.entries.data() + 1));
    return &entry->record;
  }
  // At most three quarters of the places are taken, and at most a ninth of the entries' memory is free.
  if (4 * (shard.entries.size() + 1) > 3 * shard.places.size()) shard.GrowPlaces();
  if (shard.entries.size() == shard.entries.capacity())
    shard.entries.reserve(std::min(most_in_shard_, shard.entries.size() + shard.entries.size() / 8 + 8));
  shard.entries.push_back({.author = author, .record = {}});
  shard.Put(hash, static_cast<uint32_t>(shard.entries.size()));
  return &shard.entries.back().record;
}

uint64_t AuthorTable::bytes() const {
  uint64_t bytes = sizeof(*this);
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    bytes += shard.entries.capacity() * sizeof(Entry) + shard.places.capacity() * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace weir
